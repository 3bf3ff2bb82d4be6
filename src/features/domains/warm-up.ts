import type pg from 'pg';
import { parseEmailAddress } from '../../delivery/terms/addresses/email.ts';
import { notFound } from '../../errors.ts';
import { RANGE_IDS } from '../../platform/db/id-ranges.ts';
import type { Queryable } from '../../platform/db/queryable.ts';

/** A day with a higher rate does not count towards the warm-up. */
const MAX_HARD_BOUNCE_RATE = 0.02;
const MAX_COMPLAINT_RATE = 0.001;
/** A day on which a smaller share of the volume was used says little about the next one. */
const MIN_USED_SHARE = 0.5;
const DAY_MS = 86_400_000;
/** Maximum number of past days to evaluate if housekeeping has not run for a long time. */
const MAX_DAYS = 7;

/** A domain that is warming up. */
export interface WarmUp {
  domainId: number;
  /** Starts at 1. */
  step: number;
  /** Maximum number of emails per day. */
  dailyLimit: number;
  usedToday: number;
  startedAt: Date;
}

/** @throws AppError not_found if no domain of this name is verified */
export async function findVerifiedDomain(
  db: Queryable,
  name: string,
): Promise<{ id: number; accountId: number }> {
  const { rows } = await db.query<{ id: number; accountId: number }>(
    `select id, account_id as "accountId" from domains where name = $1 and status = 'verified'`,
    [name.toLowerCase()],
  );
  if (!rows[0]) throw notFound('verified domain');
  return rows[0];
}

/** Starts the warm-up of a domain with the first day of the schedule. A warm-up in progress continues. */
export async function startWarmUp(
  db: Queryable,
  domainId: number,
  schedule: readonly number[],
): Promise<void> {
  await db.query(
    `insert into warm_ups (domain_id, account_id, daily_limit) select id, account_id, $2 from domains where id = $1
     on conflict (domain_id) do nothing`,
    [domainId, schedule[0]],
  );
}

/**
 * Ends the warm-up. Its held messages are sent when their time comes.
 * @returns whether the domain was warming up
 */
export async function endWarmUp(db: Queryable, domainId: number): Promise<boolean> {
  return (await db.query('delete from warm_ups where domain_id = $1', [domainId])).rowCount === 1;
}

/** @returns null if the domain is not warming up */
export async function findWarmUp(db: Queryable, domainId: number): Promise<WarmUp | null> {
  const { rows } = await db.query<WarmUp>(
    `select w.domain_id as "domainId", w.step + 1 as step, w.daily_limit as "dailyLimit", w.started_at as "startedAt",
       coalesce(d.used, 0) as "usedToday"
     from warm_ups w left join warm_up_days d on d.domain_id = w.domain_id and d.day = (now() at time zone 'utc')::date
     where w.domain_id = $1`,
    [domainId],
  );
  return rows[0] ?? null;
}

/** @param perMinute 0: as many as the provider accepts; null: the setting PACING_PER_MINUTE */
export async function setPace(db: Queryable, domainId: number, perMinute: number | null): Promise<void> {
  await db.query(
    `insert into domain_paces (domain_id, account_id, per_minute) select id, account_id, $2 from domains where id = $1
     on conflict (domain_id) do update set per_minute = excluded.per_minute`,
    [domainId, perMinute],
  );
}

interface DueWarmUp {
  domain_id: number;
  brand_id: number;
  name: string;
  step: number;
  daily_limit: number;
  /** As `YYYY-MM-DD`. */
  looked_at: string;
}

/** SQL: the first id of the messages that were written in the days before the day `$2`, or later. */
const firstIdSql = (days: number) => `(
      select coalesce(min(n), 0) * ${RANGE_IDS}::bigint from message_ranges
      where closed_at is null or closed_at >= $2::date - interval '${days} days')`;

/**
 * SQL: the number of a brand's emails that were reported as bounced or as spam on a day, by sender as written. Those that
 * were scheduled may be 30 days older.
 */
