/**
 * Codecs put together from smaller ones, so that writing and reading follow one description, and
 * `docs/formats/manifest.md` can list fields in the order of the code.
 */
import type { ByteReader } from './byte-reader.ts';
import { PayloadError } from './byte-reader.ts';
import type { ByteWriter } from './byte-writer.ts';

export interface Codec<Value> {
  write(writer: ByteWriter, value: Value): void;
  read(reader: ByteReader): Value;
}

/** A varint: 0 to 2^53 - 1. */
export const unsigned: Codec<number> = {
  write: (writer, value) => writer.unsigned(value),
  read: (reader) => reader.unsigned(),
};

/** A varint within [`least`, `most`]. */
export function between(least: number, most: number): Codec<number> {
  return {
    write: (writer, value) => writer.unsigned(value),
    read: (reader) => {
      const value = reader.unsigned();
      if (value < least || value > most) throw new PayloadError(`${value} is not within ${least} and ${most}`);
      return value;
    },
  };
}

/** A varint with a sign. */
export const signed: Codec<number> = {
  write: (writer, value) => writer.signed(value),
  read: (reader) => reader.signed(),
};

/** A u64, kept as 16 hexadecimal digits. */
export const checksum: Codec<string> = {
  write: (writer, value) => writer.checksum(value),
  read: (reader) => reader.checksum(),
};

export const boolean: Codec<boolean> = {
  write: (writer, value) => writer.byte(value ? 1 : 0),
  read: (reader) => {
    const value = reader.byte();
    if (value > 1) throw new PayloadError(`${value} is neither true nor false`);
    return value === 1;
  },
};

export function text(limit: number): Codec<string> {
  return {
    write: (writer, value) => writer.text(value),
    read: (reader) => reader.text(limit),
  };
}

/** One of a few words, as its index from 0. */
export function choice<Word extends string>(words: readonly Word[]): Codec<Word> {
  return {
    write: (writer, value) => writer.byte(words.indexOf(value)),
    read: (reader) => {
      const index = reader.byte();
      const word = words[index];
      if (word === undefined) throw new PayloadError(`${index} is not one of ${words.join(', ')}`);
      return word;
    },
  };
}

/** 0, or 1 and the value. */
export function optional<Value>(codec: Codec<Value>): Codec<Value | undefined> {
  return {
    write: (writer, value) => {
      boolean.write(writer, value !== undefined);
      if (value !== undefined) codec.write(writer, value);
    },
    read: (reader) => (boolean.read(reader) ? codec.read(reader) : undefined),
  };
}

/** The count, then the values. */
export function list<Value>(codec: Codec<Value>): Codec<readonly Value[]> {
  return {
    write: (writer, values) => {
      writer.unsigned(values.length);
      for (const value of values) codec.write(writer, value);
    },
    read: (reader) => {
      const count = reader.unsigned();
      // Every value takes a byte at least.
      if (count > reader.remaining) throw new PayloadError(`a list of ${count} values is too long`);
      const values: Value[] = [];
      for (let index = 0; index < count; index += 1) values.push(codec.read(reader));
      return values;
    },
  };
}

/** The fields in the order in which they are named. */
export function fields<Value extends object>(codecs: {
  readonly [Field in keyof Value]-?: Codec<Value[Field]>;
}): Codec<Value> {
  const names = Object.keys(codecs) as (keyof Value)[];
  return {
    write: (writer, value) => {
      for (const name of names) codecs[name].write(writer, value[name]);
    },
    read: (reader) => {
      const value: Partial<Value> = {};
      for (const name of names) value[name] = codecs[name].read(reader);
      return value as Value;
    },
  };
}

interface Variant {
  readonly tag: number;
  readonly codec: Codec<object>;
}

type Variants<Value extends { readonly type: string }> = {
  readonly [Type in Value['type']]: {
    readonly tag: number;
    readonly codec: Codec<Omit<Extract<Value, { readonly type: Type }>, 'type'>>;
  };
};

/** A tag byte that says which variant follows. */
export function variants<Value extends { readonly type: string }>(table: Variants<Value>): Codec<Value> {
  const byType = new Map(Object.entries<Variant>(table as Readonly<Record<string, Variant>>));
  const byTag = new Map([...byType].map(([type, { tag, codec }]) => [tag, { type, codec }]));
  return {
    write: (writer, value) => {
      const variant = byType.get(value.type);
      if (variant === undefined) throw new PayloadError(`${value.type} has no tag`);
      writer.byte(variant.tag);
      variant.codec.write(writer, value);
    },
    read: (reader) => {
      const tag = reader.byte();
      const variant = byTag.get(tag);
      if (variant === undefined) throw new PayloadError(`tag ${tag} is unknown`);
      // Set in place: a copy of each of a million run rows would cost more than reading them.
      return Object.assign(variant.codec.read(reader), { type: variant.type }) as unknown as Value;
    },
  };
}
