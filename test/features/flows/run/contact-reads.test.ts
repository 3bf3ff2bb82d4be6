// A run reads times, time zones, split percentiles and step results of its contact exactly.
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { readStepOutputs } from '../../../../src/features/flows/filters.ts';
import { createContactReads, percentileOf } from '../../../../src/features/flows/run/contact-reads.ts';
import { createTestDatabase, type TestDatabase } from '../../../support/database.ts';
import { insertFlow, insertRun } from '../../../support/flow-runs.ts';
import { insertAccount, type QueuedAccount } from '../../../support/queued.ts';

let db: TestDatabase;
let account: QueuedAccount;
const pool = () => db.database.pool;
const AS_OF = new Date('2026-03-10T12:00:00Z');

beforeAll(async () => {
  db = await createTestDatabase();
  account = await insertAccount(db.database);
});
afterAll(() => db.drop());

async function insertContact(data: object = {}, country: string | null = null): Promise<number> {
  const { rows } = await pool().query<{ id: number }>(
    `insert into contacts (account_id, brand_id, data, country_code, email_opt_in_at, created_at)
     values ($1, $2, $3, $4, '2026-01-02T03:04:05Z', '2026-01-01T00:00:00Z') returning id`,
    [account.accountId, account.brandId, JSON.stringify(data), country],
  );
  return rows[0]?.id ?? 0;
}

const factsOf = (contactId: number, changes?: { data: Record<string, unknown> }) =>
  createContactReads(pool(), () => ({
    ...{ flowId: 1, brandId: account.brandId, contactId, asOf: AS_OF, trigger: null },
    steps: () => Promise.resolve(new Map()),
    ...(changes && { changes: { ...changes, lists: new Map(), events: [] } }),
  }));

describe('the time in a field', () => {
  it('is read from columns and from data', async () => {
    const contactId = await insertContact({ due: '2026-05-01', at: { end: '2026-05-01T10:00:00+02:00' } });
    await pool().query(`insert into contact_activity values ($1, '2026-02-03T00:00:00Z')`, [contactId]);
    const { timeOf } = factsOf(contactId);
    const read = async (field: string) => {
      const time = await timeOf(field);
      return time instanceof Date ? time.toISOString() : time;
    };
    expect(await read('data.due')).toBe('2026-05-01T00:00:00.000Z');
    expect(await read('data.at.end')).toBe('2026-05-01T08:00:00.000Z');
    expect(await read('email_opt_in_at')).toBe('2026-01-02T03:04:05.000Z');
    expect(await read('created_at')).toBe('2026-01-01T00:00:00.000Z');
    expect(await read('last_interacted_at')).toBe('2026-02-03T00:00:00.000Z');
    expect(await read('phone_opt_in_at')).toBeNull();
  });

  it('is null if it is missing or blank', async () => {
    const { timeOf } = factsOf(await insertContact({ a: '', b: ' ', c: {}, d: ['2026-05-01'], e: null }));
    const fields = ['a', 'b', 'c', 'd.0', 'e', 'f', 'c.x'].map((path) => `data.${path}`);
    for (const field of [...fields, 'data', 'first_name', 'id']) {
      expect([field, await timeOf(field)]).toEqual([field, null]);
    }
    expect(await factsOf(999_999).timeOf('created_at')).toBeNull();
  });

  it('is unreadable if the value is not a time', async () => {
    const data = { a: 'soon', b: 5, c: ['2026-05-01'], d: '12-04-2022', e: 20260131, f: false };
    const { timeOf } = factsOf(await insertContact(data));
    for (const [key, unreadable] of Object.entries(data)) {
      expect(await timeOf(`data.${key}`)).toEqual({ unreadable });
    }
  });

  it('without a zone is in that of the brand', async () => {
    const { timeOf } = factsOf(
      await insertContact({ day: '2027-06-30', at: '2027-06-30 12:00:00', exact: '2027-06-30 12:00 +0100' }),
    );
    await pool().query(`update brands set timezone = 'Europe/Berlin' where id = $1`, [account.brandId]);
    expect([await timeOf('data.day'), await timeOf('data.at'), await timeOf('data.exact')]).toEqual([
      new Date('2027-06-29T22:00:00Z'),
      new Date('2027-06-30T10:00:00Z'),
      new Date('2027-06-30T11:00:00Z'),
    ]);
    await pool().query('update brands set timezone = null where id = $1', [account.brandId]);
  });

  it('is that of the simulation if this has changed the data', async () => {
    const contactId = await insertContact({ due: '2026-05-01', kept: '2026-06-01' });
    const { timeOf } = factsOf(contactId, { data: { due: null, more: '2026-07-01' } });
    expect([await timeOf('data.due'), await timeOf('data.kept'), await timeOf('data.more')]).toEqual([
      null,
      new Date('2026-06-01'),
      new Date('2026-07-01'),
    ]);
  });
});

