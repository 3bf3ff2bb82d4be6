import { type OpenFile, readCsv } from '../../../platform/csv/inspect.ts';
import { unguardCell } from '../../../platform/csv/guard.ts';
import type { CsvPosition, CsvRecord } from '../../../platform/csv/scanner.ts';
import { type Column, ERROR_COLUMN } from '../columns.ts';
import type { Layout } from '../model.ts';
import { consentFields } from '../schema.ts';
import { fitTool, isBlank, readConsentCell, saysNo } from './read-word.ts';
import { type ConsentState, simplified } from './words.ts';

/** Maximum number of different cells of a column that are looked at. Columns of states have a few. */
const MAX_WORDS = 1_000;
/** Maximum number of words that a message or a result shows, and of their characters. */
const MAX_SHOWN = 10;
const MAX_LENGTH = 60;
/** Number of leading rows from which examples are taken. */
const EXAMPLE_ROWS = 20;

interface Words {
  /** The different cells of the column, as in the file. */
  texts: Set<string>;
  /** Whether they are all of them. */
  complete: boolean;
}

interface WordsOfFile {
  /** By index; undefined for columns that are not about subscriptions. */
  words: (Words | undefined)[];
  /** The first rows. */
  first: CsvRecord[];
}

const isConsent = ({ use }: Column): boolean => use !== null && 'consent' in use;

/** Whether the cells of a record are where its columns are. Surplus cells come from a comma without quotation marks. */
const isAligned = ({ fields }: CsvRecord, columns: number): boolean =>
  fields.length <= columns || fields.slice(columns).every((text) => text.trim() === '');

/** Whether a record is the header again, as in files that are put together from several. */
const isHeader = ({ fields }: CsvRecord, columns: readonly Column[]): boolean =>
  fields.length === columns.length &&
  fields.every((text, index) => unguardCell(text).trim() === columns[index]?.name);

function collect(words: readonly (Words | undefined)[], record: CsvRecord): void {
  for (const [index, found] of words.entries()) {
    const text = record.fields[index];
    if (!found?.complete || text === undefined || text === '' || found.texts.has(text)) continue;
    // A row with such a cell fails. It does not make data of a column whose other words are states.
    if (record.garbled?.includes(index)) continue;
    if (found.texts.size < MAX_WORDS) found.texts.add(text);
    else found.complete = false;
  }
}

/**
 * Reads the different words of all columns about subscriptions, through the whole file. Without such columns it reads
 * the first rows only.
 * @param progress called after each piece
 */
export async function readWords(
  open: OpenFile,
  layout: Layout,
  body: CsvPosition,
  progress: () => void,
): Promise<WordsOfFile> {
  const words = layout.columns.map((column) =>
    isConsent(column) ? { texts: new Set<string>(), complete: true } : undefined,
  );
  const first: CsvRecord[] = [];
  for await (const { records } of readCsv(open, layout, body)) {
    for (const record of records) {
      // Rows with characters of another encoding are imported without these cells.
      if (record.problem && record.problem !== 'invalid_encoding') continue;
      if (first.length < EXAMPLE_ROWS) first.push(record);
      // Such rows fail, and do not decide what a column is.
      if (isAligned(record, words.length) && !isHeader(record, layout.columns)) collect(words, record);
    }
    progress();
    const isEnough = first.length === EXAMPLE_ROWS && words.every((found) => !found?.complete);
    if (isEnough) break;
  }
  return { words, first };
}

/** Messages are kept for longer than addresses may be. */
const shown = (text: string) =>
  text.includes('@') ? 'an address' : `"${text.slice(0, MAX_LENGTH).toWellFormed()}"`;
const cellsOf = ({ texts }: Words) => [...texts].map((text) => unguardCell(text).trim()).filter(Boolean);

/** Decides the use of a column with an ambiguous heading, such as `status`. */
function decideAmbiguous(column: Column, found: Words): Column {
  const { name, use } = column;
  if (!use || !('consent' in use)) return column;
  const cells = cellsOf(found).filter((cell) => !isBlank(cell));
  const simple = [...new Set(cells.map(simplified))];
  const words = found.complete ? fitTool(name, simple) : null;
  if (words) return { name, use: { consent: { ...use.consent, words } } };
  const asData: Column = { name, use: { data: use.data ?? name } };
  if (cells.length === 0) return asData;
  const seen = cells.slice(0, MAX_SHOWN).map(shown).join(', ');
  return {
    ...asData,
    because: `it is data, not a subscription status: no known tool has all of its words as states (${seen})`,
    ...(simple.some(saysNo) ? { saysNo: true } : {}),
  };
}

/** A column whose words are not understood. */
export interface UnknownWords {
  column: string;
  message: string;
}

function unknownWords({ name, use }: Column, found: Words): UnknownWords | null {
  // The names of our own fields leave no doubt: each row with another word fails.
  if (!use || !('consent' in use) || Object.hasOwn(consentFields, name.toLowerCase())) return null;
  const cells = cellsOf(found).filter((cell) => !isBlank(cell));
  const unknown = cells.filter((cell) => readConsentCell(use.consent, cell) === undefined);
  // If some of the words are known, rows with the others fail.
  if (unknown.length === 0 || unknown.length < cells.length) return null;
  const seen = unknown.slice(0, MAX_SHOWN).map(shown).join(', ');
  const more = unknown.length > MAX_SHOWN ? ` and ${unknown.length - MAX_SHOWN} more` : '';
  const example = JSON.stringify({
    [name]: { field: 'subscribed', words: { [unknown[0] ?? '']: 'subscribed' } },
  });
  return {
    column: name,
    message:
      `the column "${name}" seems to say who is subscribed, but its words are not known: ${seen}${more}. ` +
      `Give their meanings in options.mapping, such as ${example}, or map the column to data.${name} or null`,
  };
}

function meanings({ use }: Column, found: Words): Record<string, ConsentState | null> | undefined {
  if (!use || !('consent' in use)) return undefined;
  const { consent } = use;
  if (!['positive', 'inverse', 'confirmed', 'ambiguous'].includes(consent.kind)) return undefined;
  const said = cellsOf(found)
    .slice(0, MAX_SHOWN)
    .flatMap((cell) => {
      const read = readConsentCell(consent, cell);
      return read && cell.length <= MAX_LENGTH ? [[cell, read.state] as const] : [];
    });
  return Object.fromEntries(said);
}

/**
 * Decides how the columns about subscriptions are read, by all of their words.
 * @returns the columns, and the first one whose words are not understood
 */
export function decideConsent(
  columns: readonly Column[],
  { words }: Pick<WordsOfFile, 'words'>,
): { columns: Column[]; unknown: UnknownWords | null } {
  let unknown: UnknownWords | null = null;
  // A report of failed rows may have no other words than those that made rows fail.
  const isReport = columns.some(({ name }) => name.toLowerCase() === ERROR_COLUMN);
  const decided = columns.map((column, index) => {
    const found = words[index];
    if (!found || !column.use || !('consent' in column.use)) return column;
    if (column.use.consent.kind === 'ambiguous') {
      const result = decideAmbiguous(column, found);
      return isConsent(result) ? { ...result, words: meanings(result, found) } : result;
    }
    if (!isReport) unknown ??= unknownWords(column, found);
    return { ...column, words: meanings(column, found) };
  });
  return { columns: decided, unknown };
}
