// Housekeeping removes exactly what has expired, in batches, and daily counts include every message once.
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import pino from 'pino';
import { loadConfig } from '../../../src/config.ts';
import { upkeep } from '../../../src/features/upkeep.ts';
import { inTransaction } from '../../../src/platform/db/queryable.ts';
import { inBatches, type HousekeepingDependencies } from '../../../src/platform/housekeeping/task.ts';
import { registerProcess } from '../../../src/platform/processes/process.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database.ts';

const asOf = new Date('2026-03-10T12:00:00Z');
const at = (text: string) => new Date(`2026-${text}Z`);

let db: TestDatabase;
let deps: HousekeepingDependencies;
let accountId = 0;
let brandId = 0;

async function run(name: string, when: Date = asOf): Promise<number> {
  const task = upkeep.tasks.find((candidate) => candidate.name === name);
  if (!task) throw new Error(`no task ${name}`);
  return task.run(deps, when, () => undefined);
}

async function query<Row extends object>(text: string, values: unknown[] = []): Promise<Row[]> {
  return (await db.database.pool.query<Row>(text, values)).rows;
}

async function insertMessage(id: number, createdAt: Date, brand = brandId): Promise<void> {
  await query(
    `insert into messages (id, account_id, brand_id, channel, status, created_at) values ($1, $2, $3, 'email', 'sent', $4)`,
    [id, accountId, brand, createdAt],
  );
}

const counts = () =>
  query<{ day: string; last_id: number; count: number }>(
    `select to_char(day, 'MM-DD') as day, last_id, count from message_daily_counts where brand_id = $1 order by 1`,
    [brandId],
  );

async function insertBrand(): Promise<number> {
  const [brand] = await query<{ id: number }>('insert into brands (account_id) values ($1) returning id', [
    accountId,
  ]);
  return brand?.id ?? 0;
}

beforeAll(async () => {
  db = await createTestDatabase();
  const config = loadConfig({ MESSAGE_CONTENT_RETENTION_DAYS: '30' });
  deps = { config, database: db.database, log: pino({ level: 'silent' }), ...upkeep };
  const [account] = await query<{ id: number }>('insert into accounts default values returning id');
  accountId = account?.id ?? 0;
}, 60_000);

beforeEach(async () => {
  await query('truncate messages, message_contents, send_queue, message_daily_counts');
  brandId = await insertBrand();
});

afterAll(() => db.drop());

describe('housekeeping tasks', () => {
  it('have different names', () => {
    expect(new Set(upkeep.tasks.map((task) => task.name)).size).toBe(upkeep.tasks.length);
  });

  it('work in batches until nothing is left', async () => {
    for (let id = 1; id <= 25; id += 1) await insertMessage(id, asOf);
    let batches = 0;
    const statement =
      'delete from messages where id = any (array(select id from messages where $1::int = 1 limit $2))';
    expect(await inBatches(deps, statement, [1], () => void (batches += 1), 10)).toBe(25);
    expect(batches).toBe(3);
  });

  it('keep an idempotency key for 7 days', async () => {
    const insert = `insert into idempotency_keys values ($1, 'POST /messages', $2, '\\x00', 201, 1, $3)`;
    await query(insert, [brandId, 'old', at('03-03T11:59:59')]);
    await query(insert, [brandId, 'young', at('03-03T12:00:01')]);
    expect(await run('idempotency_keys')).toBe(1);
    expect(await query('select key from idempotency_keys')).toEqual([{ key: 'young' }]);
  });

  it('delete the buckets of callers that have been quiet for an hour', async () => {
    await query('truncate rate_limit_buckets');
    await query(`insert into rate_limit_buckets values ('quiet', 0, 1, $1), ('busy', 0, 1, $2)`, [
      at('03-10T10:59:59'),
      at('03-10T11:00:01'),
    ]);
    expect(await run('rate_limit_buckets')).toBe(1);
    expect(await query('select caller from rate_limit_buckets')).toEqual([{ caller: 'busy' }]);
  });

  it('delete allowance buckets older than two days', async () => {
    const insert = 'insert into allowance_buckets values ($1, $2, 5)';
    await query(insert, [accountId, at('03-08T11:50:00')]);
    await query(insert, [accountId, at('03-08T12:10:00')]);
    expect(await run('allowance_buckets')).toBe(1);
  });

  it('skip a key or bucket that another transaction has locked', async () => {
    await query('truncate idempotency_keys, allowance_buckets');
    for (const key of ['renewed', 'old'])
      await query(`insert into idempotency_keys values ($1, 'POST /messages', $2, '\\x00', 201, 1, $3)`, [
        brandId,
        key,
        at('03-01T00:00:00'),
      ]);
    for (const bucket of [at('03-08T11:40:00'), at('03-08T11:50:00')])
      await query('insert into allowance_buckets values ($1, $2, 5)', [accountId, bucket]);
    await inTransaction(db.database.pool, async (client) => {
      await client.query(`update idempotency_keys set created_at = $1 where key = 'renewed'`, [asOf]);
      await client.query('update allowance_buckets set used = 4 where bucket = $1', [at('03-08T11:40:00')]);
      expect([await run('idempotency_keys'), await run('allowance_buckets')]).toEqual([1, 1]);
    });
    expect(await query('select key from idempotency_keys')).toEqual([{ key: 'renewed' }]);
    expect(await query('select used from allowance_buckets')).toEqual([{ used: 4 }]);
  });

  it('delete the rows of processes that died a day ago and own nothing', async () => {
    const live = await registerProcess({ url: db.url }, 'sender', upkeep.processWork);
    const insert = `insert into processes (role, host, pid, seen_at) values ('sender', 'h', 1, $1) returning id`;
    const [dead] = await query<{ id: number }>(insert, [at('03-09T11:00:00')]);
    const [owner] = await query<{ id: number }>(insert, [at('03-09T11:00:00')]);
    const [recent] = await query<{ id: number }>(insert, [at('03-09T13:00:00')]);
    await query(`update processes set seen_at = $2 where id = $1`, [live.id(), at('03-09T11:00:00')]);
    await query(
      `insert into handovers (owner, seq, provider, message_ids, attempts) values ($1, 1, 'smtp', '{}', '{}')`,
      [owner?.id],
    );
    expect(await run('dead_processes')).toBe(1);
    const left = await query<{ id: number }>('select id from processes');
    expect(left.map(({ id }) => id).sort()).toEqual([live.id(), owner?.id, recent?.id].sort());
    expect(left.map(({ id }) => id)).not.toContain(dead?.id);
    await live.close();
  });
});