it('finds the zone of a contact, of its country, and of its brand', async () => {
  const own = await insertContact({ timezone: 'Asia/Tokyo' }, 'DE');
  const country = await insertContact({ timezone: 'Nowhere' }, 'DE');
  const none = await insertContact();
  const zoneOf = (contactId: number) => factsOf(contactId).timezone();
  expect([await zoneOf(own), await zoneOf(country), await zoneOf(none)]).toEqual([
    ...['Asia/Tokyo', 'Europe/Berlin', 'UTC'],
  ]);
  await pool().query(`update brands set timezone = 'Europe/Paris' where id = $1`, [account.brandId]);
  expect([await zoneOf(none), await zoneOf(country)]).toEqual(['Europe/Paris', 'Europe/Berlin']);
});

it('divides contacts evenly, and always in the same way', () => {
  // These numbers never change: runs under way would take other branches.
  const some = [percentileOf(1, 2, 1), percentileOf(1, 2, 2), percentileOf(1, 2, 3)];
  expect(some.map((number) => number.toFixed(6))).toEqual(['98.279920', '31.991267', '61.684016']);
  const tenths = Array.from({ length: 10 }, () => 0);
  for (let contact = 1; contact <= 10_000; contact += 1) {
    const percentile = percentileOf(7, contact, 3);
    const tenth = Math.floor(percentile / 10);
    tenths[tenth] = (tenths[tenth] ?? 0) + 1;
  }
  expect(tenths).toHaveLength(10);
  for (const count of tenths) expect(Math.abs(count - 1_000)).toBeLessThan(150);
});

it('reads step outputs: webhook responses, opens and clicks of messages', async () => {
  const contactId = await insertContact();
  const flow = await insertFlow(pool(), account, { steps: [] });
  const runId = await insertRun(pool(), account, flow, contactId);
  const { rows } = await pool().query<{ id: number }>(
    `insert into messages (account_id, brand_id, channel, status, to_address, to_key, subject, opened_at)
     values ($1, $2, 'email', 'sent', 'a@b.test', 'a@b.test', 'Hi', $3) returning id`,
    [account.accountId, account.brandId, AS_OF],
  );
  await pool().query(
    `insert into flow_run_steps (run_id, flow_id, step_id, n, type, outcome, detail, message_id, entered_at)
     values ($1, $2, 1, 0, 'webhook', 'done', '{"status": 200, "body": {"vip": true}}', null, now()),
       ($1, $2, 2, 1, 'email', 'sent', null, $3, now()), ($1, $2, 3, 2, 'email', 'skipped', '{"reason": "x"}', null, now())`,
    [runId, flow.id, rows[0]?.id],
  );
  const [outputs] = await readStepOutputs(pool(), [{ runId, ids: [1, 2, 3, 4] }]);
  expect(outputs).toEqual(
    new Map([
      [1, { answer: { status: 200, body: { vip: true } }, openedAt: null, clickedAt: null }],
      [2, { answer: null, openedAt: AS_OF, clickedAt: null }],
      [3, { answer: null, openedAt: null, clickedAt: null }],
    ]),
  );
});
