import { textCell, typedCell } from '../../platform/csv/typed-cell.ts';
import type { Contact, ContactChannel } from '../contacts/schema.ts';
import type { Cells } from './sources.ts';

/** The names are those that an import recognizes. */
const COLUMNS = [
  'id',
  'uuid',
  'email',
  'phone',
  'first_name',
  'last_name',
  'country_code',
  'source',
  'subscribed_email',
  'subscribed_phone',
  'list_ids',
  'created_at',
] as const;

/**
 * The column of all other keys of `data`, as one JSON object. It is always there, because contacts may get new keys
 * while the export is written.
 */
const OTHER_DATA = 'other_data';
/** Maximum number of keys of `data` that get a column. The others share one. */
export const MAX_DATA_COLUMNS = 50;

/**
 * Longer keys get no column, because an import cuts the names of columns after 200 characters, `data.` included. This
 * also limits the memory for counting keys.
 */
export const MAX_COLUMN_KEY_BYTES = 195;

const ownCell = (value: unknown): string | null =>
  typeof value === 'string' ? textCell(value) : typedCell(value);

/** Whether an import would read the key back from the name of its column. */
export function canBeColumn(key: string): boolean {
  return key !== '' && key === key.trim() && Buffer.byteLength(key) <= MAX_COLUMN_KEY_BYTES;
}

/** @param dataColumns keys of `data` that have a column of their own */
export function contactHeader(dataColumns: readonly string[]): string[] {
  return [...COLUMNS, ...dataColumns.map((key) => `data.${key}`), OTHER_DATA];
}

function channelOf(contact: Contact, kind: ContactChannel['kind']): ContactChannel | undefined {
  return contact.channels.find((channel) => channel.kind === kind);
}

function otherData(data: Contact['data'], dataColumns: readonly string[]): Record<string, unknown> | null {
  const shown = new Set(dataColumns);
  const others = Object.entries(data).filter(([key]) => !shown.has(key));
  return others.length === 0 ? null : Object.fromEntries(others);
}

export function contactCells(contact: Contact, dataColumns: readonly string[]): Cells {
  const email = channelOf(contact, 'email');
  const phone = channelOf(contact, 'phone');
  const own: Record<(typeof COLUMNS)[number], unknown> = {
    id: contact.id,
    uuid: contact.uuid,
    email: email?.value,
    phone: phone?.value,
    first_name: contact.first_name,
    last_name: contact.last_name,
    country_code: contact.country_code,
    source: contact.source,
    subscribed_email: email?.subscribed,
    subscribed_phone: phone?.subscribed,
    list_ids: contact.list_ids.join(' '),
    created_at: contact.created_at,
  };
  const data = dataColumns.map((key) => (Object.hasOwn(contact.data, key) ? contact.data[key] : null));
  const others = otherData(contact.data, dataColumns);
  return [...COLUMNS.map((name) => ownCell(own[name])), ...data.map(typedCell), typedCell(others)];
}
