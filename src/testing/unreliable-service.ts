/**
 * A way to a service that is not to be relied on, by a seed: requests and answers are lost, done twice, done too late,
 * or refused for a while. Every fault ends in `ERR_MILLRACE_UNAVAILABLE`, as the caller cannot tell them apart.
 */
import type { Random } from '../base/random.ts';
import { MillraceError } from '../errors/millrace-error.ts';

/** What can go wrong with a call of any service. */
export const SERVICE_FAULTS = [
  /** The service cannot be reached. */
  'unavailable',
  /** It asks to slow down, and does nothing. */
  'throttled',
  /** The request never arrives. */
  'lost',
  /** It is done, and the answer is lost. */
  'timeoutAfterSuccess',
  /** It is done twice; the first answer counts. */
  'duplicated',
  /** It is done after the caller has given up. */
  'late',
] as const;

/** One of `SERVICE_FAULTS`. */
export type ServiceFault = (typeof SERVICE_FAULTS)[number];

/** Probability of each fault per call, from 0 to 1; those left out do not happen. */
export type FaultRates<Fault extends string = ServiceFault> = Partial<Record<Fault, number>>;

/** When a request that is late arrives. Default the next turn of the event loop. */
export type Later = (work: () => void) => void;

/** Does calls with the faults of `SERVICE_FAULTS`, at the rates given. */
export class UnreliableService<Fault extends string = ServiceFault> {
  /** Faults injected so far: a test that met none has proven nothing. */
  readonly injected: Partial<Record<Fault | ServiceFault, number>> = {};
  readonly #random: Random;
  readonly #later: Later;
  #rates: FaultRates<Fault | ServiceFault>;
  #isCut = false;

  constructor(random: Random, rates: FaultRates<Fault | ServiceFault>, later: Later = setImmediate) {
    this.#random = random;
    this.#rates = rates;
    this.#later = later;
  }

  /** Changes the rates; `{}` heals the way. */
  setRates(rates: FaultRates<Fault | ServiceFault>): void {
    this.#rates = rates;
  }

  /** From now on no request arrives: whoever sends them was killed. What is late still comes. */
  cut(): void {
    this.#isCut = true;
  }

  /** Runs one request with faults around its effect. One that is `once` is never done twice, nor late. */
  async call<T>(effect: () => Promise<T>, once = false): Promise<T> {
    if (this.#isCut) throw unavailable('cut');
    for (const fault of ['unavailable', 'throttled', 'lost'] as const)
      if (this.happens(fault)) throw unavailable(fault);
    if (!once && this.happens('late')) {
      this.#later(() => {
        effect().catch(() => undefined);
      });
      throw unavailable('late');
    }
    const result = await effect();
    if (!once && this.happens('duplicated')) await effect().catch(() => undefined);
    if (this.#isCut || this.happens('timeoutAfterSuccess')) throw unavailable('timeoutAfterSuccess');
    return result;
  }

  /** Draws, and counts what is drawn. */
  happens(fault: Fault | ServiceFault): boolean {
    const rate = this.#rates[fault] ?? 0;
    if (rate === 0 || this.#random.uint32() >= rate * 2 ** 32) return false;
    this.injected[fault] = (this.injected[fault] ?? 0) + 1;
    return true;
  }
}

function unavailable(fault: string): MillraceError {
  return new MillraceError('ERR_MILLRACE_UNAVAILABLE', `injected: ${fault}`);
}
