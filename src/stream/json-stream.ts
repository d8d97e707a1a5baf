/** A stream whose values are JSON: objects go in and come out, and the bytes between are those of the stream. */
import { invalid } from '../errors/argument-checks.ts';
import { MillraceError } from '../errors/millrace-error.ts';
import type { StreamRecord } from '../record/record-batch.ts';
import { type AppendOptions, checkRecordList, checkRecordObject, type RecordInput } from '../record/record-input.ts';
import type { AppendControl } from './append-control.ts';
import type { ReadOptions } from './read-options.ts';

/** A record whose value was parsed. `null` values are tombstones. */
export interface JsonRecord<T> extends Omit<StreamRecord, 'value' | 'key'> {
  /** The key as text; `null` without one. */
  readonly key: string | null;
  /** The parsed value; `null` marks a tombstone. */
  readonly value: T | null;
}

/** One record of `appendMany`. */
export interface JsonInput<T> extends AppendOptions {
  /** What is written as JSON; it must not be `undefined`. */
  readonly value: T;
}

/** What it needs of a stream. */
export interface JsonTarget {
  append(value: string, options?: AppendOptions & AppendControl): Promise<number>;
  appendMany(records: readonly RecordInput[], options?: AppendControl): Promise<number>;
  read(options?: ReadOptions): AsyncIterableIterator<StreamRecord>;
  get(offset: number): Promise<StreamRecord | undefined>;
}

/**
 * The JSON view of a stream, by `stream.json<Order>()`. The type is what the caller says it is: values are parsed, not
 * checked. Reading a record that is no JSON throws `ERR_MILLRACE_INVALID_ARGUMENT` with its offset.
 */
export class JsonStream<T> {
  readonly #stream: JsonTarget;

  /** @internal */
  constructor(stream: JsonTarget) {
    this.#stream = stream;
  }

  /** As `Stream.append`. A `null` value is the JSON text `null`, not a tombstone. */
  async append(value: T, options?: AppendOptions & AppendControl): Promise<number> {
    return this.#stream.append(textOf(value), options);
  }

  /** As `Stream.appendMany`, of records with a value and, where given, a key and a timestamp. */
  async appendMany(records: readonly JsonInput<T>[], options?: AppendControl): Promise<number> {
    checkRecordList(records);
    const inputs = records.map((record): RecordInput => {
      checkRecordObject(record);
      return { ...record, value: textOf(record.value) };
    });
    return this.#stream.appendMany(inputs, options);
  }

  /** As `Stream.read`. */
  async *read(options?: ReadOptions): AsyncGenerator<JsonRecord<T>, undefined> {
    for await (const record of this.#stream.read(options)) yield parsed<T>(record);
  }

  /** As `Stream.get`. */
  async get(offset: number): Promise<JsonRecord<T> | undefined> {
    const record = await this.#stream.get(offset);
    return record && parsed<T>(record);
  }
}

function textOf(value: unknown): string {
  let text: unknown;
  try {
    text = JSON.stringify(value);
  } catch (error) {
    throw invalid(`a value has no JSON text: ${String(error)}`);
  }
  if (typeof text === 'string') return text;
  throw invalid(`a value of type ${typeof value} has no JSON text`);
}

function parsed<T>(record: StreamRecord): JsonRecord<T> {
  const { value, key } = record;
  return {
    ...record,
    key: key === null ? null : key.toString(),
    value: value === null ? null : parse<T>(record, value),
  };
}

function parse<T>({ offset }: StreamRecord, value: Buffer): T {
  try {
    return JSON.parse(value.toString()) as T;
  } catch (cause) {
    const message = `the record at offset ${offset} is no JSON: read it with stream.read()`;
    throw new MillraceError('ERR_MILLRACE_INVALID_ARGUMENT', message, { details: { offset }, cause });
  }
}
