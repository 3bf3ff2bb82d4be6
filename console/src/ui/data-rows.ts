/** Data as rows of a form: a name, a type and a text. */
import { parseJson } from './json-text.ts';

export const TYPES = ['text', 'number', 'yes or no', 'date', 'null', 'JSON'] as const;
export type RowType = (typeof TYPES)[number];

export interface Row {
  name: string;
  type: RowType;
  text: string;
}

export const newRow: Row = { name: '', type: 'text', text: '' };

/** The API takes a text as a day, too, wherever it compares times. */
const DAY = /^\d{4}-\d{2}-\d{2}$/;

/** `Date` takes February 31 for March 3. */
function isDay(text: string): boolean {
  const time = DAY.test(text) ? Date.parse(text) : Number.NaN;
  return !Number.isNaN(time) && new Date(time).toISOString().startsWith(text);
}

function rowOf(name: string, value: unknown): Row {
  if (typeof value === 'string') return { name, type: isDay(value) ? 'date' : 'text', text: value };
  if (typeof value === 'number') return { name, type: 'number', text: String(value) };
  if (typeof value === 'boolean') return { name, type: 'yes or no', text: String(value) };
  if (value === null) return { name, type: 'null', text: '' };
  return { name, type: 'JSON', text: JSON.stringify(value) };
}

export const rowsOf = (value: Readonly<Record<string, unknown>>): Row[] =>
  Object.entries(value).map(([name, each]) => rowOf(name, each));

/** The same names and types for another value of them. */
export const blankRows = (value: Readonly<Record<string, unknown>>): Row[] =>
  rowsOf(value).map((row) => ({ ...row, text: '' }));

type Read = { value: unknown; fault?: undefined } | { fault: string };

/** Reads what a row says; a text that is not of its type, such as a number that is not typed to its end, is a fault. */
function readRow({ type, text }: Row): Read {
  switch (type) {
    case 'text':
      return { value: text };
    case 'number': {
      const isNumber = text.trim() !== '' && Number.isFinite(Number(text));
      return isNumber ? { value: Number(text) } : { fault: 'This is not a number.' };
    }
    case 'yes or no':
      return { value: text === 'true' };
    case 'date':
      return isDay(text) ? { value: text } : { fault: 'Choose a date.' };
    case 'null':
      return { value: null };
    case 'JSON':
      return parseJson(text);
  }
}

/** Returns the data of the rows that are complete. */
export const objectOf = (rows: readonly Row[]): Record<string, unknown> =>
  Object.fromEntries(
    rows.flatMap((row) => {
      const read = readRow(row);
      return row.name === '' || read.fault !== undefined ? [] : [[row.name, read.value]];
    }),
  );

/** Returns what keeps a row out of the data; null for one that is complete, and for one that is empty. */
export function faultOf(row: Row, rows: readonly Row[]): string | null {
  const { name, text } = row;
  if (name === '') return text === '' ? null : 'Give this value a name.';
  if (rows.some((other) => other !== row && other.name === name)) return 'This name is given twice.';
  return readRow(row).fault ?? null;
}

/** Gives a row another type; its text stays if the type can have it. */
export function retype(row: Row, type: RowType): Row {
  const { name, text } = row;
  if (type === 'JSON') {
    const read = readRow(row);
    return { name, type, text: read.fault === undefined ? JSON.stringify(read.value) : '' };
  }
  const isKept = type === 'text' || readRow({ name, type, text }).fault === undefined;
  return { name, type, text: isKept ? text : '' };
}
