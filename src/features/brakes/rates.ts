import type pg from 'pg';
import { sendingEvents } from '../../delivery/terms/events.ts';
import { createEvent, type PublishedEvent } from '../../platform/events/define.ts';
import type { EventPublisher, QueuedWork } from '../../platform/events/publish.ts';
import { inTransaction, type Queryable } from '../../platform/db/queryable.ts';
import { type Pause, pauseIfSending } from '../accounts/service.ts';
import { mailOwners, type Notice } from '../system-mail/service.ts';

/** With fewer emails, a rate means little. */
export const MIN_ATTEMPTED = 500;
export const MAX_HARD_BOUNCE_RATE = 0.1;
export const MAX_COMPLAINT_RATE = 0.005;
/** Minimum numbers, so that a few recipients cannot pause an account. */
export const MIN_HARD_BOUNCES = 10;
export const MIN_COMPLAINTS = 5;

/** SQL: the interval over which the rates are taken. */
const PERIOD = `interval '7 days'`;

export type BrakeReason = 'bounce_rate' | 'complaint_rate';

/** The outcomes of an account's emails in the last seven days, or since sending was resumed. */
export interface Outcomes {
  accountId: number;
  attempted: number;
  hardBounces: number;
  complaints: number;
}

/** @returns null while both rates are below their limits, or too few emails were sent or reported */
export function brakeReason({ attempted, hardBounces, complaints }: Outcomes): BrakeReason | null {
  if (attempted < MIN_ATTEMPTED) return null;
  if (complaints >= MIN_COMPLAINTS && complaints / attempted >= MAX_COMPLAINT_RATE) return 'complaint_rate';
  return hardBounces >= MIN_HARD_BOUNCES && hardBounces / attempted >= MAX_HARD_BOUNCE_RATE
    ? 'bounce_rate'
    : null;
}

/** Finds accounts that are sending, had outcomes within the last two hours, and have reached a limit. */
async function findOverRate(db: Queryable): Promise<Outcomes[]> {
  const { rows } = await db.query<Outcomes>(
    `with recent as materialized (
       select distinct account_id from account_outcomes
       where hour >= date_trunc('hour', now(), 'UTC') - interval '1 hour'
     )
     select a.id as "accountId", o.attempted, o.hard_bounces as "hardBounces", o.complaints
     from recent r join accounts a on a.id = r.account_id
     cross join lateral (
       select sum(attempted)::int as attempted, sum(hard_bounces)::int as hard_bounces,
         sum(complaints)::int as complaints
       from account_outcomes where account_id = a.id and hour > now() - ${PERIOD} offset 0) o
     where a.kind = 'customer' and a.sending_paused_at is null and o.attempted >= $1
       and (o.hard_bounces >= $2::numeric * o.attempted or o.complaints >= $3::numeric * o.attempted)
     order by a.id`,
    [MIN_ATTEMPTED, MAX_HARD_BOUNCE_RATE, MAX_COMPLAINT_RATE],
  );
  return rows;
}

const percent = (part: number, whole: number) => `${((100 * part) / whole).toFixed(2)}%`;

function pausedNotice(reason: BrakeReason, outcomes: Outcomes): Notice {
  const { attempted, hardBounces, complaints } = outcomes;
  const [what, count, limit, advice] =
    reason === 'bounce_rate'
      ? [
          'hard bounces',
          hardBounces,
          MAX_HARD_BOUNCE_RATE,
          'Remove addresses that do not exist from your lists.',
        ]
      : ['spam complaints', complaints, MAX_COMPLAINT_RATE, 'Write only to people who asked for your mail.'];
  return {
    subject: 'Sending from your account is paused',
    paragraphs: [
      `Of ${attempted} emails that your account sent in the last 7 days, ${count} ended as ${what}: ${percent(count, attempted)}. At ${percent(limit, 1)} we pause sending, because mail services would soon refuse all of your mail.`,
      'New messages are still accepted. They wait, at most 72 hours, and are sent when sending is resumed.',
      `What to do: find out where these addresses come from. ${advice} GET /v1/my/suppressions?reason=${reason === 'bounce_rate' ? 'hard_bounce' : 'complaint'} lists them. Then ask the operator of this service to resume sending.`,
    ],
  };
}

/** One event per brand of the account, so that the webhooks of each brand get it. */
export async function forEachBrand(
  db: Queryable,
  accountId: number,
  eventOf: (brandId: number) => PublishedEvent,
): Promise<PublishedEvent[]> {
  const { rows } = await db.query<{ id: number }>('select id from brands where account_id = $1 order by id', [
    accountId,
  ]);
  return rows.map(({ id }) => eventOf(id));
}

/**
 * Pauses an account and publishes `sending.paused`, unless it is already paused.
 * @param pause its reason is shown to the account
 * @returns null if it was already paused
 */
export async function pauseWithEvent(
  trx: Queryable,
  events: EventPublisher,
  accountId: number,
  pause: Pause,
): Promise<QueuedWork | null> {
  if (!(await pauseIfSending(trx, accountId, pause))) return null;
  const occurredAt = new Date();
  const data = { account_id: accountId, reason: pause.reason };
  const published = await forEachBrand(trx, accountId, (brandId) =>
    createEvent(sendingEvents.paused, { accountId, brandId, occurredAt, data }),
  );
  return events.publish(trx, published);
}

export interface BrakeDeps {
  pool: pg.Pool;
  events: EventPublisher;
  /** The sender of mails to owners. */
  systemFrom: string;
}

/** The work that pausing accounts has queued. */
export interface Braked {
  accounts: { outcomes: Outcomes; reason: BrakeReason }[];
  queued: QueuedWork[];
}

/**
 * Pauses accounts with too many hard bounces or complaints, publishes `sending.paused` and mails the owners. An account
 * that is already paused stays unchanged, so two workers at once do no harm.
 */
export async function brakeAccounts({ pool, events, systemFrom }: BrakeDeps): Promise<Braked> {
  const braked: Braked = { accounts: [], queued: [] };
  for (const outcomes of await findOverRate(pool)) {
    const reason = brakeReason(outcomes);
    if (reason === null) continue;
    const { accountId } = outcomes;
    const queued = await inTransaction(pool, async (trx) => {
      const work = await pauseWithEvent(trx, events, accountId, { reason, by: 'brakes' });
      if (work) await mailOwners(trx, accountId, systemFrom, pausedNotice(reason, outcomes));
      return work;
    });
    if (!queued) continue;
    braked.accounts.push({ outcomes, reason });
    braked.queued.push(queued);
  }
  return braked;
}
