// Publishing queues an event for exactly the subscribed webhooks of its account, in the caller's transaction.
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { emailEventData, emailEvents, sendingEvents } from '../../../src/delivery/terms/events.ts';
import { eventCatalogue } from '../../../src/features/webhooks/catalogue.ts';
import { inTransaction } from '../../../src/platform/db/queryable.ts';
import {
  createEvent,
  type EventDefinition,
  type PublishedEvent,
} from '../../../src/platform/events/define.ts';
import { createTestTenant, type TestTenant } from '../../support/api.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database.ts';
import { testEvents } from '../../support/events.ts';

let test: TestDatabase;
let tenant: TestTenant;
let other: TestTenant;

beforeAll(async () => {
  test = await createTestDatabase();
  tenant = await createTestTenant(test.database, 'Publisher');
  other = await createTestTenant(test.database, 'Stranger');
});
afterAll(() => test.drop());
beforeEach(() => test.database.pool.query('delete from webhook_queue; delete from webhooks'));

interface SubscribedWebhook {
  of?: TestTenant;
  events: string[];
  enabled?: boolean;
  generation?: number;
}

async function subscribe({ of = tenant, events, enabled = true, generation = 1 }: SubscribedWebhook) {
  const { rows } = await test.database.pool.query<{ id: number }>(
    `insert into webhooks (account_id, brand_id, url, events, secret_sealed, secret_last4, enabled, generation)
     values ($1, $2, 'https://receiver.test/', $3, 'sealed', 'last', $4, $5) returning id`,
    [of.accountId, of.brandId, events, enabled, generation],
  );
  return rows[0]?.id;
}

function sent(messageId: number, of: TestTenant = tenant): PublishedEvent {
  const message = { id: messageId, to: 'ann@example.test', subject: 'Hi', idempotencyKey: null, tags: null };
  return createEvent(emailEvents.sent, {
    accountId: of.accountId,
    brandId: of.brandId,
    occurredAt: new Date('2026-03-01T10:00:00.123Z'),
    data: { ...emailEventData(message), provider: 'smtp' },
  });
}

function sampleOf(definition: EventDefinition): PublishedEvent {
  const occurredAt = new Date();
  const data = definition.sample(occurredAt);
  return createEvent(definition, { accountId: tenant.accountId, brandId: null, occurredAt, data });
}

async function publish(events: PublishedEvent[]) {
  const queued = await inTransaction(test.database.pool, (trx) => testEvents.publish(trx, events));
  return { deliveries: queued.get('webhook') ?? 0 };
}

async function queued() {
  const { rows } = await test.database.pool.query<{ webhook_id: number; generation: number; data: string }>(
    `select q.webhook_id, q.generation, e.data::text as data, e.type, e.occurred_at, d.status, d.event_id
     from webhook_queue q
     join webhook_deliveries d on d.id = q.delivery_id and d.created_at = q.created_at
     join events e on e.id = q.event_id and e.created_at = q.created_at
     order by q.delivery_id`,
  );
  return rows;
}

describe('publishing events', () => {
  it('writes nothing if no webhook subscribes to the event', async () => {
    await subscribe({ events: ['email.bounced'] });
    await subscribe({ events: ['email.sent'], enabled: false });
    await subscribe({ events: ['email.sent'], of: other });
    const before = await test.database.pool.query('select 1 from events');
    expect(await publish([sent(1)])).toEqual({ deliveries: 0 });
    expect((await test.database.pool.query('select 1 from events')).rowCount).toBe(before.rowCount);
  });

  it('queues a delivery for each webhook that is on and subscribed, with its generation', async () => {
    const first = await subscribe({ events: ['email.sent', 'email.bounced'], generation: 3 });
    const second = await subscribe({ events: ['email.sent'] });
    await subscribe({ events: ['email.failed'] });
    await subscribe({ events: ['email.sent'], enabled: false });
    expect(await publish([sent(1)])).toEqual({ deliveries: 2 });
    const rows = await queued();
    expect(rows.map((row) => [row.webhook_id, row.generation])).toEqual([
      [first, 3],
      [second, 1],
    ]);
    expect(new Set(rows.map((row) => (row as { event_id?: string }).event_id)).size).toBe(1);
    expect(rows[0]?.data).toBe(
      '{"message_id":1,"to":"ann@example.test","subject":"Hi","tags":{},"provider":"smtp"}',
    );
  });

  it('keeps the order of thousands of events in one call', async () => {
    await subscribe({ events: ['email.sent'] });
    const events = Array.from({ length: 2_000 }, (_each, index) => sent(index + 1));
    expect(await publish(events)).toEqual({ deliveries: 2_000 });
    const ids = (await queued()).map((row) => (JSON.parse(row.data) as { message_id: number }).message_id);
    expect(ids).toEqual(events.map((_event, index) => index + 1));
  });

  it.each(Object.values(sendingEvents).map((definition) => [definition.type, definition] as const))(
    'queues %s for every brand of the account, and for no other account',
    async (type, definition) => {
      const { rows } = await test.database.pool.query<{ id: number }>(
        'insert into brands (account_id) values ($1) returning id',
        [tenant.accountId],
      );
      const first = await subscribe({ events: [type] });
      const second = await subscribe({ events: [type], of: { ...tenant, brandId: rows[0]?.id ?? 0 } });
      await subscribe({ events: [type], of: other });
      await subscribe({ events: ['domain.verified'] });
      expect(await publish([sampleOf(definition)])).toEqual({ deliveries: 2 });
      expect((await queued()).map((row) => row.webhook_id).sort()).toEqual([first, second].sort());
    },
  );

  it('is part of the caller’s transaction', async () => {
    await subscribe({ events: ['email.sent'] });
    const failed = inTransaction(test.database.pool, async (trx) => {
      await testEvents.publish(trx, [sent(1)]);
      throw new Error('rolled back');
    });
    await expect(failed).rejects.toThrow('rolled back');
    expect(await queued()).toEqual([]);
  });
});

describe('the data of email events', () => {
  const message = {
    id: 7,
    to: 'ann@example.test',
    subject: 'Hi',
    idempotencyKey: 'order-1',
    tags: { kind: 'receipt' },
  };
  it('contains the client’s idempotency key and tags', () => {
    expect(emailEventData(message)).toEqual({
      message_id: 7,
      to: 'ann@example.test',
      subject: 'Hi',
      idempotency_key: 'order-1',
      tags: { kind: 'receipt' },
    });
  });
  it('omits the key and has empty tags if none were sent', () => {
    const data = emailEventData({ ...message, idempotencyKey: null, tags: null });
    expect(data).not.toHaveProperty('idempotency_key');
    expect(data.tags).toEqual({});
  });
  it.each([
    ['email.sent', { provider: 'smtp' }],
    ['email.delivered', { smtp_response: '250 ok' }],
    ['email.bounced', { bounce: { type: 'hard', subtype: 'no_such_mailbox', diagnostic: '550' } }],
    ['email.failed', { failure: { code: 'rejected', message: 'no' } }],
    ['email.complained', {}],
  ] as const)('of %s fits its schema', (type, extra) => {
    expect(
      eventCatalogue[type].data.strict().safeParse({ ...emailEventData(message), ...extra }).error,
    ).toBeUndefined();
  });
});
