import { z } from 'zod';
import {
  type LimitName,
  limits,
  type Limits,
  type LimitSettings,
} from '../../delivery/ledger/limits/authority.ts';
import { type Capacity, readCapacity } from '../../delivery/ledger/limits/capacity.ts';
import { accountTiers } from '../../delivery/ledger/limits/tiers.ts';
import { readDomainFigures } from '../../delivery/ledger/limits/domain-figures.ts';
import type { StatusRule } from '../../delivery/ledger/limits/limit.ts';
import { type Projection, type Projections, projectNext } from '../../delivery/ledger/limits/projection.ts';
import { queueChannels } from '../../delivery/terms/channels/queue-channel.ts';
import { messageClasses } from '../../delivery/terms/message.ts';
import { type BrandSenders, readSenders } from '../../delivery/terms/sender-identity.ts';
import { MILLICENTS_PER_CENT } from '../../delivery/ledger/money/wallet.ts';
import type { Tenant } from '../../platform/auth/tenant.ts';
import type { Queryable } from '../../platform/db/queryable.ts';
import { readSenderState, senderStates } from './senders.ts';

/** Maximum number of waiting messages that are counted, and of scheduled ones. */
const MAX_COUNTED = 10_000;
/** Maximum number of messages of a backlog that are passed to find those that are scheduled, or those that are not. */
const MAX_PASSED = 100_000;

const time = z.iso.datetime().nullable();

/** The reasons that the status can show, in order of precedence. */
const reasons = (limits as Limits).flatMap(({ status }) => (status ? [status.reason] : []));

const projection = z.object({
  outcome: z.enum(['send', 'hold', 'refuse']),
  reason: z.enum(reasons).nullable().meta({ description: 'The limit that holds or refuses it.' }),
  until: time.meta({ description: 'When the hold ends, if that is known.' }),
});

const limited = z.boolean().meta({
  description: 'Whether there is a limit. If not, its figures are null, because nothing is counted.',
});

/** What an account can send now, with the figures on which the limits decide. */
export const deliveryStatusResource = z.object({
  state: z.enum(['open', 'limited', 'blocked']).meta({
    description: '`limited`: some messages are held or refused. `blocked`: no message is sent.',
  }),
  commercial: z.object({
    account_tier: z.enum(accountTiers),
    allowance: z.int().meta({ description: 'Maximum number of messages in any 24 hours.' }),
    used: z.int(),
    remaining: z.int(),
    resets_at: time.meta({ description: 'When the oldest message of the last 24 hours stops counting.' }),
    sandbox_monthly_cap: z.int().nullable().meta({
      description: 'Null: the cap does not apply, because `exact_sender` is not the sandbox.',
    }),
    sandbox_sends_remaining: z.int().nullable(),
    sandbox_resets_at: time,
    spend_cap_monthly_cents: z.int().nullable().meta({ description: 'Null: there is no cap.' }),
    spent_this_month_cents: z.int().meta({
      description: 'Rounded up. Includes amounts reserved for messages and validations in progress.',
    }),
    wallet_balance_cents: z.int().meta({ description: 'Rounded down.' }),
  }),
  exact_sender: z.object({
    email: z.string(),
    verified: z.boolean(),
    limited,
    limit: z.int().nullable().meta({ description: 'Null: there is no limit for this sender.' }),
    used: z.int().nullable(),
    remaining: z.int().nullable(),
    resets_at: time,
  }),
  brand_subdomain: z.object({
    name: z.string().nullable().meta({
      description: 'The domain of `exact_sender`; null if it is the sandbox, whose domain is not yours.',
    }),
    limited,
    limit: z.int().nullable().meta({
      description:
        'Maximum number of campaign and flow emails from the domain today (UTC) while it warms up; null: it is not warming up.',
    }),
    used: z.int().nullable(),
    remaining: z.int().nullable(),
    resets_at: time,
  }),
  pacing: z.object({
    limited,
    per_minute: z.int().nullable().meta({ description: 'Null: as fast as the provider accepts messages.' }),
    queued: z.int().meta({
      description:
        'Messages of the account waiting to be sent, including those of active campaigns, without those that are ' +
        '`scheduled`. At most 10,000 are counted.',
    }),
    held: z.int().meta({ description: 'Waiting messages that are held by a limit.' }),
    scheduled: z
      .int()
      .meta({ description: 'Messages that wait for their time. At most 10,000 are counted.' }),
    next_scheduled_at: time.meta({ description: 'When the first of these is to be sent.' }),
    next_due_at: time,
    due_since: time.meta({
      description:
        'Since when the oldest message that no limit holds could have been sent; null if none waits.',
    }),
  }),
  senders: z.enum(senderStates).meta({
    description:
      'The processes that send the messages of all accounts. `paused`: an operator has paused them; `stopped`: none runs. ' +
      'Messages wait in both cases, whatever `state` says.',
  }),
  next: z.object({ transactional: projection, marketing: projection }).meta({
    description:
      'What would happen to one more email from `exact_sender` if no other message were waiting: to one sent with POST /messages, and to one of a campaign or flow. `refuse`: the request gets 422, and nothing is stored.',
  }),
  reason: z.enum(reasons).nullable(),
  remediation: z.string().nullable(),
  pause: z
    .object({
      since: z.iso.datetime(),
      reason: z
        .string()
        .meta({ description: '`bounce_rate`, `complaint_rate`, or a text from the operator.' }),
    })
    .nullable()
    .meta({ description: 'Null: sending is not paused.' }),
});

