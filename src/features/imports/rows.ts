import { parseEmailAddress } from '../../delivery/terms/addresses/email.ts';
import type { SuppressionReason } from '../../delivery/ledger/consent/suppressions.ts';
import { unguardCell } from '../../platform/csv/guard.ts';
import type { CsvPosition, CsvRecord, RecordProblem } from '../../platform/csv/scanner.ts';
import { MAX_DATA_BYTES } from '../contacts/schema.ts';
import type { BulkContact } from '../contacts/service.ts';
import {
  type Cell,
  CellError,
  type Cells,
  type CellWarning,
  optional,
  readCountryCell,
  readEmailCell,
  readLine,
  readPhoneCell,
  requireReadable,
  type RowProblem,
  unreadable,
} from './cells.ts';
import { type Column, type ColumnUse, ofThisVersion } from './columns.ts';
import {
  type ConsentCell,
  readConsent,
  type RowConsent,
  silent,
  subscribes,
} from './consent/read-consent.ts';
import { readConsentCell } from './consent/read-word.ts';
import type { ConsentState } from './consent/words.ts';
import { readDataCell } from './data-cell.ts';
import type { ImportRecord, Layout } from './model.ts';
import type { ImportKind } from './schema.ts';
import { noSuppression, readSuppression, type RowSuppression } from './suppressions/read-suppression.ts';

/** How the rows of a file are read. */
export interface RowReading {
  kind: ImportKind;
  columns: readonly Column[];
  /** The country of phone numbers without a country code in rows that name none. */
  country: string | null;
  /** Why the addresses of a file of suppressions are suppressed whose rows do not say it; null: unknown. */
  reason: SuppressionReason | null;
  /** What all people of a file of contacts are; null: the columns say it. */
  whole: ConsentState | null;
  /** Of times that name none: an IANA name. Null: UTC, and date-times in `data` stay as they are. */
  timezone: string | null;
}

/** Returns how the rows of an import are read. @param layout also one of an earlier version */
export const readingOf = (
  { resource, options }: Pick<ImportRecord, 'resource' | 'options'>,
  layout: Layout,
): RowReading => ({
  kind: resource,
  columns: ofThisVersion(layout.columns),
  country: options.country_code ?? null,
  reason: layout.reason ?? null,
  whole: layout.status ?? null,
  timezone: layout.timezone ?? null,
});

