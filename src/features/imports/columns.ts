import { unguardCell } from '../../platform/csv/guard.ts';
import { consentHeading } from './consent/headings.ts';
import type { ConsentKind } from './consent/known-headings.ts';
import type { ConsentUse } from './consent/read-word.ts';
import { type ConsentState, simplified } from './consent/words.ts';
import { columnFields, consentFields, type ColumnField, type ImportKind, type MappedTo } from './schema.ts';
import { suppressionFields } from './suppressions/reason.ts';

/**
 * The use of one column of a file. `typed`: an export wrote the column, so that numbers, booleans and texts in quotation
 * marks are read as such. `others`: the column of an export that has further keys of `data`.
 * A column about subscriptions can become data, too, so that its dates and reasons are not lost.
 */
export type ColumnUse =
  | { field: ColumnField; typed?: true }
  | { data: string; typed?: true }
  | { others: true }
  | { consent: ConsentUse; data?: string }
  | null;

export interface Column {
  /** The name in the file, at most 200 characters; `column 3` if it has none. */
  name: string;
  use: ColumnUse;
  /** Why the column is ignored, or is data although its heading seems to be about subscriptions. */
  because?: string;
  /** Whether some of its words nevertheless say that people must not get mail. */
  saysNo?: true;
  /** What the words of a column about subscriptions mean, a few of them. */
  words?: Record<string, ConsentState | null> | undefined;
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
    // Wix, Google, Outlook, HubSpot
    ...[
      'email1',
      'email1value',
      'emailaddress1',
      'primaryemailaddress',
      'workemail',
      'customeremail',
      'useremail',
    ],
    // Pipedrive
    ...['personemail', 'personemailwork', 'personemailhome', 'personemailother'],
    ...['mailadresse', 'adresseemail', 'courriel', 'correoelectronico', 'correo', 'indirizzoemail', 'eposta'],
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
    // Pipedrive, Google
    ...['personphone', 'personphonework', 'personphonemobile', 'personphonehome'],
    ...[
      'phone1',
      'phone1value',
      'primaryphone',
      'mobilephonenumber',
      'handy',
      'portable',
      'cellulare',
      'movil',
    ],
  ],
  first_name: ['firstname', 'givenname', 'forename', 'fname', 'vorname', 'first'],
  last_name: ['lastname', 'surname', 'familyname', 'lname', 'nachname', 'last'],
  country_code: [
    ...[
      'countrycode',
      'country',
      'countryiso',
      'countryiso2',
      'isocountry',
      'isocountrycode',
      'countryname',
      'land',
    ],
    // HubSpot and Salesforce, Microsoft Dynamics, Shopify; other languages
    ...['countryregion', 'countryorregion', 'addresscountry', 'mailingcountry', 'billingcountry'],
    ...[
      'defaultaddresscountrycode',
      'landcode',
      'landeskennzeichen',
      'pays',
      'pais',
      'país',
      'paese',
      'kraj',
      'страна',
    ],
  ],
  source: ['source', 'signupsource', 'optinsource'],
  reason: ['reason', 'suppressionreason', 'type'],
  active: ['active'],
  expires_at: ['expiresat'],
  diagnostic: ['diagnostic'],
  status_code: ['statuscode'],
};

const ofSuppressions: readonly ColumnField[] = [
  'reason',
  'active',
  'expires_at',
  'diagnostic',
  'status_code',
];

/** The fields that the rows of each resource can have. */
const fieldsOf: Record<ImportKind, readonly ColumnField[]> = {
  contacts: columnFields.filter((field) => !ofSuppressions.includes(field)),
  suppressions: ['email', 'phone', 'country_code', ...ofSuppressions],
};

/** The column of reasons in the file of failed rows. */
export const ERROR_COLUMN = 'error';
/** Columns of our own export of contacts that an import cannot set. Otherwise they would become data of contacts. */
const EXPORTED_ONLY = ['id', 'uuid', 'list_ids', 'created_at'];
/** The column of an export that has all keys of `data` without a column of their own. */
const OTHER_DATA = 'other_data';
/** MailerLite's column of addresses. In files with another one, it says who is subscribed. */
const LONE_EMAIL = 'subscriber';
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

/** Columns about subscriptions whose dates and reasons are kept as data, too. */
const KEPT: readonly ConsentKind[] = ['opted_out', 'opted_in_at', 'bounced', 'complained', 'ambiguous'];

const inverted: Partial<Record<ConsentKind, ConsentKind>> = { positive: 'inverse', inverse: 'positive' };

/** Returns how a column is read that the client maps to a subscription. */
function mappedConsent(to: Exclude<MappedTo, null>): ConsentUse | null {
  const { field, words, invert = false } = typeof to === 'string' ? { field: to } : to;
  if (!Object.hasOwn(consentFields, field)) return null;
  const { channel, kind } = consentFields[field as keyof typeof consentFields];
  const use = { channel, kind: (invert ? inverted[kind] : undefined) ?? kind };
  if (!words) return use;
  return {
    ...use,
    words: Object.fromEntries(Object.entries(words).map(([word, state]) => [simplified(word), state])),
  };
}

