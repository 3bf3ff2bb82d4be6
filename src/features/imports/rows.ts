import { parsePhoneNumberFromString, type CountryCode } from 'libphonenumber-js/min';
import { z } from 'zod';
import { parseEmailAddress } from '../../delivery/addresses/email.ts';
import { parseE164 } from '../../delivery/addresses/phone.ts';
import {
  MAX_DIAGNOSTIC,
  suppressionReasons,
  type SuppressionReason,
} from '../../delivery/consent/suppressions.ts';
import { unguardCell } from '../../platform/csv/guard.ts';
import type { CsvPosition, CsvRecord, RecordProblem } from '../../platform/csv/scanner.ts';
import { MAX_DATA_BYTES } from '../contacts/schema.ts';
import type { BulkContact } from '../contacts/service.ts';
import type { Column } from './columns.ts';
import { readDataCell } from './data-cell.ts';
import type { ColumnField } from './schema.ts';

/** Why a row cannot be imported. */
export interface RowProblem {
  code: string;
  message: string;
  /** The name of the column at fault, if it is a single one. */
  column: string | null;
}

/** A checked row of the file. */
export interface ImportRow extends BulkContact {
  /** Counted as in a spreadsheet. */
  number: number;
  /** Where the next row begins. */
  next: CsvPosition;
  /** The values as in the file. */
  fields: string[];
  reason: SuppressionReason;
  /** Of a suppression: false if it has ended. */
  active: boolean;
  /** Of a suppression: when it ends, in ISO 8601; null if it is permanent. */
  expiresAt: string | null;
}

/** A row that cannot be imported: its readable parts and its problem. */
export interface FailedRow extends Pick<ImportRow, 'number' | 'next' | 'fields'> {
  email: ImportRow['email'];
  phone: string | null;
  problem: RowProblem;
}

const recordProblems: Record<RecordProblem, string> = {
  record_too_long: 'the record is longer than 1 MiB',
  unclosed_quote: 'a quotation mark is not closed',
  text_after_quote: 'a quoted value is followed by other text',
  too_many_columns: 'the record has more than 2,000 columns',
  invalid_encoding: 'the record has characters that are not in the encoding of the file',
};

const yes = ['true', 'yes', 'y', '1', 'on', 'subscribed', 'optin', 'active'];
const no = ['false', 'no', 'n', '0', 'off', 'unsubscribed', 'optout', 'cleaned', 'inactive'];
const words = new Map([
  ...yes.map((word) => [word, true] as const),
  ...no.map((word) => [word, false] as const),
]);

const MAX_NAME = 255;
const MAX_SOURCE = 100;
/** NUL cannot be stored, and names must not contain other control characters. `data` may contain line breaks. */
const UNSTORABLE = '\0';
const CONTROL = /[\x00-\x1f\x7f-\x9f\u2028\u2029]/;

class RowError extends Error {
  readonly problem: RowProblem;
  constructor(code: string, message: string, column: string | null) {
    super(message);
    this.problem = { code, message, column };
  }
}

type Cells = Partial<Record<ColumnField, { text: string; column: string }>>;

function spread(record: CsvRecord, columns: readonly Column[]): { cells: Cells; data: ImportRow['data'] } {
  const cells: Cells = {};
  let data: ImportRow['data'] = null;
  for (const [index, raw] of record.fields.entries()) {
    const column = columns[index];
    if (!column) {
      if (raw.trim() === '') continue;
      throw new RowError('too_many_columns', `the row has more than ${columns.length} columns`, null);
    }
    if (column.use === null) continue;
    const text = unguardCell(raw).trim();
    if (text === '') continue;
    if (text.includes(UNSTORABLE)) {
      throw new RowError('invalid_character', `${column.name} contains a NUL character`, column.name);
    }
    if ('field' in column.use) cells[column.use.field] = { text, column: column.name };
    else {
      data ??= Object.create(null) as Record<string, unknown>;
      data[column.use.data] = readDataCell(text, column.use.typed ?? false);
    }
  }
  return { cells, data };
}

function oneLine(cell: Cells[ColumnField], max: number): string | null {
  if (!cell) return null;
  const { text, column } = cell;
  if (text.length > max) throw new RowError('too_long', `${column} is longer than ${max} characters`, column);
  if (CONTROL.test(text)) {
    throw new RowError('invalid_character', `${column} contains a line break or control character`, column);
  }
  return text;
}

function readCountry(cell: Cells[ColumnField]): string | null {
  if (!cell) return null;
  if (/^[A-Za-z]{2}$/.test(cell.text)) return cell.text.toUpperCase();
  const message = `${cell.column} must be a two-letter country code (ISO 3166-1)`;
  throw new RowError('invalid_country_code', message, cell.column);
}

function readEmail(cell: Cells[ColumnField]): ImportRow['email'] {
  if (!cell) return null;
  const email = parseEmailAddress(cell.text);
  if ('error' in email) throw new RowError('invalid_email', `${cell.column} ${email.error}`, cell.column);
  return { address: email.address, key: email.key };
}

