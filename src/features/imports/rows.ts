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
import {
  type ConsentCell,
  readConsent,
  type RowConsent,
  silent,
  subscribes,
} from './consent/read-consent.ts';
import type { ConsentState } from './consent/words.ts';
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
  /** What the row says about subscriptions. */
  consent: RowConsent;
  reason: SuppressionReason;
  /** Of a suppression: false if it has ended. */
  active: boolean;
  /** Of a suppression: when it ends, in ISO 8601; null if it is permanent. */
  expiresAt: string | null;
}

/** A row that cannot be imported: its readable parts and its problem. */
export interface FailedRow extends Pick<ImportRow, 'number' | 'next' | 'fields' | 'consent'> {
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

/** Words for an active suppression, and for one that has ended. */
const yes = ['true', 'yes', 'y', '1', 'on', 'active'];
const no = ['false', 'no', 'n', '0', 'off', 'inactive'];
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

interface Spread {
  cells: Cells;
  consent: ConsentCell[];
  data: ImportRow['data'];
}

function spread(record: CsvRecord, columns: readonly Column[]): Spread {
  const cells: Cells = {};
  const consent: ConsentCell[] = [];
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
    const { use } = column;
    if ('consent' in use) consent.push({ use: use.consent, text, column: column.name });
    if ('field' in use) cells[use.field] = { text, column: column.name };
    else if (use.data !== undefined) {
      data ??= Object.create(null) as Record<string, unknown>;
      data[use.data] = readDataCell(text, 'typed' in use, use.timezone);
    }
  }
  return { cells, consent, data };
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

function consentOf(cells: readonly ConsentCell[], whole: ConsentState | null): RowConsent {
  const read = readConsent(cells, whole);
  if (!('unknown' in read)) return read;
  const { column, text } = read.unknown;
  const message = `${column} must say whether the person is subscribed, in words such as yes and no, not "${text.slice(0, 100)}"`;
  throw new RowError('invalid_subscribed', message, column);
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

function check(record: CsvRecord, columns: readonly Column[], whole: ConsentState | null): ImportRow {
  if (record.problem) throw new RowError(record.problem, recordProblems[record.problem], null);
  const { cells, consent: consentCells, data } = spread(record, columns);
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
  const consent = consentOf(consentCells, whole);
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
    consent,
    subscribed: { email: subscribes(consent.email), phone: subscribes(consent.phone) },
    optedInAt: { email: consent.email.optedInAt, phone: consent.phone.optedInAt },
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

function consentCells({ fields }: CsvRecord, columns: readonly Column[]): ConsentCell[] {
  return columns.flatMap(({ name: column, use }, index) => {
    const text = unguardCell(fields[index] ?? '').trim();
    return text !== '' && use && 'consent' in use ? [{ use: use.consent, text, column }] : [];
  });
}

/** Returns the row as a failed one, with its addresses, so that it is deleted with the contact that has them. */
function failRow(
  record: CsvRecord,
  columns: readonly Column[],
  whole: ConsentState | null,
  problem: RowProblem,
): FailedRow {
  const { row: number, next, fields } = record;
  const cells = addressCells(record, columns);
  const country = tolerant(() => readCountry(cells.country_code));
  const email = tolerant(() => readEmail(cells.email));
  const phone = tolerant(() => readPhone(cells.phone, country));
  // A no counts even if the row fails.
  const consent = tolerant(() => consentOf(record.problem ? [] : consentCells(record, columns), whole));
  return { number, next, fields, email, phone, consent: consent ?? silent, problem };
}

/**
 * Checks a record of the file.
 * @param whole what all people of the file are; null: the columns say it
 */
export function readRow(
  record: CsvRecord,
  columns: readonly Column[],
  whole: ConsentState | null = null,
): ImportRow | FailedRow {
  try {
    return check(record, columns, whole);
  } catch (error) {
    if (!(error instanceof RowError)) throw error;
    return failRow(record, columns, whole, error.problem);
  }
}