describe('daily counts', () => {
  it('cover closed days, not the current one', async () => {
    await insertMessage(1, at('03-08T10:00:00'));
    await insertMessage(2, at('03-09T00:00:00'));
    await insertMessage(3, at('03-09T23:59:59'));
    await insertMessage(4, at('03-10T00:00:00'));
    expect(await run('message_daily_counts')).toBe(2);
    expect(await counts()).toEqual([
      { day: '03-08', last_id: 1, count: 1 },
      { day: '03-09', last_id: 3, count: 2 },
    ]);
    expect(await run('message_daily_counts')).toBe(0);
  });

  it('wait until an hour after midnight for transactions still open', async () => {
    await insertMessage(1, at('03-09T10:00:00'));
    await run('message_daily_counts', at('03-10T00:59:00'));
    expect(await counts()).toEqual([{ day: '03-08', last_id: 0, count: 0 }]);
    await run('message_daily_counts', at('03-10T01:00:00'));
    expect(await counts()).toContainEqual({ day: '03-09', last_id: 1, count: 1 });
  });

  it('and the rows after the last id count every message once, even if ids and times are in a different order', async () => {
    await insertMessage(1, at('03-09T23:00:00'));
    await insertMessage(2, at('03-10T00:00:01'));
    await insertMessage(3, at('03-09T23:59:59'));
    await insertMessage(4, at('03-10T00:00:02'));
    await run('message_daily_counts');
    expect(await counts()).toEqual([{ day: '03-09', last_id: 3, count: 3 }]);
    await insertMessage(5, at('03-11T08:00:00'));
    await run('message_daily_counts', at('03-11T09:00:00'));
    expect(await counts()).toEqual([
      { day: '03-09', last_id: 3, count: 3 },
      { day: '03-10', last_id: 4, count: 1 },
    ]);
  });

  it('record a day without messages only if newer ones exist, and cover every brand', async () => {
    await insertMessage(1, at('03-08T10:00:00'));
    await insertMessage(2, at('03-10T10:00:00'));
    const others = await Promise.all(Array.from({ length: 120 }, insertBrand));
    const last = others.at(-1) ?? 0;
    await insertMessage(3, at('03-09T10:00:00'), last);
    await run('message_daily_counts');
    expect(await counts()).toEqual([{ day: '03-08', last_id: 1, count: 1 }]);
    await run('message_daily_counts');
    expect(await counts()).toEqual([
      { day: '03-08', last_id: 1, count: 1 },
      { day: '03-09', last_id: 1, count: 0 },
    ]);
    expect(
      await query('select brand_id, count from message_daily_counts where brand_id <> $1', [brandId]),
    ).toEqual([{ brand_id: last, count: 1 }]);
  });
});
