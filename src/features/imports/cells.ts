/**
 * Reads the cells of a row. A cell that cannot be read throws a {@link CellError}; `rows.ts` decides whether the row is
 * imported without it.
 */
import { readCountry } from '../../delivery/terms/addresses/countries.ts';
import { parseEmailAddress } from '../../delivery/terms/addresses/email.ts';
import { parseE164, parsePhone, readPhone } from '../../delivery/terms/addresses/phone.ts';
import { readTextCell } from '../../platform/csv/typed-cell.ts';
import type { BulkContact } from '../contacts/service.ts';
import type { ColumnField } from './schema.ts';

/** Why a row, or a cell of it, cannot be imported. */
export interface RowProblem {
  code: string;
  message: string;
  /** The name of the column at fault, if it is a single one. */
  column: string | null;
}

export class CellError extends Error {
  readonly problem: RowProblem;
  constructor(code: string, message: string, column: string | null) {
    super(message);
    this.problem = { code, message, column };
  }
}

/** A cell that could not be read, and without which its row was imported. */
export interface CellWarning extends RowProblem {
  column: string;
}

/** A cell that is not empty. */
export interface Cell {
  text: string;
  /** The name of its column. */
  column: string;
  /** Whether it has characters that are not in the encoding of the file. */
  isGarbled?: boolean;
  /** Whether an export wrote it, so that it has what a contact has, however odd. */
  isExported?: boolean;
}
export type Cells = Partial<Record<ColumnField, Cell>>;

/** Reads a cell without which its row may be imported. @returns null if it cannot be read, which is added to the warnings */
export function optional<Read>(warnings: CellWarning[], read: () => Read): Read | null {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof CellError)) throw error;
    const { column } = error.problem;
    if (column === null) throw error;
    warnings.push({ ...error.problem, column });
    return null;
  }
}

/** NUL cannot be stored, and names must not contain other control characters. `data` may contain line breaks. */
const UNSTORABLE = '\0';
const CONTROL = /[\x00-\x1f\x7f-\x9f\u2028\u2029]/;

/** @returns why the characters of the cell cannot be stored; null if they can be */
export function unreadable({ text, column, isGarbled }: Cell): (RowProblem & { column: string }) | null {
  if (isGarbled) {
    const message = `${column} has characters that are not in the encoding of the file`;
    return { code: 'invalid_encoding', message, column };
  }
  if (!text.includes(UNSTORABLE)) return null;
  return { code: 'invalid_character', message: `${column} contains a NUL character`, column };
}

/** @throws CellError if the characters of the cell cannot be stored */
export function requireReadable(cell: Cell): void {
  const problem = unreadable(cell);
  if (problem) throw new CellError(problem.code, problem.message, problem.column);
}

/**
 * What databases, spreadsheets and people write where there is no value: `\N` of MySQL and PostgreSQL, `#N/A` of
 * spreadsheets, `NaN` of Python, `undefined` of JavaScript, `k. A.` ("keine Angabe") of German forms.
 */
const NOTHING =
  /^(?:#?n\/?[ad]!?|n\.\s?a\.?|\\n|[([<]?(?:null|none|nil|nan|empty|blank|unknown|undefined|not (?:available|applicable|provided|set|specified))[)\]>]?|k\.\s?a\.?|[-–—_.?*/]+|0|'+)$/i;
/** Of these, what cannot be a name of a person: there are people named Null, None and Na. */
const NO_NAME =
  /^(?:#?n\/a|#n\/a!?|\\n|[([<](?:null|none|nil|nan|empty|blank|unknown|undefined)[)\]>]|[-–—_.?*/]+)$/i;

function requireValue({ text, column }: Cell, nothing: RegExp): void {
  if (nothing.test(text))
    throw new CellError('no_value', `${column} has no value: ${text.slice(0, 20)}`, column);
}

/** Reads a name or the like. */
export function readLine(cell: Cell | undefined, max: number): string | null {
  if (!cell) return null;
  const { column, isExported = false } = cell;
  const text = isExported ? readTextCell(cell.text) : cell.text;
  requireReadable(cell);
  if (text.length > max)
    throw new CellError('too_long', `${column} is longer than ${max} characters`, column);
  if (CONTROL.test(text)) {
    throw new CellError('invalid_character', `${column} contains a line break or control character`, column);
  }
  if (!isExported) requireValue(cell, NO_NAME);
  return text;
}

/** @returns the code in ISO 3166-1 */
export function readCountryCell(cell: Cell | undefined): string | null {
  if (!cell) return null;
  requireReadable(cell);
  // The API takes codes that are in no list.
  if (cell.isExported && /^[A-Z]{2}$/.test(cell.text)) return cell.text;
  const code = readCountry(cell.text);
  if (code !== null) return code;
  requireValue(cell, NOTHING);
  const message = `${cell.column} must be a country: its code (ISO 3166-1) or its name`;
  throw new CellError('invalid_country_code', message, cell.column);
}

export function readEmailCell(cell: Cell | undefined): BulkContact['email'] {
  if (!cell) return null;
  requireReadable(cell);
  const email = parseEmailAddress(cell.text);
  if (!('error' in email)) return { address: email.address, key: email.key };
  requireValue(cell, NOTHING);
  throw new CellError('invalid_email', `${cell.column} ${email.error}`, cell.column);
}

/**
 * Columns whose numbers begin with the code of a country, but without `+`: those of Brevo
 * (https://help.brevo.com/hc/en-us/articles/207899619), and those named after the international number of a mobile
 * subscriber (ITU-T E.164).
 */
const INTERNATIONAL = /^(?:sms|whatsapp|msisdn)$/i;

/** The number as spreadsheets and programs have changed it: `'+33612345678`, `tel:+33612345678`, `33612345678.0`. */
const plainNumber = (text: string): string =>
  text.replace(/^(?:'+|tel:)(?=[+\d])/i, '').replace(/^(\d+)\.0+$/, '$1');

/**
 * Reads a phone number in E.164 form, or as people write it.
 * @param country country of numbers without a country code
 */
export function readPhoneCell(cell: Cell | undefined, country: string | null): string | null {
  if (!cell) return null;
  requireReadable(cell);
  const { text, column } = cell;
  const quick = parseE164(text);
  if ('e164' in quick) return quick.e164;
  const number = plainNumber(text);
  const read = readPhone(number, country);
  if ('e164' in read) return read.e164;
  const international =
    /^00[\s()./-]*([1-9].*)$/.exec(number)?.[1] ?? (INTERNATIONAL.test(column) ? number : null);
  const other = international === null ? read : readPhone(`+${international}`, null);
  if ('e164' in other) return other.e164;
  requireValue(cell, NOTHING);
  const hint =
    country === null && !text.startsWith('+')
      ? ', or the row or options.country_code must name its country'
      : '';
  const reason = /^\+\d+$/.test(text) ? parsePhone(text) : null;
  const fault =
    reason && 'error' in reason ? reason.error : 'must be a phone number in E.164 form, such as +14155550123';
  throw new CellError('invalid_phone', `${column} ${fault}${hint}`, column);
}
