/**
 * What can happen to the bytes of a file, as an enumeration: case n is the same damage in every run, and no case is
 * drawn twice. `count` says how many there are.
 */

/** One way to damage a file. */
export interface Damage {
  readonly label: string;
  /** The damaged file; the given bytes stay as they are. */
  readonly apply: (bytes: Uint8Array) => Uint8Array;
}

export interface DamageSpace {
  readonly count: number;
  readonly at: (index: number) => Damage;
}

/** The smallest unit a disk writes, and the one that file systems and drives of today write. */
const SECTORS = [512, 4096] as const;

function edited(edit: (copy: Uint8Array) => void): Damage['apply'] {
  return (bytes) => {
    const copy = bytes.slice();
    edit(copy);
    return copy;
  };
}

/** Every single bit. */
function bitFlips({ length }: Uint8Array): DamageSpace {
  const at = (index: number): Damage => {
    const [byte, bit] = [Math.floor(index / 8), index % 8];
    return {
      label: `bit ${bit} of byte ${byte} flipped`,
      apply: edited((copy) => (copy[byte] = (copy[byte] ?? 0) ^ (1 << bit))),
    };
  };
  return { count: length * 8, at };
}

/** Every length that a file can be cut to. */
function truncations({ length }: Uint8Array): DamageSpace {
  return {
    count: length,
    at: (index) => ({ label: `cut to ${index} bytes`, apply: (bytes) => bytes.slice(0, index) }),
  };
}

/** The file grown by zeros, by ones, and by itself. */
function extensions(): DamageSpace {
  const sizes = [1, 8, 512, 4096, 65_536];
  const fills = [0, 0xff];
  return {
    count: sizes.length * fills.length,
    at: (index) => {
      const size = sizes[index % sizes.length] ?? 0;
      const fill = fills[Math.floor(index / sizes.length)] ?? 0;
      return {
        label: `grown by ${size} bytes of ${fill}`,
        apply: (bytes) => Buffer.concat([bytes, Buffer.alloc(size, fill)]),
      };
    },
  };
}

/** Any two sectors exchanged: a misdirected write and its victim. */
function sectorSwaps({ length }: Uint8Array): DamageSpace {
  return union(
    SECTORS.map((size) => {
      const sectors = Math.floor(length / size);
      return {
        count: sectors * sectors,
        at: (index) => {
          const [left, right] = [Math.floor(index / sectors) * size, (index % sectors) * size];
          return {
            label: `sectors of ${size} bytes at ${left} and ${right} exchanged`,
            apply: edited((copy) => {
              const kept = copy.slice(left, left + size);
              copy.copyWithin(left, right, right + size);
              copy.set(kept, right);
            }),
          };
        },
      };
    }),
  );
}

/** Each sector replaced by zeros, by ones, and by what lies at the same place of other files: stale, or foreign. */
function sectorReplacements({ length }: Uint8Array, donors: readonly Uint8Array[]): DamageSpace {
  const sources: readonly (readonly [string, (at: number, size: number) => Uint8Array])[] = [
    ['zeros', (_at, size) => new Uint8Array(size)],
    ['ones', (_at, size) => new Uint8Array(size).fill(0xff)],
    ...donors.map(
      (donor, index) =>
        [`those of donor ${index}`, (at: number, size: number) => donor.subarray(at, at + size)] as const,
    ),
  ];
  return union(
    SECTORS.map((size) => {
      const sectors = Math.ceil(length / size);
      return {
        count: sectors * sources.length,
        at: (index) => {
          const at = Math.floor(index / sources.length) * size;
          const [name, source] = sources[index % sources.length] ?? sources[0]!;
          return {
            label: `${size} bytes at ${at} replaced by ${name}`,
            apply: edited((copy) => {
              copy.set(source(at, Math.min(size, length - at)), at);
            }),
          };
        },
      };
    }),
  );
}

/** The whole file replaced by another. */
function replacements(donors: readonly Uint8Array[]): DamageSpace {
  return {
    count: donors.length,
    at: (index) => ({ label: `replaced by donor ${index}`, apply: () => donors[index]!.slice() }),
  };
}

/** What other files do to this one: a misdirected write, a file put in the wrong place. */
export function foreignDamage(bytes: Uint8Array, donors: readonly Uint8Array[]): DamageSpace {
  return union([sectorReplacements(bytes, donors), replacements(donors)]);
}

/** Everything above. */
export function everyDamage(bytes: Uint8Array, donors: readonly Uint8Array[]): DamageSpace {
  return union([
    bitFlips(bytes),
    truncations(bytes),
    extensions(),
    sectorSwaps(bytes),
    sectorReplacements(bytes, donors),
    replacements(donors),
  ]);
}

function union(spaces: readonly DamageSpace[]): DamageSpace {
  return {
    count: spaces.reduce((sum, { count }) => sum + count, 0),
    at: (index) => {
      let left = index;
      for (const space of spaces) {
        if (left < space.count) return space.at(left);
        left -= space.count;
      }
      throw new RangeError(`there is no damage ${index}`);
    },
  };
}

/** Whether any byte of [`from`, `to`) differs, or is not there any more. */
export function differs(left: Uint8Array, right: Uint8Array, from: number, to: number): boolean {
  if (to > left.length || to > right.length) return true;
  return Buffer.compare(left.subarray(from, to), right.subarray(from, to)) !== 0;
}
