/**
 * Runs the WebAssembly of the npm package `lz4-wasm-nodejs`. The package's own wrapper keeps one instance for ever,
 * copies every result out, and prepends the size; this loader hands out the result where it lies, leaves the size
 * to the caller, and starts a new instance after a trap or once the memory of the old one has grown too large
 * (WebAssembly memory never shrinks).
 */
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';

const WASM_FILE = 'lz4-wasm-nodejs/lz4_wasm_nodejs_bg.wasm';
/** The module prepends the uncompressed size to what it writes, and expects it in front of what it reads. */
const SIZE_PREFIX_BYTES = 4;
/** An instance whose memory is larger is dropped before the next call. */
const MEMORY_BYTES_KEPT = 64 * 2 ** 20;
/** Where a call leaves its result: pointer, length, error handle, whether it failed. */
const RESULT_BYTES = 16;

/** Only what is used here: the type libraries declare WebAssembly only together with a browser's whole DOM. */
interface WebAssemblyClasses {
  readonly Module: new (bytes: Uint8Array) => object;
  readonly Instance: new (module: object, imports: object) => { readonly exports: unknown };
}
const { Module, Instance } = (globalThis as unknown as { WebAssembly: WebAssemblyClasses }).WebAssembly;

interface Lz4Exports {
  readonly memory: { readonly buffer: ArrayBuffer };
  readonly compress: (result: number, input: number, inputBytes: number) => void;
  readonly decompress: (result: number, input: number, inputBytes: number) => void;
  __wbindgen_add_to_stack_pointer(bytes: number): number;
  __wbindgen_malloc(bytes: number): number;
  __wbindgen_free(pointer: number, bytes: number): void;
}

interface Lz4Instance {
  readonly wasm: Lz4Exports;
  /** The last result, which its caller may still be reading: freed by the next call. */
  lastPointer: number;
  lastBytes: number;
}

let compiled: object | undefined;
let current: Lz4Instance | undefined;

function start(): Lz4Instance {
  compiled ??= new Module(readFileSync(createRequire(import.meta.url).resolve(WASM_FILE)));
  // The compiled module names its only import so. It makes a string of an error message, which is not needed here.
  const imports = { __wbindgen_placeholder__: { __wbindgen_string_new: (): number => 0 } };
  const instance = new Instance(compiled, imports);
  return { wasm: instance.exports as Lz4Exports, lastPointer: 0, lastBytes: 0 };
}

/** The instance for the next call, with the result of the last one freed. */
function acquire(): Lz4Instance {
  if (current !== undefined && current.wasm.memory.buffer.byteLength > MEMORY_BYTES_KEPT) current = undefined;
  current ??= start();
  if (current.lastBytes > 0) current.wasm.__wbindgen_free(current.lastPointer, current.lastBytes);
  current.lastBytes = 0;
  return current;
}

/** Calls `run`, which frees the input itself, and returns a view of the result; `undefined` when the module refuses. */
function call(
  instance: Lz4Instance,
  run: (result: number, input: number, inputBytes: number) => void,
  input: number,
  inputBytes: number,
): Uint8Array | undefined {
  const { wasm } = instance;
  const result = wasm.__wbindgen_add_to_stack_pointer(-RESULT_BYTES);
  run(result, input, inputBytes);
  const view = new DataView(wasm.memory.buffer, result, RESULT_BYTES);
  const pointer = view.getUint32(0, true);
  const bytes = view.getUint32(4, true);
  const failed = run === wasm.decompress && view.getUint32(12, true) !== 0;
  wasm.__wbindgen_add_to_stack_pointer(RESULT_BYTES);
  if (failed) return undefined;
  instance.lastPointer = pointer;
  instance.lastBytes = bytes;
  return new Uint8Array(wasm.memory.buffer, pointer, bytes);
}

/** Runs `operation`; a trap leaves an instance in an unknown state, so it is dropped and the error passed on. */
function guarded<T>(operation: (instance: Lz4Instance) => T): T {
  try {
    return operation(acquire());
  } catch (error) {
    current = undefined;
    throw error;
  }
}

/**
 * Compresses `bytes` to one LZ4 block without a size in front. The result is a view of WebAssembly memory:
 * it is valid until the next call into this module.
 */
export function compressWithPackage(bytes: Uint8Array): Uint8Array {
  return guarded((instance) => {
    const { wasm } = instance;
    const input = wasm.__wbindgen_malloc(bytes.length);
    new Uint8Array(wasm.memory.buffer, input, bytes.length).set(bytes);
    const output = call(instance, wasm.compress, input, bytes.length);
    if (output === undefined) throw new Error('the LZ4 module refused to compress');
    return output.subarray(SIZE_PREFIX_BYTES);
  });
}

/**
 * Decompresses one LZ4 block that must yield exactly `rawBytes`. The caller bounds `rawBytes`: that much is allocated.
 * Returns `undefined` for a malformed block; the result is a view that is valid until the next call into this module.
 */
export function decompressWithPackage(block: Uint8Array, rawBytes: number): Uint8Array | undefined {
  return guarded((instance) => {
    const { wasm } = instance;
    const inputBytes = SIZE_PREFIX_BYTES + block.length;
    const input = wasm.__wbindgen_malloc(inputBytes);
    new DataView(wasm.memory.buffer).setUint32(input, rawBytes, true);
    new Uint8Array(wasm.memory.buffer, input + SIZE_PREFIX_BYTES, block.length).set(block);
    const output = call(instance, wasm.decompress, input, inputBytes);
    return output?.length === rawBytes ? output : undefined;
  });
}
