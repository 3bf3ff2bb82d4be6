import { parseEmailAddress } from '../../delivery/terms/addresses/email.ts';
import { phoneKeys } from '../../delivery/terms/addresses/search-keys.ts';
import { memberRoles, type Role, type Tenant } from '../../platform/auth/tenant.ts';
import { prefixPattern } from '../../platform/db/like.ts';
import type { BrandScope } from '../../platform/db/model.ts';
import { ID_DIGITS } from '../../platform/db/paging.ts';
import type { Queryable } from '../../platform/db/queryable.ts';
import { type Found, type FoundType, foundTypes, MAX_RESULTS } from './schema.ts';
import { sources } from './sources.ts';

/** Maximum numbers of results of types that can have many for one address. */
const MAX_CONVERSATIONS = 5;

type Row = Omit<Found, 'path'>;

/** SQL that selects rows of one type. The brand is `$1`, and the account `$2`. @param where SQL over `t` */
type SelectSql = (type: FoundType, where: string) => string;

const selectSql: SelectSql = (type, where) => {
  const { table, title, status = 'null', hasMail = 'false', ofAccount } = sources[type];
  const owner = ofAccount ? 't.account_id = $2' : 't.account_id = $2 and t.brand_id = $1';
  return `select '${type}' as type, t.id, (${title})::text as title, (${status})::text as status, ${hasMail} as has_mail
    from ${table} t where ${owner} and ${where}`;
};

/** The same, without what all brands of the account share. */
const selectOwnSql: SelectSql = (type, where) =>
  selectSql(type, `${where} and not (${sources[type].shared ?? 'false'})`);

const allOf = (selects: readonly string[]): string =>
  selects.map((select) => `(${select})`).join(' union all ');

const byIdSql = (types: readonly FoundType[], select: SelectSql) =>
  allOf(types.map((type) => select(type, `t.id = $3 and ${sources[type].visible ?? 'true'}`)));

const byNameSql = (types: readonly FoundType[], select: SelectSql) =>
  allOf(
    types.flatMap((type) => {
      const { named } = sources[type];
      if (named === undefined) return [];
      // The order of the index, so that the first rows of many are found at once.
      const order = `order by lower(t.name) using ~<~, t.id limit ${MAX_RESULTS}`;
      return [`${select(type, `lower(t.name) like lower($3) and ${named}`)} ${order}`];
    }),
  );

type AddressColumn = 'email_key' | 'phone';

/** What has an address, in the order of the results: its condition, and how many of it are found. */
const byAddress: { type: FoundType; where: (column: AddressColumn) => string; rest?: string }[] = [
  { type: 'contact', where: (column) => `t.${column} = $3` },
  { type: 'suppression', where: () => 't.address_key = $3' },
  {
    type: 'conversation',
    where: () => 't.participants && array[$3]',
    rest: `order by t.last_message_at desc, t.id desc limit ${MAX_CONVERSATIONS}`,
  },
  { type: 'message', where: () => 't.to_key = $3', rest: `order by t.id desc limit ${MAX_RESULTS}` },
];

const byAddressSql = (types: readonly FoundType[], column: AddressColumn, select: SelectSql) =>
  allOf(
    byAddress
      .filter(({ type }) => types.includes(type))
      .map(({ type, where, rest = '' }) => `${select(type, where(column))} ${rest}`),
  );

interface Statements {
  byId: string;
  byName: string;
  byEmail: string;
  byPhone: string;
}

/** The statements of each role, which find only what it may read. */
const statementsBy = (select: SelectSql) =>
  Object.fromEntries(
    memberRoles.map((role) => {
      const types = foundTypes.filter((type) => sources[type].roles.includes(role));
      const of: Statements = {
        byId: byIdSql(types, select),
        byName: byNameSql(types, select),
        byEmail: byAddressSql(types, 'email_key', select),
        byPhone: byAddressSql(types, 'phone', select),
      };
      return [role, of];
    }),
  ) as Record<Role, Statements>;

const [ofAllBrands, ofSomeBrands] = [statementsBy(selectSql), statementsBy(selectOwnSql)];

const statementsOf = ({ role, someBrands }: Tenant): Statements =>
  (someBrands ? ofSomeBrands : ofAllBrands)[role];

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

/** Maximum number of phone numbers that are looked up for a text without a country code. */
const MAX_NUMBERS = 3;

/** Finds which of many phone numbers the brand's contacts, or suppressions of the account, have. */
async function knownNumbers(
  db: Queryable,
  { brandId, accountId }: BrandScope,
  numbers: readonly string[],
): Promise<string[]> {
  const { rows } = await db.query<{ phone: string }>(
    `select phone from contacts where brand_id = $1 and phone = any($3)
     union select address_key from suppressions where account_id = $2 and address_key = any($3)
     order by phone limit ${MAX_NUMBERS}`,
    [brandId, accountId, numbers],
  );
  return rows.map(({ phone }) => phone);
}

/** @returns the rows, and whether the text can be only an address; otherwise it may also be an id or a name */
async function findByAddress(
  db: Queryable,
  tenant: Tenant,
  text: string,
): Promise<{ rows: Row[]; only: boolean }> {
  const { byEmail, byPhone } = statementsOf(tenant);
  const email = parseEmailAddress(text);
  if (!('error' in email)) return { rows: await find(db, tenant, byEmail, email.key), only: true };
  const keys = phoneKeys(text);
  if ('error' in keys) return { rows: [], only: false };
  const [key = '', ...others] = keys;
  if (others.length === 0) return { rows: await find(db, tenant, byPhone, key), only: true };
  const rows = [];
  for (const number of await knownNumbers(db, tenant, keys)) {
    rows.push(...(await find(db, tenant, byPhone, number)));
  }
  return { rows, only: false };
}

/** Shorter names first: the one that equals the text is the first of its beginning. */
async function findByName(db: Queryable, tenant: Tenant, text: string): Promise<Row[]> {
  const rows = await find(db, tenant, statementsOf(tenant).byName, prefixPattern(text));
  const length = ({ title }: Row) => title?.length ?? 0;
  return rows.sort((one, other) => length(one) - length(other) || rankOf(one) - rankOf(other));
}

/**
 * Finds resources of a brand by an address, an id, or the beginning of a name: those that the caller's role may read.
 * @returns at most {@link MAX_RESULTS}, those with the id first
 */
export async function search(db: Queryable, tenant: Tenant, text: string): Promise<Found[]> {
  const ofAddress = await findByAddress(db, tenant, text);
  const others = async () => [
    ...(ID_DIGITS.test(text) ? await find(db, tenant, statementsOf(tenant).byId, Number(text)) : []),
    ...(await findByName(db, tenant, text)),
  ];
  const rows = ofAddress.only ? ofAddress.rows : [...(await others()), ...ofAddress.rows];
  const found = rows.map((row) => ({ ...row, path: `${sources[row.type].path}/${row.id}` }));
  // A resource whose name begins with its own id is found twice.
  return [...new Map(found.map((each) => [each.path, each])).values()].slice(0, MAX_RESULTS);
}
