import type { Queryable } from '../../../platform/db/queryable.ts';
import type { WakeChannel } from '../../../platform/db/wake.ts';
import { createEvent } from '../../../platform/events/define.ts';
import type { EventPublisher } from '../../../platform/events/publish.ts';
import { mailOwners } from '../../system-mail/service.ts';
import { webhookEvents } from '../events.ts';
import { disabledNotice, warningNotice, type FailingWebhook } from './notices.ts';

const HOUR_MS = 3_600_000;
/** A webhook's owners are warned after it has failed continuously for this long. */
const WARN_AFTER_MS = 24 * HOUR_MS;
/** A webhook is turned off after it has failed continuously for this long (interface §6.4, `webhook.disabled`). */
const DISABLE_AFTER_MS = 72 * HOUR_MS;
/** If the last failure is older than this, the endpoint may work again, so the next attempt decides. */
const RECENT_FAILURE_MS = 25 * HOUR_MS;

/** `disabled_reason` of a webhook that was turned off after three days of failure. */
const FAILING_REASON = 'failing';

/** The columns of a webhook that decide when its owners are warned and when it is turned off. */
interface FailureDates {
  failingSince: Date | null;
  warnedAt: Date | null;
}

/** When to warn the owners; null if they were warned already, or the webhook is not failing. */
export function warningDue({ failingSince, warnedAt }: FailureDates): Date | null {
  return failingSince && !warnedAt ? new Date(failingSince.getTime() + WARN_AFTER_MS) : null;
}

/** When to turn the webhook off; null if it is not failing. */
export function disablingDue({ failingSince }: Pick<FailureDates, 'failingSince'>): Date | null {
  return failingSince && new Date(failingSince.getTime() + DISABLE_AFTER_MS);
}

export interface FailureCheck {
  webhookId: number;
  /** By the caller's clock, which may be a workflow's. */
  asOf: Date;
  /** Sender of the mail to the owners, see `systemSender`. */
  from: string;
  events: EventPublisher;
}

interface ChangedWebhook extends FailingWebhook {
  accountId: number;
  brandId: number;
}

const changedColumns = `id, account_id as "accountId", brand_id as "brandId", url, failing_since as "failingSince"`;

/**
 * Turns off a webhook that has failed for three days, publishes `webhook.disabled` and mails the owners, all in the
 * caller's transaction. The update's condition makes this happen once, and not after a success.
 * @param client inside the caller's transaction
 * @returns channels to wake after the commit; null if the webhook was not turned off
 */
export async function disableIfDue(
  client: Queryable,
  { webhookId, asOf, from, events }: FailureCheck,
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
 * Mails the owners of a webhook that has failed for a day, once per continuous failure.
 * @param client inside the caller's transaction
 * @returns channels to wake after the commit; null if no warning was due
 */
export async function warnIfDue(
  client: Queryable,
  { webhookId, asOf, from }: FailureCheck,
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
