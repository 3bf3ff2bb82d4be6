import { unguardCell } from '../../platform/csv/guard.ts';
import { columnFields, type ColumnField, type ImportKind } from './schema.ts';

/**
 * The use of one column of a file. `typed`: an export wrote the column, so that numbers and booleans are read as such.
 */
export type ColumnUse = { field: ColumnField } | { data: string; typed?: true } | null;

export interface Column {
  /** The name in the file, at most 200 characters; `column 3` if it has none. */
  name: string;
  use: ColumnUse;
}

/** Column names of other services and spreadsheets, reduced to letters and digits. */
const spellings: Record<ColumnField, readonly string[]> = {
  email: [
    'email',
    'emailaddress',
    'mail',
    'emailid',
    'primaryemail',
    'contactemail',
    'subscriberemail',
    'emailadresse',
  ],
  phone: [
    'phone',
    'phonenumber',
    'mobile',
    'mobilephone',
    'mobilenumber',
    'cell',
    'cellphone',
    'cellnumber',
    'telephone',
    'tel',
    'sms',
    'smsnumber',
    'smsphonenumber',
    'telefon',
    'msisdn',
  ],
  first_name: ['firstname', 'givenname', 'forename', 'fname', 'vorname', 'first'],
  last_name: ['lastname', 'surname', 'familyname', 'lname', 'nachname', 'last'],
  country_code: ['countrycode', 'country', 'countryiso', 'isocountry', 'land'],
  source: ['source', 'signupsource', 'optinsource'],
  subscribed: ['subscribed', 'issubscribed', 'optin', 'optedin', 'subscriptionstatus'],
  subscribed_email: ['subscribedemail', 'emailsubscribed', 'emailoptin'],
  subscribed_phone: ['subscribedphone', 'phonesubscribed', 'subscribedsms', 'smssubscribed', 'smsoptin'],
  reason: ['reason', 'suppressionreason', 'type'],
  active: ['active'],
  expires_at: ['expiresat'],
};

/** The fields that the rows of each resource can have. */
const fieldsOf: Record<ImportKind, readonly ColumnField[]> = {
  contacts: columnFields.filter((field) => !['reason', 'active', 'expires_at'].includes(field)),
  suppressions: ['email', 'phone', 'country_code', 'reason', 'active', 'expires_at'],
};

/** The column of reasons in the file of failed rows. */
export const ERROR_COLUMN = 'error';
/** Columns of our own export of contacts that an import cannot set. Otherwise they would become data of contacts. */
const EXPORTED_ONLY = ['id', 'uuid', 'list_ids', 'created_at', 'other_data'];
/** A file whose header has all of these is an export. */
const EXPORT_MARKS = ['uuid', 'subscribed_email', 'subscribed_phone', 'list_ids'];
/** Maximum number of characters of a name: each failed row keeps it. Longer names are cut. */
const MAX_NAME = 200;

/** Returns the name of a column, without characters that the database cannot store. */
function nameOf(cell: string, index: number): string {
  const text = unguardCell(cell).replaceAll('\0', '').trim();
  // A cut may leave half of a surrogate pair.
  const name = text
    .slice(0, MAX_NAME)
    .replace(/[\ud800-\udbff]$/, '')
    .toWellFormed()
    .trim();
  return name || `column ${index + 1}`;
}

const simplified = (name: string): string => name.toLowerCase().replace(/[^\p{L}\p{N}]/gu, '');

function recognize(name: string, kind: ImportKind): ColumnField | null {
  const text = simplified(name);
  return fieldsOf[kind].find((field) => spellings[field].includes(text)) ?? null;
}

/** Gives columns their keys in `data`: `data.plan` and `plan` both get `plan`. A key that is taken gets a number. */
function createDataKeys(): (name: string) => string {
  const taken = new Set<string>();
  /** The next number to try for a key, so that many columns with the same name take linear time. */
  const nextNumbers = new Map<string, number>();
  return (name) => {
    const base = name.replace(/^data\./i, '');
    let key = base;
    let number = nextNumbers.get(base) ?? 2;
    for (; taken.has(key); number += 1) key = `${base}_${number}`;
    nextNumbers.set(base, number);
    taken.add(key);
    return key;
  };
}

/**
 * Decides the use of each column. The first column that matches a field becomes the field. A second one, such as
 * `Mobile` after `Phone`, goes to `data`, so that nothing is lost and nothing is guessed.
 * @param header the first record of the file
 * @param mapping the client's choice by column name, which overrides what is recognized
 */
export function readColumns(
  header: readonly string[],
  kind: ImportKind,
  mapping: Readonly<Record<string, string | null>>,
): Column[] {
  const names = header.map(nameOf);
  const mapped = new Map(Object.entries(mapping).map(([name, to]) => [name.trim().toLowerCase(), to]));
  const isExport = EXPORT_MARKS.every((mark) => names.includes(mark));
  const ignored = new Set(isExport ? EXPORTED_ONLY : []);
  const taken = new Set<string>();
  const dataKey = createDataKeys();
  const claim = (field: string): ColumnUse => {
    if (taken.has(field)) return null;
    taken.add(field);
    return { field: field as ColumnField };
  };
  const dataColumn = (key: string): ColumnUse => ({
    data: dataKey(key),
    ...(isExport ? { typed: true } : {}),
  });
  const uses = names.map((name): ColumnUse | undefined => {
    const to = mapped.get(name.toLowerCase());
    if (to === undefined) return undefined;
    if (to === null) return null;
    return to.startsWith('data.') ? dataColumn(to) : claim(to);
  });
  return names.map((name, index) => {
    const given = uses[index];
    if (given !== undefined) return { name, use: given };
    if (simplified(name) === ERROR_COLUMN || ignored.has(name)) return { name, use: null };
    const field = recognize(name, kind);
    const use = (field && claim(field)) ?? (kind === 'contacts' ? dataColumn(name) : null);
    return { name, use };
  });
}

/** Whether the file has a column of addresses. */
export function hasAddressColumn(columns: readonly Column[]): boolean {
  return columns.some(({ use }) => use && 'field' in use && (use.field === 'email' || use.field === 'phone'));
}
