import { unguardCell } from '../../platform/csv/guard.ts';
import type { CsvRecord } from '../../platform/csv/scanner.ts';
import { readRow, type RowReading } from './rows.ts';

/** Maximum number of examples of a column, and of their characters. */
const MAX_EXAMPLES = 3;
const MAX_LENGTH = 60;
/** A file with more columns gets no examples, which would be a megabyte. */
const MAX_COLUMNS = 500;

/** The addresses of a row. */
function keysOf(reading: RowReading, record: CsvRecord): string[] {
  const { email, phone } = readRow(record, reading);
  return [email?.key, phone].filter((key): key is string => typeof key === 'string');
}

/**
 * Returns examples of each column, so that clients see how it is read.
 * @param first the first rows of the file
 * @returns the examples, and the addresses of the rows, so that they are cleared if a contact is deleted
 */
export function examplesOf(
  reading: RowReading,
  first: readonly CsvRecord[],
): { examples: string[][]; keys: string[] } {
  const { columns } = reading;
  if (columns.length > MAX_COLUMNS) return { examples: [], keys: [] };
  const examples = columns.map((_, index) => {
    const texts = first.map(({ fields }) =>
      unguardCell(fields[index] ?? '')
        .replaceAll('\0', '')
        .trim(),
    );
    const cut = texts.filter(Boolean).map((text) => text.slice(0, MAX_LENGTH).toWellFormed());
    return [...new Set(cut)].slice(0, MAX_EXAMPLES);
  });
  return { examples, keys: first.flatMap((record) => keysOf(reading, record)) };
}

const MAX_SAMPLES = 3;
const MAX_SAMPLE_LENGTH = 40;

/**
 * Returns a few values beyond ASCII, so that clients see whether the encoding is the right one. Addresses are left out,
 * and rows without one, because nothing would clear their values if their contact is deleted.
 * @param sampled records of the file, or parts of them
 * @returns the samples, and the addresses of their rows
 */
export function samplesOf(
  reading: RowReading,
  header: readonly string[],
  sampled: readonly CsvRecord[],
): { samples: string[]; keys: string[] } {
  const samples = new Set<string>();
  const keys: string[] = [];
  for (const record of sampled) {
    if (samples.size === MAX_SAMPLES) break;
    const { fields, problem } = record;
    if (problem || fields.length !== header.length) continue;
    const isHeader = fields.every((field, index) => field === header[index]);
    const own = isHeader ? [] : keysOf(reading, record);
    if (!isHeader && own.length === 0) continue;
    const found = fields
      .map((field) => unguardCell(field).trim())
      .filter((text) => /[^\x00-\x7f]/.test(text) && !/[@\r\n\0]/.test(text))
      .map((text) => text.slice(0, MAX_SAMPLE_LENGTH).toWellFormed())
      .slice(0, MAX_SAMPLES - samples.size);
    for (const text of found) samples.add(text);
    if (found.length > 0) keys.push(...own);
  }
  return { samples: [...samples], keys };
}
