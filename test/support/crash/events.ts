import { setTimeout as delay } from 'node:timers/promises';
import { emailEventData, emailEvents } from '../../../src/delivery/events.ts';
import { webhookIdOf } from '../../../src/features/webhooks/signature.ts';
import type { Database } from '../../../src/platform/db/database.ts';
import { inTransaction, type Queryable } from '../../../src/platform/db/queryable.ts';
import { createEvent, type PublishedEvent } from '../../../src/platform/events/define.ts';
import { testEvents } from '../events.ts';
import type { ReceivedRequest } from '../https-receiver.ts';
import type { CrashStage } from './stage.ts';

/** A delivery that the subscriber took with a 2xx. */
export interface Taking {
  key: string;
  at: number;
  /** Whether it had been refused before. */
  retried: boolean;
}

/** Names a delivery by what the subscriber sees of it. */
function keyOf(webhookId: string, path: string): string {
  return `${webhookId} ${path}`;
}

/** What a subscriber took, which takes everything on one path, and on another refuses one event in five at first. */
export interface Subscriber {
  readonly takings: readonly Taking[];
  /** Told of each taking before it is answered: whoever sent it does not know of it yet. */
  onTaking: ((taking: Taking) => void) | null;
  /** Whether it refuses those events time and again. */
  stubborn: boolean;
  /** Key of a delivery in the database. */
  keyOf(eventId: string, webhookId: number): string;
}

/** So slow that some are always on their way. */
const ANSWER_MS = 15;
const REFUSED_ONE_IN = 5;

/** @param flakyId of the webhook at `/flaky`, which answers some with a 500 */
export function subscriberOf(stage: CrashStage, flakyId: number): Subscriber {
  const takings: Taking[] = [];
  const refused = new Set<string>();
  const mustRefuse = (request: ReceivedRequest, key: string) => {
    const event = JSON.parse(request.body) as { data: { message_id: number } };
    const unlucky = request.url === '/flaky' && event.data.message_id % REFUSED_ONE_IN === 0;
    return unlucky && (subscriber.stubborn || !refused.has(key));
  };
  stage.receiver.answer = async (request, response) => {
    const key = keyOf(String(request.headers['webhook-id']), request.url);
    if (mustRefuse(request, key)) {
      refused.add(key);
      response.writeHead(500).end();
      return;
    }
    const taking = { key, at: request.at, retried: refused.has(key) };
    takings.push(taking);
    subscriber.onTaking?.(taking);
    await delay(ANSWER_MS);
    response.end();
  };
  const subscriber: Subscriber = {
    takings,
    onTaking: null,
    stubborn: false,
    keyOf: (eventId, webhookId) => keyOf(webhookIdOf(eventId), webhookId === flakyId ? '/flaky' : '/events'),
  };
  return subscriber;
}

const BATCH = 20;
const RETRY_MS = 50;
const PATIENCE_MS = 90_000;

async function publishBatch(database: Database, events: PublishedEvent[]): Promise<void> {
  const end = Date.now() + PATIENCE_MS;
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
  const end = Date.now() + PATIENCE_MS;
  while (!reached()) {
    if (Date.now() > end) throw new Error(`the subscriber takes nothing for ${PATIENCE_MS} ms`);
    await delay(5);
  }
}

/**
 * Publish `count` events as rooms do, at most a quarter of them ahead of what was taken.
 * @param run its name is the subject of its events
 * @throws Error where the database or the subscriber's events stay away
 */
export async function publish(
  { database, accountId, webhookId }: CrashStage,
  { takings }: Subscriber,
  { name, count }: { name: string; count: number },
): Promise<void> {
  const before = takings.length;
  const { rows } = await database.pool.query<{ brandId: number }>(
    'select brand_id as "brandId" from webhooks where id = $1',
    [webhookId],
  );
  const tenant = { accountId, brandId: rows[0]?.brandId ?? 0 };
  for (let first = 1; first <= count; first += BATCH) {
    // Each is taken twice: there are two webhooks.
    await until(() => first - (takings.length - before) / 2 <= count / 4);
    const numbers = Array.from({ length: Math.min(BATCH, count + 1 - first) }, (_each, n) => first + n);
    await publishBatch(
      database,
      numbers.map((n) => eventOf(tenant, name, n)),
    );
  }
}

/** A delivery by its rows. */
export interface DeliveryOf {
  eventId: string;
  webhookId: number;
}

/** Deliveries claimed for their first attempt and not recorded. @param owner a process's id; null: anybody's */
export async function claimedDeliveriesOf(client: Queryable, owner: number | null): Promise<DeliveryOf[]> {
  const { rows } = await client.query<DeliveryOf>(
    `select event_id as "eventId", webhook_id as "webhookId" from webhook_queue
     where case when $1::bigint is null then owner is not null else owner = $1 end`,
    [owner],
  );
  return rows;
}

/** Deliveries whose retry is due. */
export async function dueRetriesOf(client: Queryable): Promise<DeliveryOf[]> {
  const { rows } = await client.query<DeliveryOf>(
    `select event_id as "eventId", webhook_id as "webhookId" from webhook_deliveries
     where next_attempt_at <= now()`,
  );
  return rows;
}