export type DeliveryStatus = z.input<typeof deliveryStatusResource>;

const toText = (time: Date | null | undefined): string | null => time?.toISOString() ?? null;

const ruleNamed = (limit: LimitName | null | undefined): StatusRule | undefined =>
  (limits as Limits).find(({ name }) => name === limit)?.status;

/**
 * The rule of the limit that decides on the next message: a transactional one, else one of a campaign or flow, else
 * messages of the account's other senders.
 */
function ruleOf({ transactional, marketing }: Projections, { reached }: Capacity): StatusRule | undefined {
  return ruleNamed(transactional.limit) ?? ruleNamed(marketing.limit) ?? ruleNamed(reached[0]);
}

const presentProjection = ({ outcome, limit, until }: Projection) => ({
  outcome,
  reason: ruleNamed(limit)?.reason ?? null,
  until: toText(until),
});

interface QueueRow {
  queued: number;
  held: number;
  scheduled: number;
  next_scheduled_at: Date | null;
  next_due_at: Date | null;
  due_since: Date | null;
}

/**
 * SQL: the account's backlogs, found by jumps through the index from one provider to the next. The last row of each queue
 * and class has no provider.
 */
const backlogsSql = `backlogs as (
  select c.channel, p.class, (
    select s.provider_id from send_queue s
    where s.owner is null and s.channel = c.channel and s.class = p.class and s.account_id = $1
    order by s.provider_id limit 1) as provider_id
  from unnest($2::text[]) as c (channel) cross join unnest($3::smallint[]) as p (class)
  union all
  select b.channel, b.class, (
    select s.provider_id from send_queue s
    where s.owner is null and s.channel = b.channel and s.class = b.class and s.account_id = $1
      and s.provider_id > b.provider_id
    order by s.provider_id limit 1)
  from backlogs b where b.provider_id is not null
)`;

/** SQL: the first messages `s` of the backlog `b` that are not due and meet the condition. */
const aheadSql = (columns: string, condition: string) => `
  select ${columns} from (
    select s.due_at, s.held, s.queued_at from send_queue s
    where s.owner is null and s.channel = b.channel and s.class = b.class and s.account_id = $1
      and s.provider_id = b.provider_id and s.due_at > now()
    order by s.due_at limit ${MAX_PASSED}) s
  where ${condition} limit ${MAX_COUNTED}`;

/**
 * Reads the waiting messages by backlog, in the order in which they are due, and only as many as it counts. No message
 * that is due is scheduled; the others are read once for each kind, so that one kind does not use up what is counted of
 * the other. Messages of active campaigns wait in blocks: a block counts as a whole, and is due when a sender next checks it.
 */
