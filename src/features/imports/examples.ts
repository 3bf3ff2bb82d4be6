import { unguardCell } from '../../platform/csv/guard.ts';
import type { CsvRecord } from '../../platform/csv/scanner.ts';
import type { Layout } from './model.ts';
import { readRow } from './rows.ts';

/** Maximum number of examples of a column, and of their characters. */
const MAX_EXAMPLES = 3;
const MAX_LENGTH = 60;
/** A file with more columns gets no examples, which would be a megabyte. */
const MAX_COLUMNS = 500;

/**
 * Returns examples of each column, so that clients see how it is read.
 * @param first the first rows of the file
 * @returns the examples, and the addresses of the rows, so that they are cleared if a contact is deleted
 */
export function examplesOf(
  { columns, status }: Layout,
  first: readonly CsvRecord[],
): { examples: string[][]; keys: string[] } {
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
  const keys = first.flatMap((record) => {
    const { email, phone } = readRow(record, columns, status);
    return [email?.key, phone].filter((key): key is string => typeof key === 'string');
  });
  return { examples, keys };
}
