/**
 * Addresses in stored filters. A row knows the hashes of the addresses that its filters name, so that they are found and
 * cleared when their contact is deleted.
 */
import { hash } from 'node:crypto';
import { readPhone } from '../../delivery/terms/addresses/phone.ts';
import { emailKeys, phoneKeys } from '../../delivery/terms/addresses/search-keys.ts';
import { clearedPage, type RemovalStep } from './removal-work.ts';

/** Bytes of a hash: enough that no two addresses of a brand have the same. */
const HASH_BYTES = 8;
/** What a filter has in place of an address whose contact was deleted. No address has this form. */
const DELETED = '(deleted)';

const hashOf = (brandId: number, key: string): Buffer =>
  hash('sha256', `${brandId} ${key}`, 'buffer').subarray(0, HASH_BYTES);

/** Filters of lists by these names, and filters of segments by `phone`, take phone numbers without a country code. */
const NAMES_OF_NUMBERS = ['phone', 'to', 'search'];

/**
 * @param isNumber whether a text without a country code may be a phone number; otherwise it may as well be the number
 *   of an order, and would mean hundreds of phone numbers
 * @returns the address in the form in which addresses are compared; several if the text is a phone number without a
 *   country code; none if it is no address
 */
function keysOf(text: string, isNumber: boolean): readonly string[] {
  const email = emailKeys(text);
  if (!('error' in email)) return email;
  if (isNumber) {
    const keys = phoneKeys(text);
    return 'error' in keys ? [] : keys;
  }
  const phone = readPhone(text, null);
  return 'error' in phone ? [] : [phone.e164];
}

/** Replaces each text of a JSON value. @param by its second argument says whether the text may be a phone number */
function mapTexts(
  value: unknown,
  by: (text: string, isNumber: boolean) => string,
  isNumber = false,
): unknown {
  if (typeof value === 'string') return by(value, isNumber);
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map((inner) => mapTexts(inner, by, isNumber));
  const isFilter = 'name' in value && value.name === 'phone';
  return Object.fromEntries(
    Object.entries(value).map(([name, inner]) => {
      return [name, mapTexts(inner, by, isFilter || NAMES_OF_NUMBERS.includes(name))];
    }),
  );
}

/** The value of the column `named` for a row with these filters. */
export function namedIn(brandId: number, filters: unknown): Buffer[] {
  const keys = new Set<string>();
  mapTexts(filters, (text, isNumber) => {
    for (const key of keysOf(text, isNumber)) keys.add(key);
    return text;
  });
  return [...keys].map((key) => hashOf(brandId, key));
}

const without = (filters: unknown, keys: ReadonlySet<string>): unknown =>
  mapTexts(filters, (text, isNumber) =>
    keysOf(text, isNumber).some((key) => keys.has(key)) ? DELETED : text,
  );

interface StoredFilters {
  /** With the columns `id`, `brand_id`, `finished_at` and `named`. */
  table: string;
  /** The columns with filters, as JSON objects. */
  columns: readonly string[];
}

/**
 * Clears the addresses of deleted contacts from the filters of rows that have ended. The filters of others decide what
 * they still do: without an address they would match other contacts.
 */
export function forgetInFilters({ table, columns }: StoredFilters): RemovalStep {
  type Row = { id: number; finished_at: Date | null; filters: Record<string, unknown> };
  const filters = `jsonb_build_object(${columns.map((column) => `'${column}', ${column}`).join(', ')}) as filters`;
  const set = columns.map((column, n) => `${column} = $${n + 3}`).join(', ');
  return async (trx, { brandId, addressKeys }, limit) => {
    const unread = await trx.query<Row>(
      `select id, ${filters} from ${table} where brand_id = $1 and named is null order by id limit $2`,
      [brandId, limit],
    );
    for (const row of unread.rows) {
      const named = namedIn(brandId, row.filters);
      await trx.query(`update ${table} set named = $2 where id = $1 and named is null`, [row.id, named]);
    }
    if (unread.rows.length === limit) return true;
    const keys = new Set(addressKeys);
    const { rows } = await trx.query<Row>(
      `select id, finished_at, ${filters} from ${table}
       where brand_id = $1 and cardinality(named) > 0 and named && $2
       order by finished_at is null, id limit $3`,
      [brandId, addressKeys.map((key) => hashOf(brandId, key)), limit],
    );
    const ended = rows.filter((row) => row.finished_at !== null);
    for (const row of ended) {
      const cleared = without(row.filters, keys) as Record<string, unknown>;
      const values = columns.map((column) => JSON.stringify(cleared[column]));
      await trx.query(`update ${table} set named = $2, ${set} where id = $1`, [
        row.id,
        namedIn(brandId, cleared),
        ...values,
      ]);
    }
    if (ended.length === limit) return true;
    if (ended.length < rows.length) return 'later';
    return clearedPage([ended.length, unread.rows.length], Infinity);
  };
}