/** Returns the columns that are mapped to fields that rows of the resource do not have. */
export function unknownTargets(kind: ImportKind, mapping: Readonly<Record<string, MappedTo>>): string[] {
  const knows = (to: MappedTo) => {
    if (to === null) return true;
    const field = typeof to === 'string' ? to : to.field;
    if (Object.hasOwn(consentFields, field) || field.startsWith('data.')) return kind === 'contacts';
    return fieldsOf[kind].includes(field as ColumnField);
  };
  return Object.entries(mapping).flatMap(([name, to]) => (knows(to) ? [] : [name]));
}

/** Returns the names in the mapping that are not those of columns. */
export function missingColumns(
  header: readonly string[],
  mapping: Readonly<Record<string, unknown>>,
): string[] {
  const names = new Set(header.map((cell, index) => nameOf(cell, index).toLowerCase()));
  return Object.keys(mapping).filter((name) => !names.has(name.trim().toLowerCase()));
}

/** Takes each field for the first column that is it, and names that column to the others. */
function createFields(typed: boolean) {
  const taken = new Map<string, string>();
  return {
    /** @returns null if another column is the field already */
    claim(field: ColumnField, name: string): Column | null {
      if (taken.has(field)) return null;
      taken.set(field, name);
      return { name, use: { field, ...(typed ? { typed } : {}) } };
    },
    ownerOf: (field: ColumnField) => taken.get(field),
  };
}

/**
 * Decides the use of each column. The first column that matches a field becomes the field. A second one, such as
 * `Mobile` after `Phone`, goes to `data`, so that nothing is lost and nothing is guessed. All columns about
 * subscriptions count.
 * @param header the first record of the file
 * @param mapping the client's choice by column name, which overrides what is recognized
 */
export function readColumns(
  header: readonly string[],
  kind: ImportKind,
  mapping: Readonly<Record<string, MappedTo>>,
): Column[] {
  const names = header.map(nameOf);
  const mapped = new Map(Object.entries(mapping).map(([name, to]) => [name.trim().toLowerCase(), to]));
  const isExport = EXPORT_MARKS.every((mark) => names.includes(mark));
  const ignored = new Set(isExport ? EXPORTED_ONLY : []);
  const fields = createFields(isExport);
  const dataKey = createDataKeys();
  const ofSuppression = kind === 'suppressions' ? suppressionFields(names) : [];
  const dataColumn = (name: string, key: string): Column => ({
    name,
    use: { data: dataKey(key), ...(isExport ? { typed: true as const } : {}) },
  });
  const givenUse = (name: string, to: Exclude<MappedTo, null>): Column => {
    const consent = kind === 'contacts' ? mappedConsent(to) : null;
    if (consent) return { name, use: { consent } };
    const field = typeof to === 'string' ? to : to.field;
    if (field.startsWith('data.')) return dataColumn(name, field);
    if (!fieldsOf[kind].includes(field as ColumnField))
      return { name, use: null, because: `${kind} have no field ${field}` };
    const owner = fields.ownerOf(field as ColumnField);
    return (
      fields.claim(field as ColumnField, name) ?? {
        name,
        use: null,
        because: `the column ${owner} is ${field} already`,
      }
    );
  };
  const isWithoutEmail = names.every((name) => recognize(name, kind) !== 'email');
  const fieldOf = (name: string): ColumnField | null =>
    recognize(name, kind) ?? (isWithoutEmail && simplified(name) === LONE_EMAIL ? 'email' : null);
  const recognized = (name: string, index: number): Column => {
    const ofList = ofSuppression[index];
    if (simplified(name) === ERROR_COLUMN && ofList === undefined)
      return { name, use: null, because: 'reports of failed rows have it' };
    if (ignored.has(name)) return { name, use: null, because: 'an import cannot set it' };
    if (isExport && name === OTHER_DATA) return { name, use: { others: true } };
    const field = ofList === undefined ? fieldOf(name) : ofList;
    const claimed = field && fields.claim(field, name);
    if (claimed) return claimed;
    if (kind === 'suppressions') return { name, use: null, because: 'suppressions have no such field' };
    const consent = field || /^data\./i.test(name) ? null : consentHeading(name);
    if (!consent) return dataColumn(name, name);
    return { name, use: { consent, ...(KEPT.includes(consent.kind) ? { data: dataKey(name) } : {}) } };
  };
  const given = names.map((name): Column | undefined => {
    const to = mapped.get(name.toLowerCase());
    if (to === undefined) return undefined;
    return to === null ? { name, use: null, because: 'options.mapping ignores it' } : givenUse(name, to);
  });
  return names.map((name, index) => given[index] ?? recognized(name, index));
}

/** Returns the columns of a layout that an earlier version has stored. */
export function ofThisVersion(columns: readonly Column[]): readonly Column[] {
  return columns.map((column) => {
    const field = column.use && 'field' in column.use ? (column.use.field as string) : '';
    const consent = mappedConsent(field);
    return consent ? { ...column, use: { consent } } : column;
  });
}

/** Whether the file has a column of addresses. */
export function hasAddressColumn(columns: readonly Column[]): boolean {
  return columns.some(({ use }) => use && 'field' in use && (use.field === 'email' || use.field === 'phone'));
}
