import { setTimeout as delay } from 'node:timers/promises';
import type { Database } from '../../../src/db/database.ts';
import { inTransaction, type Queryable } from '../../../src/db/queryable.ts';
import { emailEventData, publishEvents, type PublishedEvent } from '../../../src/webhooks/service.ts';
import { webhookIdOf } from '../../../src/webhooks/signature.ts';
import type { ReceivedRequest } from '../https-receiver.ts';
import type { CrashStage } from './stage.ts';

/** A delivery that the subscriber took with a 2xx. */
export interface Taking {
  key: string;
  at: number;
}

/** Names a delivery by what the subscriber sees of it. */
function keyOf(webhookId: string, path: string): string {
  return `${webhookId} ${path}`;
}

/** What a subscriber took, which takes everything on one path, and on another refuses some at first. */
export interface Subscriber {
  readonly takings: readonly Taking[];
  /** Told of each taking before it is answered: whoever sent it does not know of it yet. */
  onTaking: ((taking: Taking) => void) | null;
  /** Key of a delivery in the database. */
  keyOf(eventId: string, webhookId: number): string;
}

/** So slow that some are always on their way. */
const ANSWER_MS = 15;
const REFUSED_ONE_IN = 5;

/** @param flakyId of the webhook at `/flaky`, which answers one event in five with a 500 when it first sees it */
export function subscriberOf(stage: CrashStage, flakyId: number): Subscriber {
  const takings: Taking[] = [];
  const refused = new Set<string>();
  const mustRefuse = (request: ReceivedRequest, key: string) => {
    const event = JSON.parse(request.body) as { data: { message_id: number } };
    const unlucky = request.url === '/flaky' && event.data.message_id % REFUSED_ONE_IN === 0;
    return unlucky && !refused.has(key);
  };
  stage.receiver.answer = async (request, response) => {
    const key = keyOf(String(request.headers['webhook-id']), request.url);
    if (mustRefuse(request, key)) {
      refused.add(key);
      response.writeHead(500).end();
      return;
    }
    const taking = { key, at: request.at };
    takings.push(taking);
    subscriber.onTaking?.(taking);
    await delay(ANSWER_MS);
    response.end();
  };
  const subscriber: Subscriber = {
    takings,
    onTaking: null,
    keyOf: (eventId, webhookId) => keyOf(webhookIdOf(eventId), webhookId === flakyId ? '/flaky' : '/events'),
  };
  return subscriber;
}

export interface Publishing {
  /** The subject of the run's events. */
  name: string;
  /** Resolves when all are committed. */
  done: Promise<unknown>;
}

const BATCH = 20;
const RETRY_MS = 50;
const PATIENCE_MS = 90_000;

async function publishBatch(database: Database, events: PublishedEvent[]): Promise<void> {
  const end = Date.now() + PATIENCE_MS;
  for (;;) {
    try {
      await inTransaction(database.pool, (trx) => publishEvents(trx, events));
      return;
    } catch (error) {
      if (Date.now() > end) throw error;
      await delay(RETRY_MS);
    }
  }
}

/** Publish `count` events as rooms do, at most a quarter of them ahead of what was taken. */
export function publish(
  stage: CrashStage,
  subscriber: Subscriber,
  { name, count }: { name: string; count: number },
): Publishing {
  const before = subscriber.takings.length;
  const start = async () => {
    const { rows } = await stage.database.pool.query<{ brandId: number }>(
      'select brand_id as "brandId" from webhooks where id = $1',
      [stage.webhookId],
    );
    const brandId = rows[0]?.brandId ?? null;
    for (let first = 1; first <= count; first += BATCH) {
      // Each is taken twice: there are two webhooks.
      while (first - (subscriber.takings.length - before) / 2 > count / 4) await delay(5);
      const numbers = Array.from({ length: Math.min(BATCH, count + 1 - first) }, (_each, n) => first + n);
      const events = numbers.map((id): PublishedEvent => {
        const message = { id, to: 'ann@example.test', subject: name, idempotencyKey: null, tags: null };
        const data = emailEventData(message, { provider: 'smtp' });
        return { accountId: stage.accountId, brandId, type: 'email.sent', occurredAt: new Date(), data };
      });
      await publishBatch(stage.database, events);
    }
  };
  return { name, done: start() };
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
