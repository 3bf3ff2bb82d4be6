/** Limits the memory of a WebAssembly program, of which the limits of its thread know nothing. */

const HEADER_BYTES = 8;
const MEMORY_SECTION = 5;
/** One memory, which has a first size and a last one. */
const ONE_WITH_MAXIMUM = [1, 1];
const PAGES_PER_MB = 16;

/** Reads an unsigned number (LEB128). */
function readNumber(bytes: Uint8Array, at: number): { value: number; end: number } {
  let value = 0;
  for (let n = 0; ; n += 1) {
    const byte = bytes[at + n];
    if (byte === undefined) throw new Error('the program ends in a number');
    value += (byte & 0x7f) * 2 ** (7 * n);
    if (byte < 0x80) return { value, end: at + n + 1 };
  }
}

function numberBytes(value: number): number[] {
  return value < 0x80 ? [value] : [(value & 0x7f) | 0x80, ...numberBytes(value >>> 7)];
}

/**
 * Gives the memory of a program a maximum. Beyond it the program fails with a WebAssembly.RuntimeError.
 * @param program a module with one memory of its own
 * @throws Error if it has none
 * @see https://webassembly.github.io/spec/core/binary/modules.html#memory-section
 */
export function withMemoryLimit(program: Uint8Array, megabytes: number): Uint8Array<ArrayBuffer> {
  for (let at = HEADER_BYTES; at < program.length;) {
    const { value: length, end: start } = readNumber(program, at + 1);
    const end = start + length;
    if (program[at] === MEMORY_SECTION) {
      const first = readNumber(program, start + ONE_WITH_MAXIMUM.length).value;
      const content = [...ONE_WITH_MAXIMUM, ...numberBytes(first), ...numberBytes(megabytes * PAGES_PER_MB)];
      const section = [MEMORY_SECTION, ...numberBytes(content.length), ...content];
      return new Uint8Array(
        Buffer.concat([program.subarray(0, at), Uint8Array.from(section), program.subarray(end)]),
      );
    }
    at = end;
  }
  throw new Error('the program has no memory');
}
