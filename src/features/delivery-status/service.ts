import { z } from 'zod';
import { type Capacity, type CapacitySettings, readCapacity } from '../../delivery/limits/capacity.ts';
import { sandboxAddress } from '../../delivery/sender-identity.ts';
import type { Tenant } from '../../platform/auth/tenant.ts';
import type { Queryable } from '../../platform/db/queryable.ts';

const time = z.iso.datetime().nullable();

/** `GET /delivery/status`: what the delivery authority would say now. It never reserves anything. */
export const deliveryStatusResource = z.object({
  state: z.enum(['open', 'limited', 'blocked']).meta({
    description: '`limited`: some sends wait or are refused. `blocked`: nothing leaves.',
  }),
  commercial: z.object({
    account_tier: z.enum(['free', 'paid', 'trusted']),
    allowance: z.int().meta({ description: 'Sends in any 24 hours.' }),
    used: z.int(),
    remaining: z.int(),
    resets_at: time.meta({ description: 'When the oldest of the last 24 hours stops counting.' }),
    sandbox_monthly_cap: z.int().nullable(),
    sandbox_sends_remaining: z.int().nullable(),
    sandbox_resets_at: time,
    spend_cap_monthly_cents: z.int().nullable(),
    wallet_balance_cents: z.int(),
  }),
  exact_sender: z.object({
    email: z.string(),
    verified: z.boolean(),
    limit: z.int().nullable().meta({ description: 'null: no limit of its own.' }),
    used: z.int().nullable(),
    remaining: z.int().nullable(),
    resets_at: time,
  }),
  brand_subdomain: z.object({
    name: z.string().nullable(),
    limit: z.int().nullable(),
    used: z.int().nullable(),
    remaining: z.int().nullable(),
    resets_at: time,
  }),
  pacing: z.object({
    per_minute: z.int().nullable().meta({ description: 'null: as fast as the provider takes them.' }),
    queued: z.int().meta({ description: 'Messages of the account that wait; counted to 100,000.' }),
    held: z.int().meta({ description: 'Those of them that wait for capacity or for the end of a pause.' }),
    next_due_at: time,
  }),
  reason: z.enum(['account_paused', 'allowance_used', 'sandbox_limit_reached']).nullable(),
  remediation: z.string().nullable(),
});

export type DeliveryStatus = z.input<typeof deliveryStatusResource>;

const remediations: Record<NonNullable<DeliveryStatus['reason']>, string> = {
  account_paused:
    'Sending is paused for this account; an operator resumes it. Accepted messages wait, at most 72 hours.',
  allowance_used: 'The rolling 24-hour allowance is used up; messages are sent as capacity returns.',
  sandbox_limit_reached: 'The sandbox has no sends left this month; register and verify a sending domain.',
};

function reasonOf(capacity: Capacity): DeliveryStatus['reason'] {
  if (capacity.pausedAt) return 'account_paused';
  if (capacity.allowance.remaining === 0) return 'allowance_used';
  if (capacity.sandbox.remaining === 0) return 'sandbox_limit_reached';
  return null;
}

async function readQueue(client: Queryable, accountId: number) {
  const { rows } = await client.query<{ queued: number; held: number; next_due_at: Date | null }>(
    `select count(*) as queued, count(*) filter (where m.status = 'held') as held,
       min(q.due_at) filter (where q.due_at > now()) as next_due_at
     from (select message_id, due_at from send_queue where account_id = $1 limit 100000) q
     join messages m on m.id = q.message_id`,
    [accountId],
  );
  return rows[0] ?? { queued: 0, held: 0, next_due_at: null };
}

/** @param mailDomain of the sandbox sender */
export async function readDeliveryStatus(
  client: Queryable,
  tenant: Tenant,
  settings: CapacitySettings,
  mailDomain: string,
): Promise<DeliveryStatus> {
  const [capacity, queue] = await Promise.all([
    readCapacity(client, tenant.accountId, settings),
    readQueue(client, tenant.accountId),
  ]);
  const reason = reasonOf(capacity);
  const none = { limit: null, used: null, remaining: null, resets_at: null };
  return {
    state: reason === null ? 'open' : reason === 'account_paused' ? 'blocked' : 'limited',
    commercial: {
      account_tier: capacity.tier,
      allowance: capacity.allowance.limit,
      used: capacity.allowance.used,
      remaining: capacity.allowance.remaining,
      resets_at: capacity.allowance.resetsAt?.toISOString() ?? null,
      sandbox_monthly_cap: capacity.sandbox.cap,
      sandbox_sends_remaining: capacity.sandbox.remaining,
      sandbox_resets_at: capacity.sandbox.resetsAt.toISOString(),
      spend_cap_monthly_cents: capacity.spendCapMonthlyCents,
      wallet_balance_cents: capacity.walletBalanceCents,
    },
    exact_sender: { email: sandboxAddress(tenant.accountId, mailDomain), verified: true, ...none },
    brand_subdomain: { name: null, ...none },
    pacing: {
      per_minute: null,
      queued: queue.queued,
      held: queue.held,
      next_due_at: queue.next_due_at?.toISOString() ?? null,
    },
    reason,
    remediation: reason === null ? null : remediations[reason],
  };
}
