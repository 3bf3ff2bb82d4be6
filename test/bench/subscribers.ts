import pino from 'pino';
import { emailEventData, emailEvents } from '../../src/delivery/terms/events.ts';
import { createWebhookManager } from '../../src/features/webhooks/service.ts';
import { inTransaction } from '../../src/platform/db/queryable.ts';
import { createEvent } from '../../src/platform/events/define.ts';
import { createKeyring } from '../../src/platform/secrets/keyring.ts';
import { testEvents } from '../support/events.ts';
import { insertAccount, type QueuedAccount } from '../support/queued.ts';
import type { Stage } from './stage.ts';

const MAX_PER_BRAND = 10;
const EVENTS_PER_TRANSACTION = 200;

/** A brand in an account of its own, with at most ten webhooks for `email.sent`. */
export interface Subscribed extends QueuedAccount {
  webhookIds: number[];
}

/** Creates one webhook per URL, and as many brands as they need. */
export async function subscribe(stage: Stage, urls: string[]): Promise<Subscribed[]> {
  const { pool } = stage.database;
  const manager = createWebhookManager({
    pool,
    keyring: createKeyring(stage.settings.APP_SECRET ?? ''),
    egress: { checkUrl: async () => ({ ok: true }) },
    waker: { wake: () => undefined },
    log: pino({ level: 'silent' }),
  });
  const brands: Subscribed[] = [];
  for (let first = 0; first < urls.length; first += MAX_PER_BRAND) {
    const account = await insertAccount(stage.database);
    const actor = { kind: 'api_key' as const, id: 0, test: false };
    const tenant = { ...account, actor, role: 'admin' as const };
    const brand: Subscribed = { ...account, webhookIds: [] };
    for (const url of urls.slice(first, first + MAX_PER_BRAND)) {
      const create = { url, events: ['email.sent' as const] };
      const { id } = await inTransaction(pool, (trx) => manager.create(trx, tenant, create));
      brand.webhookIds.push(id);
    }
    brands.push(brand);
  }
  return brands;
}

/** Publishes `count` events to each brand. Returns the number of webhook deliveries that this causes. */
export async function publish(stage: Stage, brands: readonly Subscribed[], count: number): Promise<number> {
  const message = { subject: 'Your receipt', idempotencyKey: null, tags: null, to: 'ann@example.com' };
  const all = Array.from({ length: count }, (_, n) =>
    brands.map(({ accountId, brandId }) => {
      const data = { ...emailEventData({ ...message, id: n }), provider: 'smtp' };
      return createEvent(emailEvents.sent, { accountId, brandId, occurredAt: new Date(), data });
    }),
  ).flat();
  let deliveries = 0;
  for (let first = 0; first < all.length; first += EVENTS_PER_TRANSACTION) {
    const events = all.slice(first, first + EVENTS_PER_TRANSACTION);
    const queued = await inTransaction(stage.database.pool, (trx) => testEvents.publish(trx, events));
    deliveries += queued.get('webhook') ?? 0;
  }
  return deliveries;
}
