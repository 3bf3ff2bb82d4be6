import { type Channel, channelFacts, channels } from '../../terms/channels/index.ts';

/** How many soft bounces in a row suppress an address. */
export const SOFT_BOUNCES_IN_A_ROW = 3;

/** How long soft bounces suppress an address. */
const SOFT_SUPPRESSION = `interval '7 days'`;

export const suppressionReasons = ['hard_bounce', 'soft_bounce', 'complaint', 'manual'] as const;

export type SuppressionReason = (typeof suppressionReasons)[number];

/** Reasons reported by recipients and their servers. Only an owner or admin can end these suppressions. */
export const reportedReasons: readonly SuppressionReason[] = ['hard_bounce', 'complaint'];

/** Maximum number of characters of a diagnostic that are stored. */
export const MAX_DIAGNOSTIC = 500;

/** SQL: whether the suppression has ended. @param row SQL: the name of the row */
export function endedSql(row: string): string {
  return `(${row}.released_at is not null or coalesce(${row}.expires_at, 'infinity') <= now())`;
}

/** What {@link suppressedSql} asks about, as SQL. */
interface Suppressible {
  account: string;
  /** The address in the form of `to_key`, or `any(…)` of several. */
  key: string;
  /**
   * The condition under which a suppression of `ada@example.com` also covers `ada+news@example.com`, and the other way
   * round; by default it does not. Only for a single address.
   */
  plusAddresses?: string;
  /**
   * Whether each address is a look-up by key. PostgreSQL may read all suppressions of the account at once for an
   * `exists`, which pays only for many addresses.
   */
  byKey?: true;
}

/** SQL: whether an address has an active suppression. With `byKey`, null means no. */
export function suppressedSql({ account, key, plusAddresses, byKey }: Suppressible): string {
  const matching = (match: string) => `(
      select true from suppressions s
      where s.account_id = ${account} and ${match} and s.released_at is null
        and (s.expires_at is null or s.expires_at > now())${byKey ? ' limit 1' : ''})`;
  const found = (match: string) => `${byKey ? '' : 'exists '}${matching(match)}`;
  const exact = found(`s.address_key = ${key}`);
  if (plusAddresses === undefined) return exact;
  return `(${exact} or ${plusAddresses} and ${found(`s.untagged_key = address_without_tag(${key})`)})`;
}

/** The column that has the suppressed address of the channel. */
const addressColumn = (name: Channel): string => channelFacts[name].contact.kind;

const ofEachChannel = (sql: (name: Channel) => string): string => channels.map(sql).join(', ');

/**
 * SQL: an insert that suppresses addresses. An address has one row. A suppression that has ended is replaced, with a
 * new id. An active one stays unless the new one lasts longer: a permanent one replaces one that expires. However long
 * each lasts, a reported reason replaces one that was not reported, and not the other way round.
 *
 * Rows are locked in the order of account and address. Every suppression must be written by this insert, so that
 * statements which suppress the same addresses at the same time wait for each other and do not deadlock.
 * @param rows SQL: a select with `account_id`, `address_key` (null: the row is skipped), `channel`, `reason`,
 *   `source_provider`, `diagnostic` (cut to 500 characters) and `expires_at` (null: permanent)
 * @returns the insert, to which a caller may add `returning`
 */
export function suppressionUpsertSql(rows: string): string {
  const unlessEnded = (column: string) =>
    `${column} = case when ${endedSql('s')} then excluded.${column} else s.${column} end`;
  const isReported = (row: string) => `${row}.reason in ('${reportedReasons.join("', '")}')`;
  const unlessReported = (column: string) =>
    `${column} = case when ${isReported('s')} and not ${isReported('excluded')} and not ${endedSql('s')}
        then s.${column} else excluded.${column} end`;
  return `
    insert into suppressions as s
      (account_id, address_key, ${ofEachChannel(addressColumn)}, reason, source_provider, diagnostic, expires_at)
    select distinct on (r.account_id, r.address_key) r.account_id, r.address_key,
      ${ofEachChannel((name) => `case r.channel when '${name}' then r.address_key end`)},
      r.reason, r.source_provider, left(r.diagnostic, ${MAX_DIAGNOSTIC}), r.expires_at
    from (${rows}) r where r.address_key is not null
    order by r.account_id, r.address_key, r.expires_at desc nulls first, ${isReported('r')} desc
    on conflict (account_id, address_key) do update set
      ${unlessEnded('id')}, ${unlessEnded('created_at')}, ${ofEachChannel(
        (name) => `${addressColumn(name)} = excluded.${addressColumn(name)}`,
      )},
      ${unlessReported('reason')}, ${unlessReported('source_provider')}, ${unlessReported('diagnostic')},
      expires_at = case when ${endedSql('s')} then excluded.expires_at
        else nullif(greatest(coalesce(s.expires_at, 'infinity'), coalesce(excluded.expires_at, 'infinity')), 'infinity') end,
      released_at = null
    where ${endedSql('s')}
      or (s.expires_at is not null and (excluded.expires_at is null or excluded.expires_at > s.expires_at))
      or (${isReported('excluded')} and not ${isReported('s')})`;
}

/**
 * SQL: expressions of a `with` clause, each after a comma, that apply reports about addresses. A hard bounce or a
 * complaint suppresses the address. Soft bounces are counted, and three in a row suppress it for seven days. If a
 * message to the address was delivered, opened or clicked since the last soft bounce, the count starts again.
 *
 * The caller must pass new reports only: each message's soft bounce once, and none for a message that was delivered.
 * @param reports SQL: a select with `account_id`, `address_key` (null: the report is skipped), `channel`, `reason`,
 *   `source_provider`, `diagnostic`, `occurred_at` (soft bounces need it) and `counted`: whether the report counts
 *   against the account
 * @returns among others `newly_suppressed` with `account_id`, `email` and `reason`: the addresses that counted reports
 *   have suppressed and that were not suppressed before
 */
export function suppressionCtes(reports: string): string {
  const columns = 'r.account_id, r.address_key, r.channel, r.reason, r.source_provider, r.diagnostic';
  return `, suppression_reports as materialized (${reports}
  ), soft_bounced as (
    insert into soft_bounces as b (account_id, address_key, count, last_at)
    select account_id, address_key, least(count(*), ${SOFT_BOUNCES_IN_A_ROW}), max(occurred_at) from suppression_reports
    where reason = 'soft_bounce' and address_key is not null group by 1, 2 order by 1, 2
    on conflict (account_id, address_key) do update set
      count = excluded.count + case
        when b.count >= ${SOFT_BOUNCES_IN_A_ROW} or reached_since(b.account_id, b.address_key, b.last_at) then 0
        else b.count end,
      last_at = greatest(b.last_at, excluded.last_at)
    returning account_id, address_key, count
  ), suppressed as (${suppressionUpsertSql(`
      select ${columns}, null::timestamptz as expires_at from suppression_reports r where r.reason <> 'soft_bounce'
      union all
      select ${columns}, now() + ${SOFT_SUPPRESSION}
      from suppression_reports r join soft_bounced b using (account_id, address_key)
      where r.reason = 'soft_bounce' and b.count >= ${SOFT_BOUNCES_IN_A_ROW}`)}
    returning s.account_id, s.address_key, s.email, s.reason, s.created_at
  ), newly_suppressed as (
    -- A row that replaces an active one keeps its time.
    select s.account_id, s.email, s.reason from suppressed s
    where s.created_at = now() and exists (
      select 1 from suppression_reports r
      where r.account_id = s.account_id and r.address_key = s.address_key and r.reason = s.reason and r.counted)
  )`;
}