/** A checked row of the file. */
export interface ImportRow extends BulkContact, RowSuppression {
  /** Counted as in a spreadsheet. */
  number: number;
  /** Where the next row begins. */
  next: CsvPosition;
  /** The values as in the file. */
  fields: string[];
  /** What the row says about subscriptions. */
  consent: RowConsent;
  /** The cells that were left out, in the order in which they were read. */
  warnings: readonly CellWarning[];
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

const MAX_NAME = 255;
const MAX_SOURCE = 100;

interface Spread {
  cells: Cells;
  consent: ConsentCell[];
  data: BulkContact['data'];
}

/** Adds the keys of an export's column of other data, but not those that have a column of their own. */
function addOthers(data: Record<string, unknown>, { text, column }: Cell, warnings: CellWarning[]): void {
  const others = readDataCell(text, true);
  if (typeof others !== 'object' || others === null || Array.isArray(others)) {
    const message = `${column} must be a JSON object, as in an export`;
    warnings.push({ code: 'invalid_json', message, column });
    return;
  }
  for (const [key, value] of Object.entries(others)) if (!Object.hasOwn(data, key)) data[key] = value;
}

function addData(
  data: Record<string, unknown>,
  use: Exclude<ColumnUse, { field: unknown } | null>,
  cell: Cell,
  timezone: string | null,
  warnings: CellWarning[],
): void {
  if ('others' in use) addOthers(data, cell, warnings);
  else if (use.data !== undefined) data[use.data] = readDataCell(cell.text, 'typed' in use, timezone);
}

function spread(
  record: CsvRecord,
  { columns, timezone }: Pick<RowReading, 'columns' | 'timezone'>,
  warnings: CellWarning[],
): Spread {
  const cells: Cells = {};
  const consent: ConsentCell[] = [];
  const { fields, garbled } = record;
  let data: BulkContact['data'] = null;
  // Every cell of a file passes here.
  for (let index = 0; index < fields.length; index += 1) {
    const raw = fields[index] as string;
    const column = columns[index];
    if (!column) {
      if (raw.trim() === '') continue;
      throw new CellError('too_many_columns', `the row has more than ${columns.length} columns`, null);
    }
    const { name, use } = column;
    if (use === null) continue;
    const text = unguardCell(raw).trim();
    if (text === '') continue;
    const isGarbled = garbled !== undefined && garbled.includes(index);
    if ('field' in use) {
      cells[use.field] = { text, column: name, isGarbled, isExported: use.typed === true };
      continue;
    }
    const cell: Cell = { text, column: name, isGarbled };
    if ('consent' in use) {
      // Never left out: a person who said no would get mail.
      requireReadable(cell);
      consent.push({ use: use.consent, text, column: name });
      if (use.data === undefined) continue;
    }
    const problem = unreadable(cell);
    if (problem) {
      warnings.push(problem);
      continue;
    }
    data ??= Object.create(null) as Record<string, unknown>;
    addData(data, use, cell, timezone, warnings);
  }
  return { cells, consent, data };
}

function consentOf(
  cells: readonly ConsentCell[],
  { whole, timezone }: Pick<RowReading, 'whole' | 'timezone'>,
): RowConsent {
  const read = readConsent(cells, whole, timezone);
  if (!('unknown' in read)) return read;
  const { column, text } = read.unknown;
  const message = `${column} must say whether the person is subscribed, in words such as yes and no, not "${text.slice(0, 100)}"`;
  throw new CellError('invalid_subscribed', message, column);
}

/**
 * Reads the addresses of a row. An address that cannot be read is left out if the row has another one.
 * @throws CellError if it has none
 */
function readAddresses(
  cells: Cells,
  country: string | null,
  warnings: CellWarning[],
): Pick<ImportRow, 'email' | 'phone'> {
  const faults: CellWarning[] = [];
  const email = optional(faults, () => readEmailCell(cells.email));
  const phone = optional(faults, () => readPhoneCell(cells.phone, country));
  if (email || phone !== null) {
    warnings.push(...faults);
    return { email, phone };
  }
  const [fault] = faults;
  if (fault) throw new CellError(fault.code, fault.message, fault.column);
  throw new CellError('no_address', 'the row has neither an email address nor a phone number', null);
}

function check(record: CsvRecord, reading: RowReading): ImportRow {
  const { kind, country } = reading;
  const { problem } = record;
  if (problem && problem !== 'invalid_encoding') throw new CellError(problem, recordProblems[problem], null);
  const warnings: CellWarning[] = [];
  const { cells, consent: said, data } = spread(record, reading, warnings);
  const countryCode = optional(warnings, () => readCountryCell(cells.country_code));
  const { email, phone } = readAddresses(cells, countryCode ?? country, warnings);
  if (data && Buffer.byteLength(JSON.stringify(data)) > MAX_DATA_BYTES) {
    throw new CellError(
      'data_too_large',
      `the other columns have more than ${MAX_DATA_BYTES / 1024} KB`,
      null,
    );
  }
  const consent = consentOf(said, reading);
  const suppression = kind === 'suppressions' ? readSuppression(cells, reading, warnings) : noSuppression;
  const { reason, diagnostic, active, expiresAt } = suppression;
  return {
    number: record.row,
    next: record.next,
    fields: record.fields,
    email,
    phone,
    firstName: optional(warnings, () => readLine(cells.first_name, MAX_NAME)),
    lastName: optional(warnings, () => readLine(cells.last_name, MAX_NAME)),
    countryCode,
    source: optional(warnings, () => readLine(cells.source, MAX_SOURCE)),
    consent,
    subscribed: { email: subscribes(consent.email), phone: subscribes(consent.phone) },
    optedInAt: { email: consent.email.optedInAt, phone: consent.phone.optedInAt },
    data,
    reason,
    diagnostic,
    active,
    expiresAt,
    warnings,
  };
}

/** @returns null if the value is invalid */
function tolerant<Read>(read: () => Read): Read | null {
  try {
    return read();
  } catch (error) {
    if (error instanceof CellError) return null;
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
      .replaceAll('\0', '')
      .trim();
    if (text !== '') cells[use.field] = { text, column };
  }
  return cells;
}

function consentCells({ problem, fields }: CsvRecord, columns: readonly Column[]): ConsentCell[] {
  if (problem && problem !== 'invalid_encoding') return [];
  return columns.flatMap(({ name: column, use }, index) => {
    const text = unguardCell(fields[index] ?? '').trim();
    return text !== '' && use && 'consent' in use ? [{ use: use.consent, text, column }] : [];
  });
}

/** Returns the row as a failed one, with its addresses, so that it is deleted with the contact that has them. */
function failRow(record: CsvRecord, reading: RowReading, problem: RowProblem): FailedRow {
  const { columns, country, whole, timezone } = reading;
  const { row: number, next, fields } = record;
  const cells = addressCells(record, columns);
  const ownCountry = tolerant(() => readCountryCell(cells.country_code));
  const email = tolerant(() => readEmailCell(cells.email));
  const phone = tolerant(() => readPhoneCell(cells.phone, ownCountry ?? country));
  // A no counts even if the row fails, also if another cell about subscriptions is not understood.
  const understood = consentCells(record, columns).filter(({ use, text }) => readConsentCell(use, text));
  const consent = readConsent(understood, whole, timezone);
  return { number, next, fields, email, phone, consent: 'unknown' in consent ? silent : consent, problem };
}

/** Checks a record of the file. */
export function readRow(record: CsvRecord, reading: RowReading): ImportRow | FailedRow {
  try {
    return check(record, reading);
  } catch (error) {
    if (!(error instanceof CellError)) throw error;
    return failRow(record, reading, error.problem);
  }
}