const DAY_REPORTS = `
  select m.from_address as sender, count(*) filter (where m.status = 'bounced')::int as hard_bounces,
    count(*) filter (where m.status = 'complained')::int as complaints
  from messages m
  where m.brand_id = $1 and m.channel = 'email' and not m.test and m.from_address is not null
    and (m.status = 'complained' or m.status = 'bounced' and m.bounce ->> 'type' = 'hard')
    and m.id >= ${firstIdSql(35)}
    and (m.id >= ${firstIdSql(5)} or m.scheduled_at >= $2::date - interval '5 days')
    and m.updated_at >= $2::date::timestamp at time zone 'utc'
    and m.updated_at < ($2::date + 1)::timestamp at time zone 'utc'
  group by m.from_address`;

interface DayReports {
  sender: string;
  hard_bounces: number;
  complaints: number;
}

/** The sender may contain a display name, and its domain need not be in ASCII. */
function isOfDomain({ sender }: DayReports, name: string): boolean {
  const parsed = parseEmailAddress(sender);
  return !('error' in parsed) && parsed.domain === name;
}

/** Whether the emails of a day justify a larger volume. */
async function wentWell(db: Queryable, due: DueWarmUp, day: string): Promise<boolean> {
  const { rows: days } = await db.query<{ used: number }>(
    'select used from warm_up_days where domain_id = $1 and day = $2',
    [due.domain_id, day],
  );
  const used = days[0]?.used ?? 0;
  if (used === 0 || used < due.daily_limit * MIN_USED_SHARE) return false;
  const { rows } = await db.query<DayReports>(DAY_REPORTS, [due.brand_id, day]);
  const reports = rows.filter((each) => isOfDomain(each, due.name));
  const share = (kind: 'hard_bounces' | 'complaints') =>
    reports.reduce((sum, each) => sum + each[kind], 0) / used;
  return share('hard_bounces') < MAX_HARD_BOUNCE_RATE && share('complaints') < MAX_COMPLAINT_RATE;
}

const dayOf = (time: number): string => new Date(time).toISOString().slice(0, 10);

/** The days before `asOf` that were not evaluated yet, at most the last seven. */
function daysToLookAt(from: string, asOf: Date): string[] {
  const today = Date.parse(dayOf(asOf.getTime()));
  const first = Math.max(Date.parse(from), today - MAX_DAYS * DAY_MS);
  return Array.from({ length: Math.max(0, (today - first) / DAY_MS) }, (_, n) => dayOf(first + n * DAY_MS));
}

/**
 * Evaluates the days since the last run, and raises the daily volume for each day that went well. After the last step
 * of the schedule, the warm-up is over.
 * @returns the number of warm-ups changed
 */
export async function advanceWarmUps(
  pool: pg.Pool,
  schedule: readonly number[],
  asOf: Date,
): Promise<number> {
  const { rows } = await pool.query<DueWarmUp>(
    `select w.domain_id, d.brand_id, d.name, w.step, w.daily_limit, w.looked_at::text
     from warm_ups w join domains d on d.id = w.domain_id
     where w.looked_at < $1::date order by w.domain_id`,
    [dayOf(asOf.getTime())],
  );
  let changed = 0;
  for (const due of rows) {
    const { step } = due;
    for (const day of daysToLookAt(due.looked_at, asOf)) {
      if (!(await wentWell(pool, due, day))) continue;
      due.step += 1;
      due.daily_limit = schedule[due.step] ?? due.daily_limit;
    }
    await saveLook(pool, due, schedule, asOf);
    if (due.step !== step) changed += 1;
  }
  return changed;
}

/** Another worker may have done the same, or an operator may have ended the warm-up. */
async function saveLook(
  db: Queryable,
  { domain_id: id, step, daily_limit: limit, looked_at: before }: DueWarmUp,
  schedule: readonly number[],
  asOf: Date,
): Promise<void> {
  if (step >= schedule.length) {
    await db.query('delete from warm_ups where domain_id = $1 and looked_at = $2', [id, before]);
    return;
  }
  await db.query(
    'update warm_ups set step = $3, daily_limit = $4, looked_at = $5 where domain_id = $1 and looked_at = $2',
    [id, before, step, limit, dayOf(asOf.getTime())],
  );
}
