import { setImmediate } from 'node:timers/promises';
import { detectEncoding } from './detect.ts';
import { createTextSample, isCompressed, readEncodingMark, type TextSample } from './encoding.ts';
import { type CsvEncoding, leadByteOf } from './encodings.ts';
import { CsvScanner, type CsvPosition, type CsvRecord } from './scanner.ts';

/** The format of a file. Stored as JSON. */
export interface CsvDialect {
  encoding: CsvEncoding;
  /** One character. */
  delimiter: string;
}

/** What reading the whole file has found. */
export interface CsvInspection extends CsvDialect {
  /** The column names, as they are in the first record. */
  header: string[];
  /** Where the record after the header begins. */
  body: CsvPosition;
  /** Number of records after the header, including those with problems. */
  records: number;
  /** Records with values beyond ASCII, as they are read in the encoding. Some may be parts of records. */
  sampled: CsvRecord[];
}

/** Why a file is refused as a whole. */
export type FileProblem = 'compressed' | 'empty' | 'unreadable_header' | 'wrong_encoding';

/** Opens the file from a byte on. */
export type OpenFile = (offset: number) => Promise<AsyncIterable<Buffer>>;

const HEAD_BYTES = 64 * 1024;
const SAMPLE_RECORDS = 50;
/**
 * Number of bytes after which a reader lets the event loop do other work. Parsing a whole block takes so long that each
 * response of the database would wait for it.
 */
const SLICE_BYTES = 4 * 1024;
const delimiters = [',', ';', '\t', '|'];

/** Reads the first 64 KB, or the whole file if it is smaller. */
async function readHead(open: OpenFile): Promise<Buffer> {
  const parts: Buffer[] = [];
  let length = 0;
  for await (const block of await open(0)) {
    parts.push(block);
    length += block.length;
    if (length >= HEAD_BYTES) break;
  }
  return Buffer.concat(parts).subarray(0, HEAD_BYTES);
}

/**
 * Scores a delimiter: the number of leading records that have as many columns as the first one, if that has several.
 */
function scoreOf(delimiter: string, head: Buffer, encoding: CsvEncoding, offset: number): [number, number] {
  const from = { offset, row: 1, singleLineUntil: 0 };
  const scanner = new CsvScanner({ encoding, delimiter, from });
  const records = scanner.push(head.subarray(offset)).slice(0, SAMPLE_RECORDS);
  // The last record of a large file is cut.
  if (records.length < SAMPLE_RECORDS && head.length < HEAD_BYTES) records.push(...scanner.end());
  const columns = records[0]?.fields.length ?? 0;
  if (columns < 2 || records[0]?.problem) return [0, 0];
  const alike = records.filter(({ fields, problem }) => !problem && fields.length === columns).length;
  return [alike / records.length, columns];
}

/** A line such as `sep=;`, which declares the delimiter to spreadsheets. @returns the length of the line in bytes */
function readSeparatorLine(head: Buffer, encoding: CsvEncoding, offset: number) {
  const size = encoding.startsWith('utf-16') ? 2 : 1;
  const first = head.subarray(offset, offset + 16 * size);
  const ascii =
    size === 1 ? first : first.filter((_, index) => index % 2 === (encoding === 'utf-16le' ? 0 : 1));
  const line = /^"?sep=([,;\t|])"?(?:\r\n|\n|\r)/i.exec(Buffer.from(ascii).toString('latin1'));
  return line && { delimiter: line[1] as string, bytes: line[0].length * size };
}

function detectDelimiter(head: Buffer, encoding: CsvEncoding, offset: number): string {
  let [best, bestScore] = [',', [0, 0] as [number, number]];
  for (const delimiter of delimiters) {
    const score = scoreOf(delimiter, head, encoding, offset);
    if (score[0] > bestScore[0] || (score[0] === bestScore[0] && score[1] > bestScore[1])) {
      [best, bestScore] = [delimiter, score];
    }
  }
  return best;
}

/**
 * Reads the records of a file.
 * @param open opens the file
 * @param from as a record's `next`
 * @returns the records in groups, without blank ones, with the place where reading continues after each group
 */
export async function* readCsv(
  open: OpenFile,
  dialect: CsvDialect,
  from: CsvPosition,
): AsyncGenerator<{ records: CsvRecord[]; next: CsvPosition }> {
  const scanner = new CsvScanner({ ...dialect, from });
  const group = (records: CsvRecord[]) => ({ records, next: scanner.place });
  for await (const block of await open(from.offset)) {
    for (let at = 0; at < block.length; at += SLICE_BYTES) {
      yield group(scanner.push(block.subarray(at, at + SLICE_BYTES)));
      await setImmediate();
    }
  }
  yield group(scanner.end());
}