async function readQueue(client: Queryable, accountId: number): Promise<QueueRow> {
  const { rows } = await client.query<QueueRow>(
    `with recursive ${backlogsSql}, waiting as materialized (
       select q.* from backlogs b cross join lateral ((
         select s.due_at, s.held from send_queue s
         where s.owner is null and s.channel = b.channel and s.class = b.class and s.account_id = $1
           and s.provider_id = b.provider_id and s.due_at <= now()
         order by s.due_at limit ${MAX_COUNTED})
         union all (${aheadSql('s.due_at, s.held', 's.queued_at <= now()')})
         limit ${MAX_COUNTED}) q
       where b.provider_id is not null
     ), scheduled as materialized (
       select q.due_at from backlogs b cross join lateral (${aheadSql('s.due_at', 's.queued_at > now()')}) q
       where b.class = ${messageClasses.transactional} and b.provider_id is not null
     ), blocks as materialized (
       select b.* from campaigns c cross join lateral (
         select due_at, hold_reason is not null as held, size from campaign_blocks
         where campaign_id = c.id and owner is null and closed_at is null
         order by due_at, n limit ${MAX_COUNTED}) b
       where c.account_id = $1 and c.status = 'active' and c.phase in ('snapshot', 'sending')
       limit ${MAX_COUNTED}
     ), counted as (
       select 1 as size, held, case when not held then due_at end as due_at from waiting
       union all select size, held, due_at from blocks
     )
     select least(coalesce(sum(size), 0), ${MAX_COUNTED})::int as queued,
       least(coalesce(sum(size) filter (where held), 0), ${MAX_COUNTED})::int as held,
       -- What a pause holds is due at infinity.
       least(min(due_at) filter (where due_at > now() and isfinite(due_at)),
         (select min(recheck_at) from held_backlogs where account_id = $1 and recheck_at > now())) as next_due_at,
       min(due_at) filter (where due_at <= now() and not held) as due_since,
       (select least(count(*), ${MAX_COUNTED})::int from scheduled) as scheduled,
       (select min(due_at) from scheduled) as next_scheduled_at
     from counted`,
    [accountId, queueChannels, Object.values(messageClasses)],
  );
  const none = {
    queued: 0,
    held: 0,
    scheduled: 0,
    next_scheduled_at: null,
    next_due_at: null,
    due_since: null,
  };
  return rows[0] ?? none;
}

const NO_LIMIT = { limited: false, limit: null, used: null, remaining: null, resets_at: null };

/** The capacity of the sender's domain, and its pace. The sandbox has neither. */
async function readDomain(
  client: Queryable,
  { defaultAddress, defaultIdentity }: BrandSenders,
  settings: LimitSettings,
) {
  if (defaultIdentity === 'sandbox') return { capacity: { name: null, ...NO_LIMIT }, perMinute: null };
  const { warmUp, perMinute } = await readDomainFigures(client, defaultIdentity.domainId, settings);
  const name = defaultAddress.slice(defaultAddress.lastIndexOf('@') + 1);
  if (!warmUp) return { capacity: { name, ...NO_LIMIT }, perMinute };
  const { resetsAt, ...figures } = warmUp;
  return { capacity: { name, limited: true, ...figures, resets_at: toText(resetsAt) }, perMinute };
}

/**
 * Returns what an account can send now. It reserves nothing.
 * @param mailDomain the domain of the sandbox sender
 */
export async function readDeliveryStatus(
  client: Queryable,
  tenant: Tenant,
  settings: LimitSettings,
  mailDomain: string,
): Promise<DeliveryStatus> {
  const [capacity, queue, senders, senderState] = await Promise.all([
    readCapacity(client, tenant.accountId, settings),
    readQueue(client, tenant.accountId),
    readSenders(client, tenant, mailDomain),
    readSenderState(client),
  ]);
  const { allowance, sandbox_cap: sandboxCap } = capacity.figures;
  const { defaultIdentity } = senders;
  const sandbox = defaultIdentity === 'sandbox' ? sandboxCap : null;
  const domainId = defaultIdentity === 'sandbox' ? null : defaultIdentity.domainId;
  const next = await projectNext(client, { accountId: tenant.accountId, domainId }, settings);
  const rule = ruleOf(next, capacity);
  const domain = await readDomain(client, senders, settings);
  return {
    state: rule?.state ?? 'open',
    commercial: {
      account_tier: capacity.tier,
      allowance: allowance.limit,
      used: allowance.used,
      remaining: allowance.remaining,
      resets_at: toText(allowance.resetsAt),
      sandbox_monthly_cap: sandbox?.limit ?? null,
      sandbox_sends_remaining: sandbox?.remaining ?? null,
      sandbox_resets_at: toText(sandbox?.resetsAt),
      spend_cap_monthly_cents: capacity.spendCapMonthlyCents,
      spent_this_month_cents: Math.ceil(capacity.figures.spend_cap.used / MILLICENTS_PER_CENT),
      wallet_balance_cents: capacity.walletBalanceCents,
    },
    exact_sender: { email: senders.defaultAddress, verified: true, ...NO_LIMIT },
    brand_subdomain: domain.capacity,
    pacing: {
      limited: domain.perMinute !== null,
      per_minute: domain.perMinute,
      queued: queue.queued,
      held: queue.held,
      scheduled: queue.scheduled,
      next_scheduled_at: toText(queue.next_scheduled_at),
      next_due_at: toText(queue.next_due_at),
      due_since: toText(queue.due_since),
    },
    senders: senderState,
    next: {
      transactional: presentProjection(next.transactional),
      marketing: presentProjection(next.marketing),
    },
    reason: rule?.reason ?? null,
    remediation: rule?.remediation ?? null,
    pause: capacity.pause && { since: capacity.pause.since.toISOString(), reason: capacity.pause.reason },
  };
}
