/**
 * Calls over a message port: a request, and its answer or its error. Both ends may call. A port keeps its thread alive
 * only while an answer is waited for, or while somebody asks for it.
 */
import type { MessagePort } from 'node:worker_threads';
import { type ErrorData, MillraceError, packError, unpackError } from '../errors/millrace-error.ts';

type Message =
  | { readonly call: number; readonly request: unknown }
  | { readonly answer: number; readonly value: unknown }
  | { readonly answer: number; readonly error: ErrorData };

/** The call of a request that nobody answers. */
const TOLD = 0;

interface Waiting {
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: unknown) => void;
}

export interface PortHandler<Request> {
  /** Answers a request of the other end. */
  handle(request: Request): unknown;
  /** The other end is gone: its thread has ended, or it closed the port. Called once. */
  gone(): void;
}

/** `Out` are requests to the other end, `In` those that come from it. */
export class PortCalls<Out, In> {
  readonly #port: MessagePort;
  readonly #handler: PortHandler<In>;
  readonly #waiting = new Map<number, Waiting>();
  #lastCall = TOLD;
  #held = false;
  #ended = false;

  constructor(port: MessagePort, handler: PortHandler<In>) {
    this.#port = port;
    this.#handler = handler;
    port.on('message', (message: Message) => {
      this.#receive(message);
    });
    port.on('close', () => {
      this.#end();
    });
    port.unref();
  }

  /** Resolves with the answer; rejects with the other end's error, or when it is gone. */
  call(request: Out): Promise<unknown> {
    if (this.#ended) return Promise.reject(otherEndGone());
    this.#lastCall += 1;
    const call = this.#lastCall;
    return new Promise((resolve, reject) => {
      this.#waiting.set(call, { resolve, reject });
      this.#keepAlive();
      this.#send({ call, request });
    });
  }

  /** Sends a request that has no answer. */
  tell(request: Out): void {
    if (!this.#ended) this.#send({ call: TOLD, request });
  }

  /** Whether the thread is kept alive though no answer is waited for. */
  hold(held: boolean): void {
    this.#held = held;
    this.#keepAlive();
  }

  close(): void {
    this.#port.close();
  }

  #receive(message: Message): void {
    if ('call' in message) {
      void this.#answer(message.call, message.request as In);
      return;
    }
    const waiting = this.#waiting.get(message.answer);
    this.#waiting.delete(message.answer);
    this.#keepAlive();
    if ('error' in message) waiting?.reject(unpackError(message.error));
    else waiting?.resolve(message.value);
  }

  async #answer(answer: number, request: In): Promise<void> {
    try {
      const value = await this.#handler.handle(request);
      if (answer !== TOLD && !this.#ended) this.#send({ answer, value });
    } catch (error) {
      if (answer !== TOLD && !this.#ended) this.#send({ answer, error: packError(error, 'ERR_MILLRACE_WORKER_DIED') });
    }
  }

  #send(message: Message): void {
    this.#port.postMessage(message);
  }

  #keepAlive(): void {
    if (this.#ended) return;
    if (this.#held || this.#waiting.size > 0) this.#port.ref();
    else this.#port.unref();
  }

  #end(): void {
    if (this.#ended) return;
    this.#ended = true;
    const error = otherEndGone();
    for (const { reject } of this.#waiting.values()) reject(error);
    this.#waiting.clear();
    this.#handler.gone();
  }
}

function otherEndGone(): MillraceError {
  return new MillraceError('ERR_MILLRACE_CLOSED', 'the other end of the port is gone: its thread or store has ended');
}
