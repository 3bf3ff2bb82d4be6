// An attempt that the database refuses to record delays no other attempt, and is recorded when possible.
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import pino from 'pino';
import type { DueDelivery } from '../../../src/features/webhooks/attempts/attempt.ts';
import {
  createAttemptRecorder,
  type AttemptRecorder,
} from '../../../src/features/webhooks/attempts/recorder.ts';
import { exactTime } from '../../../src/platform/db/queryable.ts';
import { createTestTenant, type TestTenant } from '../../support/api.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database.ts';
import { testEvents } from '../../support/events.ts';
import { eventually } from '../../support/eventually.ts';
import { addWebhook, deliveriesOf, publishSent } from '../../support/webhooks.ts';

const URL = 'https://127.0.0.1/hook';
/** A status that the database refuses to write while the constraint exists. */
const REFUSED = 599;
const constrain = `alter table webhook_attempts add constraint refused check (response_code <> ${REFUSED}) not valid`;
const relax = 'alter table webhook_attempts drop constraint if exists refused';

let test: TestDatabase;
let tenant: TestTenant;
let recorder: AttemptRecorder;
let hook: number;
let due: DueDelivery[];
let recorded: number[];
let logged: Record<string, unknown>[];

beforeAll(async () => {
  test = await createTestDatabase();
  tenant = await createTestTenant(test.database, 'Recorded');
});
afterAll(() => test.drop());
beforeEach(async () => {
  const { pool } = test.database;
  await pool.query(constrain);
  hook = (await addWebhook(test.database, tenant, URL)).id;
  await publishSent(test.database, tenant, [1, 2, 3, 4]);
  const { rows } = await pool.query<DueDelivery>(
    `select d.id as "deliveryId", ${exactTime('d.created_at')} as "createdAt", d.webhook_id as "webhookId",
       d.generation, 1 as attempt, d.event_id as "eventId", d.type, now() as "occurredAt", '{}' as data
     from webhook_deliveries d where d.webhook_id = $1 order by d.id`,
    [hook],
  );
  due = rows;
  recorded = [];
  logged = [];
  recorder = createAttemptRecorder({
    pool,
    schedule: [60],
    systemFrom: 'carillon@mail.test',
    events: testEvents,
    waker: { wake: () => undefined },
    log: pino({}, { write: (line: string) => void logged.push(JSON.parse(line)) }),
    onRecorded: (results) => void recorded.push(...results.map((result) => result.due.deliveryId)),
  });
});
afterEach(async () => {
  await test.database.pool.query(relax);
  await recorder.settled();
});

function made(index: number, responseCode: number): void {
  const each = due[index];
  if (!each) throw new Error('no such delivery');
  const delivered = responseCode < 300;
  const error = delivered ? null : `status ${responseCode}`;
  const times = { startedAt: new Date(), durationMs: 1, timedOut: false, retryAfterSeconds: null };
  recorder.made({
    due: each,
    url: URL,
    outcome: { ...times, delivered, responseCode, error, excerpt: null },
  });
}

const statuses = async () => (await deliveriesOf(test.database, hook)).map((row) => row.status);

describe('an attempt that the database refuses to record', () => {
  it('does not delay others, and is recorded as soon as it can be', async () => {
    made(0, REFUSED);
    made(1, 200);
    await eventually(async () => expect((await statuses())[1]).toBe('delivered'));
    made(2, REFUSED);
    made(3, 200);
    await eventually(async () => expect((await statuses())[3]).toBe('delivered'));
    expect(await statuses()).toEqual(['pending', 'delivered', 'pending', 'delivered']);
    await eventually(() => expect(logged.map((line) => line.delivery_id)).toContain(due[0]?.deliveryId));
    await test.database.pool.query(relax);
    await recorder.settled();
    expect(await statuses()).toEqual(['retrying', 'delivered', 'retrying', 'delivered']);
    expect(recorded.toSorted()).toEqual(due.map((each) => each.deliveryId));
  }, 60_000);

  it('is given up when the recorder is closed', async () => {
    made(0, REFUSED);
    made(1, 200);
    await eventually(async () => expect((await statuses())[1]).toBe('delivered'));
    await recorder.close();
    expect(recorded).toEqual([due[1]?.deliveryId]);
    await test.database.pool.query(relax);
    await recorder.settled();
    expect(await statuses()).toEqual(['pending', 'delivered', 'pending', 'pending']);
  });
});
