/** Values as a line cutter delivers them: in memory that is used for the next ones at once. */
import { lineMemory, LineMemory } from '../../src/codec/line-memory.ts';
import { PackedValues } from '../../src/record/packed-values.ts';

/** By name: both do the same, and the second takes over where the kernel cannot run. */
export function lineMemories(inputs: number, inputBytes: number): readonly (readonly [string, LineMemory])[] {
  return [
    ['the kernel', lineMemory(inputs, inputBytes)],
    ['plain memory', new LineMemory(undefined, inputs, inputBytes)],
  ];
}

/** No value has a newline. They lie in the first input, behind `shift` bytes of something else. */
export function packed(memory: LineMemory, values: readonly (string | Uint8Array)[], shift = 0): PackedValues {
  const input = memory.inputs[0] as Buffer;
  let end = shift;
  for (const value of values) {
    end += Buffer.from(value).copy(input, end);
    input[end] = 10;
    end += 1;
  }
  const bytes = input.subarray(shift, end);
  return new PackedValues(bytes, memory.cut(bytes, false), memory);
}
