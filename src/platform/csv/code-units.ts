import { isUtf8 } from 'node:buffer';
import { createDecoder, type CsvEncoding } from './encodings.ts';

/**
 * Text that arrives in blocks, as numbers: bytes, or the 16-bit units of UTF-16. Memory is limited to the units that
 * are kept.
 */
export interface CodeUnits {
  /** The units from number `first` on; `data[i - first]` is unit number `i` of the file. */
  readonly data: Uint8Array | Uint16Array;
  /** The number of the unit at `data[0]`. */
  readonly first: number;
  /** The number after that of the last unit. */
  readonly end: number;
  /** Bytes of one unit. */
  readonly size: 1 | 2;
  /** Adds at most {@link MAX_BLOCK_BYTES}. Units before number `keep` are discarded. */
  append(block: Buffer, keep: number): void;
  /** Decodes the units from number `from` up to, but not including, `to`. */
  text(from: number, to: number): string;
  /** Whether these units are text in the encoding. */
  isValid(from: number, to: number): boolean;
}

export const MAX_BLOCK_BYTES = 64 * 1024;
const MIN_CAPACITY = 256 * 1024;

/** @param start the number of the first unit that will be appended */
export function createCodeUnits(encoding: CsvEncoding, start: number): CodeUnits {
  const size = encoding.startsWith('utf-16') ? 2 : 1;
  const decoder = size === 2 || encoding === 'utf-8' ? null : createDecoder(encoding);
  const make = (length: number) => (size === 2 ? new Uint16Array(length) : new Uint8Array(length));
  let data = make(MIN_CAPACITY);
  let bytes = Buffer.from(data.buffer);
  let [first, end] = [start, start];
  /** The first byte of a unit whose second byte is in the next block. */
  let half: number | null = null;

  /** Makes room. The array doubles when the kept units fill half of it, so that moving has a constant cost per unit. */
  function makeRoom(units: number, keep: number): void {
    if (end - first + units <= data.length) return;
    const kept = data.subarray(keep - first, end - first);
    if ((kept.length + units) * 2 <= data.length) {
      data.copyWithin(0, keep - first, end - first);
    } else {
      const larger = make(Math.max(MIN_CAPACITY, (kept.length + units) * 4));
      larger.set(kept);
      data = larger;
      bytes = Buffer.from(data.buffer);
    }
    first = keep;
  }

  function appendBytes(block: Buffer, keep: number): void {
    makeRoom(block.length / size, keep);
    bytes.set(block, (end - first) * size);
    if (encoding === 'utf-16be') {
      const from = (end - first) * size;
      bytes.subarray(from, from + block.length).swap16();
    }
    end += block.length / size;
  }

  return {
    get data() {
      return data;
    },
    get first() {
      return first;
    },
    get end() {
      return end;
    },
    size,
    append(block, keep) {
      const whole = half === null ? block : Buffer.concat([Buffer.of(half), block]);
      const length = whole.length - (whole.length % size);
      half = whole[length] ?? null;
      appendBytes(whole.subarray(0, length), keep);
    },
    text(from, to) {
      const [start, stop] = [(from - first) * size, (to - first) * size];
      if (size === 2) return bytes.toString('utf16le', start, stop);
      return decoder ? decoder.decode(bytes.subarray(start, stop)) : bytes.toString('utf8', start, stop);
    },
    isValid(from, to) {
      const [start, stop] = [(from - first) * size, (to - first) * size];
      if (size === 2) return bytes.toString('utf16le', start, stop).isWellFormed();
      const part = bytes.subarray(start, stop);
      return decoder ? !decoder.decode(part).includes('\uFFFD') : isUtf8(part);
    },
  };
}
