/** Data as rows of a form: a name, a type and a text. */
import { parseJson } from '../../../../ui/json-text.ts';

export const TYPES = ['text', 'number', 'yes or no', 'null', 'JSON'] as const;
export type RowType = (typeof TYPES)[number];

export interface Row {
  name: string;
  type: RowType;
  text: string;
}

export const newRow: Row = { name: '', type: 'text', text: '' };

function rowOf(name: string, value: unknown): Row {
  if (typeof value === 'string') return { name, type: 'text', text: value };
  if (typeof value === 'number') return { name, type: 'number', text: String(value) };
  if (typeof value === 'boolean') return { name, type: 'yes or no', text: String(value) };
  if (value === null) return { name, type: 'null', text: '' };
  return { name, type: 'JSON', text: JSON.stringify(value) };
}

export const rowsOf = (value: Readonly<Record<string, unknown>>): Row[] =>
  Object.entries(value).map(([name, each]) => rowOf(name, each));

/** @returns null if the text is not of the type, such as a number that is not typed to its end */
function valueOf({ type, text }: Row): { value: unknown } | null {
  switch (type) {
    case 'text':
      return { value: text };
    case 'number':
      return text.trim() === '' || !Number.isFinite(Number(text)) ? null : { value: Number(text) };
    case 'yes or no':
      return { value: text === 'true' };
    case 'null':
      return { value: null };
    case 'JSON': {
      const parsed = parseJson(text);
      return parsed.fault === undefined ? parsed : null;
    }
  }
}

/** Returns the data of the rows that are complete. */
export const objectOf = (rows: readonly Row[]): Record<string, unknown> =>
  Object.fromEntries(
    rows.flatMap((row) => {
      const found = row.name === '' ? null : valueOf(row);
      return found ? [[row.name, found.value]] : [];
    }),
  );
