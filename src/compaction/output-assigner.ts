/** Spreads the input runs of a job over outputs: one class each, of about equal size. Pure. */
import { required } from '../base/assert.ts';
import type { PlacedParent, StreamParents } from './layout.ts';
import type { CompactionSettings } from './settings.ts';
import { outputsFor } from './sizes.ts';
import { bucketOf } from './stream-class.ts';

/**
 * Classes of one job. Each has an output open while the job goes through the streams, and so takes memory: beyond this
 * many, neighbouring buckets of expiring data share outputs.
 */
export const CLASSES_MAX = 8;

interface ClassOutputs {
  readonly share: number;
  output: number;
  bytes: number;
}

export class OutputAssigner {
  readonly #maxBytes: number;
  readonly #classes: Map<string, ClassOutputs> = new Map();
  #outputs = 0;

  constructor(streams: readonly StreamParents[], settings: Pick<CompactionSettings, 'targetBytes' | 'maxBytes'>) {
    this.#maxBytes = settings.maxBytes;
    const bytes = new Map<string, number>();
    for (const { parents } of streams) {
      for (const { className, run } of parents) bytes.set(className, (bytes.get(className) ?? 0) + run.byteLength);
    }
    for (const names of combineClasses(bytes)) {
      const total = names.reduce((sum, name) => sum + (bytes.get(name) ?? 0), 0);
      const shared = { share: total / outputsFor(total, settings), output: this.#nextOutput(), bytes: 0 };
      for (const name of names) this.#classes.set(name, shared);
    }
  }

  /** The number of the output that takes the run. Runs come by stream and offset, each once. */
  place({ className, run }: PlacedParent): number {
    const place = required(this.#classes.get(className), 'every class of the job was counted');
    const full = place.bytes >= place.share || place.bytes + run.byteLength > this.#maxBytes;
    if (full && place.bytes > 0) {
      place.output = this.#nextOutput();
      place.bytes = 0;
    }
    place.bytes += run.byteLength;
    return place.output;
  }

  #nextOutput(): number {
    this.#outputs += 1;
    return this.#outputs - 1;
  }
}

/** Groups class names that share outputs: at most `most` groups, as far as joining buckets of time gets there. */
export function combineClasses(bytes: ReadonlyMap<string, number>, most: number = CLASSES_MAX): string[][] {
  const buckets: { names: string[]; bytes: number }[] = [];
  const groups: string[][] = [];
  const ascending = [...bytes].sort(([left], [right]) => (bucketOf(left) ?? 0) - (bucketOf(right) ?? 0));
  for (const [name, size] of ascending) {
    if (bucketOf(name) === undefined) groups.push([name]);
    else buckets.push({ names: [name], bytes: size });
  }
  while (buckets.length > 1 && groups.length + buckets.length > most) {
    let smallest = 0;
    const pairBytes = (index: number): number => (buckets[index]?.bytes ?? 0) + (buckets[index + 1]?.bytes ?? 0);
    for (let index = 1; index + 1 < buckets.length; index += 1) {
      if (pairBytes(index) < pairBytes(smallest)) smallest = index;
    }
    const [left, right] = buckets.slice(smallest, smallest + 2) as [(typeof buckets)[number], (typeof buckets)[number]];
    buckets.splice(smallest, 2, { names: [...left.names, ...right.names], bytes: left.bytes + right.bytes });
  }
  return [...groups, ...buckets.map(({ names }) => names)];
}
