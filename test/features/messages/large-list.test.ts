// The message list reads few rows for every filter, however many messages the brand has.
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import pino from 'pino';
import { loadConfig } from '../../../src/config.ts';
import { listMessages, type MessageFilters } from '../../../src/features/messages/list.ts';
import { upkeep } from '../../../src/features/upkeep.ts';
import type { Tenant } from '../../../src/platform/auth/tenant.ts';
import { type Database, openDatabase } from '../../../src/platform/db/database.ts';
import { startTestApi, type TestApi } from '../../support/api.ts';

const MESSAGES = 60_000;
/** Maximum number of rows that a list reads without an index: page, count and end read 5,000 each. */
const BOUNDED_ROWS = 16_000;
/** Maximum number of rows that a list reads with an index. */
const FEW_ROWS = 500;
/** One message per minute. The last one is a minute old. */
const START = Date.now() - MESSAGES * 60_000;
const timeOf = (n: number) => new Date(START + n * 60_000).toISOString();

let api: TestApi;
/** A single connection, so that the statistics are those of the lists only. */
let one: Database;
let tenant: Tenant;
let first: number;

beforeAll(async () => {
  api = await startTestApi();
  const { pool } = api.database;
  const { rows } = await pool.query<{ id: number }>(
    `insert into messages (account_id, brand_id, channel, status, to_address, to_key, created_at)
     select $1, $2, 'email', case when n = 10 then 'failed' else 'sent' end, 'a@example.com', 'a@example.com',
       $3::timestamptz + n * interval '1 minute'
     from generate_series(0, $4 - 1) n returning id`,
    [api.accountId, api.brandId, new Date(START), MESSAGES],
  );
  first = rows[0]?.id ?? 0;
  await pool.query(
    `with m as (update messages set idempotency_key = 'order-7' where id = $1 returning brand_id, id)
     insert into idempotency_keys (brand_id, endpoint, key, fingerprint, status, resource_id)
     select brand_id, 'POST /v1/my/messages', 'order-7', '\\x00', 201, id from m`,
    [first + 20],
  );
  await pool.query('vacuum analyze messages');
  one = openDatabase({ url: api.database.url, poolMax: 1 });
  const deps = {
    config: loadConfig({}),
    database: one,
    log: pino({ level: 'silent' }),
    ...upkeep,
  };
  const counts = upkeep.tasks.find(({ name }) => name === 'message_daily_counts');
  await counts?.run(deps, new Date(), () => undefined);
  tenant = { accountId: api.accountId, brandId: api.brandId } as Tenant;
}, 60_000);
afterAll(async () => {
  await one.close();
  await api.close();
});

async function rowsRead(): Promise<number> {
  await one.pool.query('select pg_stat_force_next_flush()');
  const { rows } = await api.database.pool.query<{ read: number }>(
    `select sum(seq_tup_read + idx_tup_fetch)::int as read from pg_stat_user_tables where relname ~ '^messages_'`,
  );
  return rows[0]?.read ?? 0;
}

/** Lists a page, by default the first. @returns the ids of the page, counted from 0 as the oldest, and the rows that were read */
async function list(filters: MessageFilters, limit = 25, offset = 0) {
  const before = await rowsRead();
  const page = { number: offset / limit + 1, limit, offset, after: null };
  const { rows, counted } = await listMessages(one.pool, tenant, filters, page);
  return { found: rows.map(({ id }) => id - first), counted, read: (await rowsRead()) - before };
}

describe('a list of many messages', () => {
  it('is read from its newest end', async () => {
    const { found, read } = await list({}, 2);
    expect(found).toEqual([MESSAGES - 1, MESSAGES - 2]);
    expect(read).toBeLessThan(FEW_ROWS);
  });

  it('reads a deep page from the day in which it begins', async () => {
    const { found, read } = await list({}, 100, 50_000);
    expect(found).toEqual(Array.from({ length: 100 }, (_, n) => MESSAGES - 50_001 - n));
    // A day has 1,440 messages; those of the open days are counted once for the page, and once for the total.
    expect(read).toBeLessThan(8 * 1_440);
  });

  it('lists each message once, whichever day a page begins in', async () => {
    const found: number[] = [];
    for (let offset = 0; offset < MESSAGES; offset += 1_250)
      found.push(...(await list({}, 1_250, offset)).found);
    expect(found).toEqual(Array.from({ length: MESSAGES }, (_, n) => MESSAGES - 1 - n));
  });

  it('finds old dates without reading newer messages', async () => {
    const { found, counted, read } = await list({ createdAfter: timeOf(99), createdBefore: timeOf(103) });
    expect(found).toEqual([102, 101, 100]);
    expect(counted).toEqual({ total: 3 });
    expect(read).toBeLessThan(FEW_ROWS);
  });

  it('finds the last messages before a date', async () => {
    const { found } = await list({ createdBefore: timeOf(1_000) }, 2);
    expect(found).toEqual([999, 998]);
  });

  it('finds nothing outside the time of its messages', async () => {
    expect(await list({ createdBefore: timeOf(-10) })).toMatchObject({ found: [], counted: { total: 0 } });
    expect(await list({ createdAfter: timeOf(MESSAGES + 10) })).toMatchObject({
      found: [],
      counted: { total: 0 },
    });
  });

  it('finds an idempotency key by an index', async () => {
    const { found, counted, read } = await list({ idempotencyKey: 'order-7' });
    expect(found).toEqual([20]);
    expect(counted).toEqual({ total: 1 });
    expect(read).toBeLessThan(FEW_ROWS);
  });

  it.each<[string, MessageFilters]>([
    ['a rare status', { status: 'failed' }],
    ['a common status', { status: 'sent' }],
    ['a status of the queue', { status: 'queued' }],
    ['messages under an intent', { status: 'sending' }],
    ['a rare channel', { channel: 'sms' }],
    ['an unknown idempotency key', { idempotencyKey: 'none' }],
    ['a date and a status', { status: 'failed', createdBefore: timeOf(MESSAGES - 10) }],
  ])('reads a bounded number of messages for %s', async (_name, filters) => {
    expect((await list(filters)).read).toBeLessThan(BOUNDED_ROWS);
  });

  it('links to all messages of a rare status, page by page, and marks the total as an estimate', async () => {
    let path: string | undefined = '/v1/my/messages?status=failed';
    const found: number[] = [];
    for (let pages = 0; path !== undefined && pages < 20; pages++) {
      const response: Awaited<ReturnType<typeof api.request>> = await api.request('GET', path);
      expect(response.headers.get('x-total-count-estimated')).toBe('true');
      found.push(...response.list.map(({ id }) => Number(id) - first));
      const next = /<([^>]+)>; rel="next"/.exec(response.headers.get('link') ?? '')?.[1];
      path = next === undefined ? undefined : new URL(next).pathname + new URL(next).search;
    }
    expect(found).toEqual([10]);
    expect(path).toBeUndefined();
  });
});
