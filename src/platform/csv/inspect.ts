import { setImmediate } from 'node:timers/promises';
import { createTextSample, isCompressed, readEncodingMark, type CsvEncoding } from './encoding.ts';
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
}

/** Why a file is refused as a whole. */
export type FileProblem = 'compressed' | 'empty' | 'unreadable_header';

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

function readBeginning(head: Buffer): Beginning {
  const mark = readEncodingMark(head);
  const { encoding, bytes } = mark ?? { encoding: 'utf-8', bytes: 0 };
  const separator = readSeparatorLine(head, encoding, bytes);
  const offset = bytes + (separator?.bytes ?? 0);
  const delimiter = separator?.delimiter ?? detectDelimiter(head, encoding, offset);
  const from = { offset, row: separator ? 2 : 1, singleLineUntil: 0 };
  return { encoding, delimiter, isGuess: mark === null, from };
}

/** Reads the column names of a file without reading the rest. @returns null if it has none that can be read */
export async function readCsvHeader(open: OpenFile): Promise<string[] | null> {
  const head = await readHead(open);
  if (isCompressed(head)) return null;
  const { isGuess, from, ...dialect } = readBeginning(head);
  const sample = createTextSample();
  sample.add(head.subarray(from.offset));
  const encoding = isGuess ? sample.encoding() : dialect.encoding;
  const header = await readHeader(open, { ...dialect, encoding }, from);
  return header && !header.problem ? header.fields : null;
}

/** Counts records, and recognizes the encoding at the same time. */
async function count(open: OpenFile, beginning: Beginning, progress: () => void) {
  const { from, isGuess } = beginning;
  const sample = createTextSample();
  // Delimiters and line breaks are the same bytes in UTF-8 and windows-1252.
  const counter = new CsvScanner({ ...beginning, countOnly: true });
  let records = 0;
  let sampled = !isGuess;
  for await (const block of await open(from.offset)) {
    if (!sampled) sampled = sample.add(block);
    records += counter.push(block).length;
    progress();
  }
  records += counter.end().length;
  return { records, encoding: isGuess ? sample.encoding() : beginning.encoding };
}

/**
 * Reads a file once from the beginning to the end, in constant memory: recognizes its encoding and delimiter, and counts
 * its records.
 * @param progress called after each block
 */
export async function inspectCsv(
  open: OpenFile,
  progress: () => void,
): Promise<CsvInspection | { problem: FileProblem }> {
  const head = await readHead(open);
  if (isCompressed(head)) return { problem: 'compressed' };
  const beginning = readBeginning(head);
  const { records, encoding } = await count(open, beginning, progress);
  const dialect = { encoding, delimiter: beginning.delimiter };
  const header = await readHeader(open, dialect, beginning.from);
  if (!header) return { problem: 'empty' };
  if (header.problem) return { problem: 'unreadable_header' };
  return { ...dialect, header: header.fields, body: header.next, records: records - 1 };
}
