import { setTimeout as delay } from 'node:timers/promises';
import { emailEventData, emailEvents } from '../../../src/delivery/terms/events.ts';
import { webhookIdOf } from '../../../src/features/webhooks/signature.ts';
import type { Database } from '../../../src/platform/db/database.ts';
import { inTransaction, type Queryable } from '../../../src/platform/db/queryable.ts';
import { createEvent, type PublishedEvent } from '../../../src/platform/events/define.ts';
import { testEvents } from '../events.ts';
import type { ReceivedRequest } from '../https-receiver.ts';
import type { CrashStage } from './stage.ts';

/** A webhook delivery that the subscriber acknowledged with a 2xx. */
export interface Receipt {
  key: string;
  at: number;
  /** Whether the subscriber had rejected it before. */
  retried: boolean;
}

/** Identifies a webhook delivery by what the subscriber can see. */
function keyOf(webhookId: string, path: string): string {
  return `${webhookId} ${path}`;
}

/** A subscriber that accepts all events on one path, and on another rejects one event in five at the first attempt. */
export interface Subscriber {
  readonly receipts: readonly Receipt[];
  /** Called with each receipt before it is acknowledged, so the sender does not know of it yet. */
  onReceipt: ((receipt: Receipt) => void) | null;
  /** Whether it rejects those events at every attempt. */
  stubborn: boolean;
  /** Returns the key that a webhook delivery has in the database. */
  keyOf(eventId: string, webhookId: number): string;
}

/** Slow enough that some deliveries are always in progress. */
const ANSWER_MS = 15;
const REJECTED_ONE_IN = 5;

/** @param flakyId id of the webhook at `/flaky`, which rejects some events with a 500 */
export function subscriberOf(stage: CrashStage, flakyId: number): Subscriber {
  const receipts: Receipt[] = [];
  const rejected = new Set<string>();
  const mustReject = (request: ReceivedRequest, key: string) => {
    const event = JSON.parse(request.body) as { data: { message_id: number } };
    const unlucky = request.url === '/flaky' && event.data.message_id % REJECTED_ONE_IN === 0;
    return unlucky && (subscriber.stubborn || !rejected.has(key));
  };
  stage.receiver.answer = async (request, response) => {
    const key = keyOf(String(request.headers['webhook-id']), request.url);
    if (mustReject(request, key)) {
      rejected.add(key);
      response.writeHead(500).end();
      return;
    }
    const receipt = { key, at: request.at, retried: rejected.has(key) };
    receipts.push(receipt);
    subscriber.onReceipt?.(receipt);
    await delay(ANSWER_MS);
    response.end();
  };
  const subscriber: Subscriber = {
    receipts,
    onReceipt: null,
    stubborn: false,
    keyOf: (eventId, webhookId) => keyOf(webhookIdOf(eventId), webhookId === flakyId ? '/flaky' : '/events'),
  };
  return subscriber;
}

const BATCH = 20;
const RETRY_MS = 50;
const PROGRESS_LIMIT_MS = 90_000;

async function publishBatch(database: Database, events: PublishedEvent[]): Promise<void> {
  const end = Date.now() + PROGRESS_LIMIT_MS;
  for (;;) {
    try {
      await inTransaction(database.pool, (trx) => testEvents.publish(trx, events));
      return;
    } catch (error) {
      if (Date.now() > end) throw error;
      await delay(RETRY_MS);
    }
  }
}

function eventOf(
  tenant: { accountId: number; brandId: number },
  subject: string,
  id: number,
): PublishedEvent {
  const message = { id, to: 'ann@example.test', subject, idempotencyKey: null, tags: null };
  const data = { ...emailEventData(message), provider: 'smtp' };
  return createEvent(emailEvents.sent, { ...tenant, occurredAt: new Date(), data });
}

async function until(reached: () => boolean): Promise<void> {
  const end = Date.now() + PROGRESS_LIMIT_MS;
  while (!reached()) {
    if (Date.now() > end) throw new Error(`the subscriber received nothing for ${PROGRESS_LIMIT_MS} ms`);
    await delay(5);
  }
}

/**
 * Publishes `count` events like features do. At most a quarter of them may be unacknowledged at any time.
 * @param run `name` is the subject of its events
 * @throws Error if the database or the receipts stop for too long
 */
export async function publish(
  { database, accountId, webhookId }: CrashStage,
  { receipts }: Subscriber,
  { name, count }: { name: string; count: number },
): Promise<void> {
  const before = receipts.length;
  const { rows } = await database.pool.query<{ brandId: number }>(
    'select brand_id as "brandId" from webhooks where id = $1',
    [webhookId],
  );
  const tenant = { accountId, brandId: rows[0]?.brandId ?? 0 };
  for (let first = 1; first <= count; first += BATCH) {
    // There are two webhooks, so each event arrives twice.
    await until(() => first - (receipts.length - before) / 2 <= count / 4);
    const numbers = Array.from({ length: Math.min(BATCH, count + 1 - first) }, (_each, n) => first + n);
    await publishBatch(
      database,
      numbers.map((n) => eventOf(tenant, name, n)),
    );
  }
}

/** Identifies a webhook delivery in the database. */
export interface DeliveryKey {
  eventId: string;
  webhookId: number;
}

/**
 * Returns webhook deliveries that are claimed for their first attempt but not recorded.
 * @param owner a process's id; null for all processes
 */
export async function claimedDeliveriesOf(client: Queryable, owner: number | null): Promise<DeliveryKey[]> {
  const { rows } = await client.query<DeliveryKey>(
    `select event_id as "eventId", webhook_id as "webhookId" from webhook_queue
     where case when $1::bigint is null then owner is not null else owner = $1 end`,
    [owner],
  );
  return rows;
}

/** Returns webhook deliveries whose retry is due. */
export async function dueRetriesOf(client: Queryable): Promise<DeliveryKey[]> {
  const { rows } = await client.query<DeliveryKey>(
    `select event_id as "eventId", webhook_id as "webhookId" from webhook_deliveries
     where next_attempt_at <= now()`,
  );
  return rows;
}