async function readHeader(open: OpenFile, dialect: CsvDialect, from: CsvPosition): Promise<CsvRecord | null> {
  for await (const { records } of readCsv(open, dialect, from)) if (records[0]) return records[0];
  return null;
}

interface Beginning extends CsvDialect {
  /** Whether a later block may show that the encoding is different. */
  isGuess: boolean;
  from: CsvPosition;
}

/** @param given the encoding that the client names, if any */
function readBeginning(head: Buffer, given: CsvEncoding | null): Beginning | { problem: FileProblem } {
  const found = readEncodingMark(head);
  const mark = found ?? { encoding: 'utf-8', bytes: 0 };
  const encoding = given ?? mark.encoding;
  const marked = mark.bytes;
  if (marked > 0 && mark.encoding !== encoding) return { problem: 'wrong_encoding' };
  const isGuess = given === null && !found;
  const separator = readSeparatorLine(head, encoding, marked);
  const offset = marked + (separator?.bytes ?? 0);
  // Every byte is text in windows-1252, so nothing counts as broken before the encoding is known.
  const readAs = isGuess ? 'windows-1252' : encoding;
  const delimiter = separator?.delimiter ?? detectDelimiter(head, readAs, offset);
  const from = { offset, row: separator ? 2 : 1, singleLineUntil: 0 };
  return { encoding, delimiter, isGuess, from };
}

/** Decides in which encoding a file is read whose beginning may not say it. */
async function decideEncoding({ isGuess, encoding }: Beginning, sample: TextSample): Promise<CsvEncoding> {
  return isGuess && !sample.isUtf8() ? detectEncoding(sample.lines()) : encoding;
}

/**
 * Reads the column names of a file without reading the rest.
 * @param given the encoding of the file, if the client names it
 * @returns null if it has none that can be read
 */
export async function readCsvHeader(
  open: OpenFile,
  given: CsvEncoding | null = null,
): Promise<string[] | null> {
  const head = await readHead(open);
  if (isCompressed(head)) return null;
  const beginning = readBeginning(head, given);
  if ('problem' in beginning) return null;
  const { from, delimiter } = beginning;
  const sample = createTextSample();
  if (beginning.isGuess) sample.add(head.subarray(from.offset));
  const encoding = await decideEncoding(beginning, sample);
  const header = await readHeader(open, { delimiter, encoding }, from);
  return header && !header.problem ? header.fields : null;
}

/** Counts records, and collects a sample of the text at the same time. */
async function count(open: OpenFile, beginning: Beginning, progress: () => void) {
  const sample = createTextSample();
  const counter = new CsvScanner({ ...beginning, countOnly: true });
  let records = 0;
  let sampled = beginning.encoding.startsWith('utf-16');
  for await (const block of await open(beginning.from.offset)) {
    if (!sampled) sampled = sample.add(block);
    records += counter.push(block).length;
    progress();
  }
  return { records: records + counter.end().length, sample };
}

/** Reads records of the sample, of which the first and last may be parts of some. */
function sampleRecords(bytes: Buffer, dialect: CsvDialect): CsvRecord[] {
  const scanner = new CsvScanner({ ...dialect, from: { offset: 0, row: 1, singleLineUntil: 0 } });
  return [...scanner.push(bytes), ...scanner.end()];
}

/**
 * Reads a file once from the beginning to the end, in constant memory: recognizes its encoding and delimiter, and counts
 * its records.
 * @param progress called after each block
 * @param given the encoding of the file, if the client names it
 */
export async function inspectCsv(
  open: OpenFile,
  progress: () => void,
  given: CsvEncoding | null = null,
): Promise<CsvInspection | { problem: FileProblem }> {
  const head = await readHead(open);
  if (isCompressed(head)) return { problem: 'compressed' };
  const beginning = readBeginning(head, given);
  if ('problem' in beginning) return beginning;
  const { delimiter, from, isGuess } = beginning;
  const counted = await count(open, beginning, progress);
  const { sample } = counted;
  let { records } = counted;
  const encoding = await decideEncoding(beginning, sample);
  const dialect = { encoding, delimiter };
  // Delimiters and line breaks are the same bytes in UTF-8 and in nearly all other encodings.
  if (isGuess && delimiter === '|' && leadByteOf(encoding)) {
    ({ records } = await count(open, { ...dialect, isGuess, from }, progress));
  }
  const header = await readHeader(open, dialect, from);
  if (!header) return { problem: 'empty' };
  if (header.problem) return { problem: 'unreadable_header' };
  const bytes = encoding.startsWith('utf-16') ? head.subarray(from.offset) : sample.lines();
  const sampled = sampleRecords(bytes, dialect);
  return { ...dialect, header: header.fields, body: header.next, records: records - 1, sampled };
}
