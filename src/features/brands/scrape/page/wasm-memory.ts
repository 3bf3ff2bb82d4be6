/** Limits the memory of a WebAssembly program, which the memory limit of its thread does not cover. */

const HEADER_BYTES = 8;
const MEMORY_SECTION = 5;
/** The first bytes of the section: one memory, with an initial and a maximum size. */
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
 * Gives a program's memory a maximum size. If the program exceeds it, it fails with a WebAssembly.RuntimeError.
 * @param program a module with one memory of its own
 * @throws Error if it has none @see https://webassembly.github.io/spec/core/binary/modules.html#memory-section
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
