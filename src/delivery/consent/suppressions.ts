import { type Channel, channelFacts, channels } from '../channels/index.ts';

/** A soft bounce counts in a row of this many before it suppresses the address. */
export const SOFT_BOUNCES_IN_A_ROW = 3;

/** How long soft bounces suppress an address. */
const SOFT_SUPPRESSION = `interval '7 days'`;

export const suppressionReasons = ['hard_bounce', 'soft_bounce', 'complaint', 'manual'] as const;

export type SuppressionReason = (typeof suppressionReasons)[number];

/** What recipients and their servers have reported. Only an owner or admin ends these. */
export const reportedReasons: readonly SuppressionReason[] = ['hard_bounce', 'complaint'];

/** The most characters of a diagnostic that are kept. */
export const MAX_DIAGNOSTIC = 500;

/** SQL: whether the suppression has ended. @param row SQL: the name of the row */
export function endedSql(row: string): string {
  return `(${row}.released_at is not null or coalesce(${row}.expires_at, 'infinity') <= now())`;
}

/** The column of a suppression with an address of the channel. */
const addressColumn = (name: Channel): string => channelFacts[name].contact.kind;

const ofEachChannel = (sql: (name: Channel) => string): string => channels.map(sql).join(', ');

/**
 * SQL: an insert that suppresses addresses. An address has one row. A suppression that has ended is replaced, with a
 * new id. One that is active stays, unless the new one lasts longer: a permanent one replaces one that expires. A report
 * replaces the reason of one that is not reported, and keeps its own, however long each lasts.
 *
 * Rows are locked in the order of account and address. Statements that suppress the same addresses at the same time wait
 * for each other and do not deadlock, so every suppression must be written by this insert.
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
 * complaint suppresses the address. Soft bounces are counted, and three in a row suppress it for seven days. A message
 * to the address that was delivered, opened or clicked since the last soft bounce ends the row.
 *
 * Only the statement's caller knows whether a report is new: it gives a soft bounce once for each message, and none
 * for a message that was delivered.
 * @param reports SQL: a select with `account_id`, `address_key` (null: the report is skipped), `channel`, `reason`,
 *   `source_provider`, `diagnostic`, `occurred_at`, which soft bounces need, and `counted`: whether the report says
 *   something about how the account sends
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
