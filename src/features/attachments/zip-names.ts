/**
 * Reads the names in the directory of a zip file, without unpacking anything (APPNOTE.TXT, sections 4.3.12 to 4.3.16).
 * The directory is found from the end of the file, as programs that open the file find it: bytes may stand before the
 * archive.
 */
import type { ByteSource } from './byte-source.ts';

const END = 0x06054b50;
const END_BYTES = 22;
const ZIP64_LOCATOR_BYTES = 20;
const ZIP64_LOCATOR = 0x07064b50;
const ZIP64_END = 0x06064b50;
const ENTRY = 0x02014b50;
const ENTRY_BYTES = 46;
const MAX_COMMENT_BYTES = 65_535;
const MAX_DIRECTORY_BYTES = 4 * 1024 * 1024;

/** Where the directory ends and how long it is. */
interface Directory {
  end: number;
  size: number;
}

async function directoryOf(source: ByteSource): Promise<Directory | null> {
  const start = Math.max(0, source.size - END_BYTES - MAX_COMMENT_BYTES - ZIP64_LOCATOR_BYTES);
  const tail = await source.read(start, source.size);
  for (let at = tail.length - END_BYTES; at >= 0; at -= 1) {
    if (tail.readUInt32LE(at) !== END) continue;
    // A comment may contain the mark; the real one names the length of what follows.
    if (at + END_BYTES + tail.readUInt16LE(at + 20) !== tail.length) continue;
    const locatorAt = at - ZIP64_LOCATOR_BYTES;
    const isZip64 = locatorAt >= 0 && tail.readUInt32LE(locatorAt) === ZIP64_LOCATOR;
    if (isZip64) return zip64Directory(source, start + locatorAt);
    return { end: start + at, size: tail.readUInt32LE(at + 12) };
  }
  return null;
}

/** @param before where the locator begins; the record that it points to stands directly before it */
async function zip64Directory(source: ByteSource, before: number): Promise<Directory | null> {
  const recordBytes = 56;
  const end = before - recordBytes;
  if (end < 0) return null;
  const record = await source.read(end, before);
  if (record.readUInt32LE(0) !== ZIP64_END) return null;
  return { end, size: Number(record.readBigUInt64LE(40)) };
}

/** @returns null if the file has no directory that can be read, or one of more than 4 MB */
export async function zipNames(source: ByteSource): Promise<string[] | null> {
  const directory = await directoryOf(source);
  if (!directory || directory.size > Math.min(directory.end, MAX_DIRECTORY_BYTES)) return null;
  const bytes = await source.read(directory.end - directory.size, directory.end);
  const names: string[] = [];
  for (let at = 0; at < bytes.length;) {
    if (at + ENTRY_BYTES > bytes.length || bytes.readUInt32LE(at) !== ENTRY) return null;
    const name = bytes.readUInt16LE(at + 28);
    // Names in other encodings than UTF-8 keep their ASCII characters, which the extension consists of.
    names.push(bytes.toString('utf8', at + ENTRY_BYTES, at + ENTRY_BYTES + name));
    at += ENTRY_BYTES + name + bytes.readUInt16LE(at + 30) + bytes.readUInt16LE(at + 32);
  }
  return names;
}
