import { parseEmailAddress } from '../../delivery/addresses/email.ts';
import { readPhone } from '../../delivery/addresses/phone.ts';
import { prefixPattern } from '../../platform/db/like.ts';
import type { BrandScope } from '../../platform/db/model.ts';
import { ID_DIGITS } from '../../platform/db/paging.ts';
import type { Queryable } from '../../platform/db/queryable.ts';
import { type Found, type FoundType, foundTypes, MAX_RESULTS } from './schema.ts';
import { sources } from './sources.ts';

/** Maximum numbers of results of types of which an address may have many. */
const MAX_CONVERSATIONS = 5;

type Row = Omit<Found, 'path'>;

/** SQL that selects rows of one type. The brand is `$1`, and the account `$2`. @param where SQL over `t` */
function selectSql(type: FoundType, where: string): string {
  const { table, title, status = 'null', ofAccount } = sources[type];
  const owner = ofAccount ? 't.account_id = $2' : 't.account_id = $2 and t.brand_id = $1';
  return `select '${type}' as type, t.id, (${title})::text as title, (${status})::text as status
    from ${table} t where ${owner} and ${where}`;
}

const allOf = (selects: readonly string[]): string =>
  selects.map((select) => `(${select})`).join(' union all ');

const BY_ID = allOf(
  foundTypes.map((type) => selectSql(type, `t.id = $3 and ${sources[type].visible ?? 'true'}`)),
);

const BY_NAME = allOf(
  foundTypes.flatMap((type) => {
    const { named } = sources[type];
    if (named === undefined) return [];
    // The order of the index, so that the first rows of many are found at once.
    const order = `order by lower(t.name) using ~<~, t.id limit ${MAX_RESULTS}`;
    return [`${selectSql(type, `lower(t.name) like lower($3) and ${named}`)} ${order}`];
  }),
);

function byAddressSql(column: 'email_key' | 'phone'): string {
  return allOf([
    selectSql('contact', `t.${column} = $3`),
    selectSql('suppression', 't.address_key = $3'),
    `${selectSql('conversation', 't.participants && array[$3]')}
      order by t.last_message_at desc, t.id desc limit ${MAX_CONVERSATIONS}`,
    `${selectSql('message', 't.to_key = $3')} order by t.id desc limit ${MAX_RESULTS}`,
  ]);
}
const BY_EMAIL = byAddressSql('email_key');
const BY_PHONE = byAddressSql('phone');

const rankOf = ({ type }: Row): number => foundTypes.indexOf(type);

async function find(
  db: Queryable,
  { brandId, accountId }: BrandScope,
  sql: string,
  value: unknown,
): Promise<Row[]> {
  const { rows } = await db.query<Row>(sql, [brandId, accountId, value]);
  return rows;
}

/** @returns null if the text is not an address */
function findByAddress(db: Queryable, scope: BrandScope, text: string): Promise<Row[]> | null {
  const email = parseEmailAddress(text);
  if (!('error' in email)) return find(db, scope, BY_EMAIL, email.key);
  const phone = readPhone(text, null);
  return 'error' in phone ? null : find(db, scope, BY_PHONE, phone.e164);
}

/** Shorter names first: the one that equals the text is the first of its beginning. */
async function findByName(db: Queryable, scope: BrandScope, text: string): Promise<Row[]> {
  const rows = await find(db, scope, BY_NAME, prefixPattern(text));
  const length = ({ title }: Row) => title?.length ?? 0;
  return rows.sort((one, other) => length(one) - length(other) || rankOf(one) - rankOf(other));
}

/**
 * Finds resources of a brand by an address, an id, or the beginning of a name.
 * @returns at most {@link MAX_RESULTS}, those with the id first
 */
export async function search(db: Queryable, scope: BrandScope, text: string): Promise<Found[]> {
  const ofAddress = await findByAddress(db, scope, text);
  const rows = ofAddress ?? [
    ...(ID_DIGITS.test(text) ? await find(db, scope, BY_ID, Number(text)) : []),
    ...(await findByName(db, scope, text)),
  ];
  const found = rows.map((row) => ({ ...row, path: `${sources[row.type].path}/${row.id}` }));
  // A resource whose name begins with its own id is found twice.
  return [...new Map(found.map((each) => [each.path, each])).values()].slice(0, MAX_RESULTS);
}
