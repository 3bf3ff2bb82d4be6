import type { Queryable } from '../../../platform/db/queryable.ts';
import type { WakeChannel } from '../../../platform/db/wake.ts';
import { createEvent } from '../../../platform/events/define.ts';
import type { EventPublisher } from '../../../platform/events/publish.ts';
import { mailOwners } from '../../system-mail/service.ts';
import { webhookEvents } from '../events.ts';
import { disabledNotice, warningNotice, type FailingWebhook } from './notices.ts';

const HOUR_MS = 3_600_000;
/** Of continuous failure: its owners are warned. */
export const WARN_AFTER_MS = 24 * HOUR_MS;
/** Of continuous failure: it is turned off (interface §6.4, `webhook.disabled`). */
export const DISABLE_AFTER_MS = 72 * HOUR_MS;
/** Where no attempt failed for longer, nobody knows whether it still fails: the next attempt decides. */
const RECENT_FAILURE_MS = 25 * HOUR_MS;

/** `disabled_reason` of a webhook that three days of failure turned off. */
export const FAILING_REASON = 'failing';

/** What a webhook's failure makes due. */
export interface FailureDates {
  failingSince: Date | null;
  warnedAt: Date | null;
}

/** @returns null where the owners were warned already, or nothing fails */
export function warningDue({ failingSince, warnedAt }: FailureDates): Date | null {
  return failingSince && !warnedAt ? new Date(failingSince.getTime() + WARN_AFTER_MS) : null;
}

export function disablingDue({ failingSince }: Pick<FailureDates, 'failingSince'>): Date | null {
  return failingSince && new Date(failingSince.getTime() + DISABLE_AFTER_MS);
}

/** Which webhook, when by the caller's clock, and who the owners' mail is from. */
export interface FailureLimit {
  webhookId: number;
  asOf: Date;
  /** Of `systemSender`. */
  from: string;
  events: EventPublisher;
}

interface ChangedWebhook extends FailingWebhook {
  accountId: number;
  brandId: number;
}

const changedColumns = `id, account_id as "accountId", brand_id as "brandId", url, failing_since as "failingSince"`;

/**
 * Turn a webhook off that has failed for three days, tell the brand's other webhooks and the owners: all in the
 * caller's transaction, once, whoever comes first, and not where a success came before.
 * @param client inside the caller's transaction
 * @returns what to wake after the commit; null where nothing was turned off
 */
export async function disableWhereDue(
  client: Queryable,
  { webhookId, asOf, from, events }: FailureLimit,
): Promise<WakeChannel[] | null> {
  const { rows } = await client.query<ChangedWebhook>(
    `update webhooks set enabled = false, generation = generation + 1, disabled_at = $2, disabled_reason = $5,
       updated_at = now()
     where id = $1 and enabled and failing_since <= $3 and last_failure_at >= $4
     returning ${changedColumns}`,
    [
      webhookId,
      asOf,
      new Date(asOf.getTime() - DISABLE_AFTER_MS),
      new Date(asOf.getTime() - RECENT_FAILURE_MS),
      FAILING_REASON,
    ],
  );
  const webhook = rows[0];
  if (!webhook) return null;
  const { id, accountId, brandId, url, failingSince } = webhook;
  const data = { webhook_id: id, url, failing_since: failingSince.toISOString() };
  const event = createEvent(webhookEvents.disabled, { accountId, brandId, occurredAt: asOf, data });
  const queued = await events.publish(client, [event]);
  await mailOwners(client, accountId, from, disabledNotice(webhook, asOf));
  return ['send', ...queued.keys()];
}

/**
 * Tell the owners of a webhook that has failed for a day, once an episode of failure.
 * @param client inside the caller's transaction
 * @returns what to wake after the commit; null where nobody is to be warned
 */
export async function warnWhereDue(
  client: Queryable,
  { webhookId, asOf, from }: FailureLimit,
): Promise<WakeChannel[] | null> {
  const { rows } = await client.query<ChangedWebhook>(
    `update webhooks set warned_at = $2 where id = $1 and enabled and warned_at is null and failing_since <= $3
     returning ${changedColumns}`,
    [webhookId, asOf, new Date(asOf.getTime() - WARN_AFTER_MS)],
  );
  const webhook = rows[0];
  if (!webhook) return null;
  const disableAt = new Date(Math.max(webhook.failingSince.getTime() + DISABLE_AFTER_MS, asOf.getTime()));
  await mailOwners(client, webhook.accountId, from, warningNotice(webhook, disableAt));
  return ['send'];
}