/** @param country country of numbers without a country code */
function readPhone(cell: Cells[ColumnField], country: string | null): string | null {
  if (!cell) return null;
  const { text, column } = cell;
  const e164 = /^\+\d+$/.test(text)
    ? text
    : parsePhoneNumberFromString(text.slice(0, 60), (country ?? undefined) as CountryCode | undefined)
        ?.number;
  const phone = parseE164(e164 ?? text);
  if (!('error' in phone)) return phone.e164;
  const hint = country === null && !text.startsWith('+') ? ', or the row must have a country code' : '';
  throw new RowError('invalid_phone', `${column} ${phone.error}${hint}`, column);
}

function readSubscribed(cell: Cells[ColumnField]): boolean | null {
  if (!cell) return null;
  const value = words.get(cell.text.toLowerCase().replace(/[\s_-]/g, ''));
  if (value !== undefined) return value;
  throw new RowError('invalid_subscribed', `${cell.column} must be true or false`, cell.column);
}

function readReason(cell: Cells[ColumnField]): SuppressionReason {
  if (!cell) return 'manual';
  const text = cell.text.toLowerCase().replace(/[\s-]/g, '_');
  const reason = suppressionReasons.find((known) => known === text);
  if (reason) return reason;
  const message = `${cell.column} must be one of ${suppressionReasons.join(', ')}`;
  throw new RowError('invalid_reason', message.slice(0, MAX_DIAGNOSTIC), cell.column);
}

const time = z.iso.datetime({ offset: true });

/** Reads whether a suppression is active, and when it ends. */
function readEnd({ active, expires_at: end }: Cells): Pick<ImportRow, 'active' | 'expiresAt'> {
  const isActive = active === undefined || words.get(active.text.toLowerCase());
  if (isActive === undefined) {
    throw new RowError('invalid_active', `${active?.column} must be true or false`, active?.column ?? null);
  }
  if (!end) return { active: isActive, expiresAt: null };
  if (!time.safeParse(end.text).success) {
    const message = `${end.column} must be a time such as 2026-01-31T12:00:00Z`;
    throw new RowError('invalid_time', message, end.column);
  }
  const at = new Date(end.text);
  return { active: isActive && at.getTime() > Date.now(), expiresAt: at.toISOString() };
}

function check(record: CsvRecord, columns: readonly Column[]): ImportRow {
  if (record.problem) throw new RowError(record.problem, recordProblems[record.problem], null);
  const { cells, data } = spread(record, columns);
  const email = readEmail(cells.email);
  const countryCode = readCountry(cells.country_code);
  const phone = readPhone(cells.phone, countryCode);
  if (!email && !phone) {
    throw new RowError('no_address', 'the row has neither an email address nor a phone number', null);
  }
  if (data && Buffer.byteLength(JSON.stringify(data)) > MAX_DATA_BYTES) {
    throw new RowError(
      'data_too_large',
      `the other columns have more than ${MAX_DATA_BYTES / 1024} KB`,
      null,
    );
  }
  const subscribed = readSubscribed(cells.subscribed);
  return {
    number: record.row,
    next: record.next,
    fields: record.fields,
    email,
    phone,
    firstName: oneLine(cells.first_name, MAX_NAME),
    lastName: oneLine(cells.last_name, MAX_NAME),
    countryCode,
    source: oneLine(cells.source, MAX_SOURCE),
    subscribed: {
      email: readSubscribed(cells.subscribed_email) ?? subscribed,
      phone: readSubscribed(cells.subscribed_phone) ?? subscribed,
    },
    reason: readReason(cells.reason),
    data,
    ...readEnd(cells),
  };
}

/** @returns null if the value is invalid */
function tolerant<Read>(read: () => Read): Read | null {
  try {
    return read();
  } catch (error) {
    if (error instanceof RowError) return null;
    throw error;
  }
}

/**
 * Returns the cells of the row, whatever else is wrong with it. If the line could not be parsed, looks for addresses
 * among its words.
 */
function addressCells({ problem, fields }: CsvRecord, columns: readonly Column[]): Cells {
  const cells: Cells = {};
  if (problem && problem !== 'invalid_encoding') {
    const parts = (fields[0] ?? '').split(/[\s,;|"]+/).map((part) => unguardCell(part));
    const email = parts.find((part) => 'address' in parseEmailAddress(part));
    const phone = parts.find((part) => /^\+\d+$/.test(part));
    if (email !== undefined) cells.email = { text: email, column: '' };
    if (phone !== undefined) cells.phone = { text: phone, column: '' };
    return cells;
  }
  for (const [index, { name: column, use }] of columns.entries()) {
    if (!use || !('field' in use)) continue;
    const text = unguardCell(fields[index] ?? '')
      .replaceAll(UNSTORABLE, '')
      .trim();
    if (text !== '') cells[use.field] = { text, column };
  }
  return cells;
}

/** Returns the row as a failed one, with its addresses, so that it is deleted with the contact that has them. */
function failRow(record: CsvRecord, columns: readonly Column[], problem: RowProblem): FailedRow {
  const { row: number, next, fields } = record;
  const cells = addressCells(record, columns);
  const country = tolerant(() => readCountry(cells.country_code));
  const email = tolerant(() => readEmail(cells.email));
  const phone = tolerant(() => readPhone(cells.phone, country));
  return { number, next, fields, email, phone, problem };
}

/** Checks a record of the file. */
export function readRow(record: CsvRecord, columns: readonly Column[]): ImportRow | FailedRow {
  try {
    return check(record, columns);
  } catch (error) {
    if (!(error instanceof RowError)) throw error;
    return failRow(record, columns, error.problem);
  }
}
