// Urgent outbox entries never wait for bulk starts, and accounts share the starts fairly.
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import pino from 'pino';
import { loadConfig } from '../../../src/config.ts';
import { createWaker, type Waker } from '../../../src/platform/db/wake.ts';
import { appendToOutbox, type OutboxPriority } from '../../../src/platform/outbox/append.ts';
import { claimBulkEntries, claimEntries } from '../../../src/platform/outbox/claims.ts';
import { createDispatcher, type Dispatcher } from '../../../src/platform/outbox/dispatcher.ts';
import { openEngine, type Engine } from '../../../src/platform/temporal/connection.ts';
import type { OutboxEntry } from '../../../src/platform/temporal/contract.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database.ts';
import { useEngine } from '../../support/engine.ts';
import { testPulse } from '../../support/pulse.ts';
import { until } from '../../workflows/until.ts';

const log = pino({ level: 'silent' });

let db: TestDatabase;
let waker: Waker;
let engine: Engine;
const dispatchers: Dispatcher[] = [];

beforeAll(async () => {
  const test = await useEngine();
  db = await createTestDatabase({ poolMax: 12 });
  waker = createWaker({ url: db.url });
  engine = openEngine(loadConfig({ TEMPORAL_ADDRESS: test.address, TEMPORAL_NAMESPACE: test.namespace }));
}, 120_000);

afterEach(async () => {
  for (const dispatcher of dispatchers.splice(0)) await dispatcher.stop();
  await db.database.pool.query('delete from outbox');
});

afterAll(async () => {
  await engine.close();
  await waker.close();
  await db.drop();
});

const start = (workflowId: string): OutboxEntry => ({
  kind: 'start',
  workflowType: 'noWorkerRunsThis',
  workflowId,
});

const starts = (name: string, count: number) =>
  Array.from({ length: count }, (_, n) => start(`${name}/${n}`));

const startsOf = (accountId: number, name: string, count: number) =>
  starts(name, count).map((entry) => ({ ...entry, searchAttributes: { AccountId: accountId } }));

const append = (entries: OutboxEntry[], priority: OutboxPriority) =>
  appendToOutbox(db.database.pool, entries, priority);

const idsOf = (claims: readonly { entry: OutboxEntry | null }[]) =>
  claims.map(({ entry }) => entry?.workflowId);

describe('the priorities of the outbox', () => {
  it('come before the order of the entries', async () => {
    await append(starts('start', 3), 2);
    await append(starts('signal', 2), 1);
    await append(starts('campaign', 2), 0);
    expect(idsOf(await claimEntries(db.database.pool, 10, 60))).toEqual([
      ...['campaign/0', 'campaign/1', 'signal/0', 'signal/1'],
    ]);
    expect(idsOf(await claimBulkEntries(db.database.pool, 10, 60))).toEqual([
      'start/0',
      'start/1',
      'start/2',
    ]);
  });

  it('let 64 entries of the last be leased at once, however many dispatchers claim', async () => {
    await append(starts('bulk', 200), 2);
    const claims = await Promise.all(
      Array.from({ length: 10 }, () => claimBulkEntries(db.database.pool, 16, 60)),
    );
    const claimed = claims.flat().map(({ id }) => id);
    expect(claimed).toHaveLength(64);
    expect(new Set(claimed).size).toBe(64);
    await db.database.pool.query('delete from outbox where id = any($1)', [claimed.slice(0, 5)]);
    expect(await claimBulkEntries(db.database.pool, 16, 60)).toHaveLength(5);
  });

  it('let an account start a run beside thousands that another account asked for before', async () => {
    await append(startsOf(1, 'archived', 5_000), 2);
    await append(startsOf(2, 'signed-up', 1), 2);
    const claimed = idsOf(await claimBulkEntries(db.database.pool, 16, 60));
    expect(claimed).toHaveLength(16);
    expect(claimed).toContain('signed-up/0');
    expect(claimed).toContain('archived/14');
  });

  it('let no account wait for more accounts than one claim has room for', async () => {
    for (let account = 1; account <= 20; account += 1) {
      await append(startsOf(account, `account${account}`, 50), 2);
    }
    await append(startsOf(21, 'last', 1), 2);
    const claimed = new Set<string | undefined>();
    for (let claims = 0; claims < 40; claims += 1) {
      const entries = await claimBulkEntries(db.database.pool, 16, 60);
      for (const id of idsOf(entries)) claimed.add(id);
      await db.database.pool.query('delete from outbox where id = any($1)', [entries.map(({ id }) => id)]);
    }
    expect(claimed.has('last/0')).toBe(true);
  });

  it('do not count entries that wait because the engine refused them', async () => {
    await append(starts('bulk', 100), 2);
    await db.database.pool.query(
      `update outbox set leased_until = now() + interval '5 minutes', last_error = 'refused'
       where id in (select id from outbox order by id limit 40)`,
    );
    expect(await claimBulkEntries(db.database.pool, 16, 10)).toHaveLength(16);
  });

  it('let nothing wait for thousands of starts', async () => {
    const { pool } = db.database;
    await pool.query(`
      create table sent (place serial, workflow_id text);
      create function note_sent() returns trigger language plpgsql as $$ begin
        insert into sent (workflow_id) values (old.workflow_id); return null; end $$;
      create trigger note_sent after delete on outbox for each row execute function note_sent()`);
    try {
      await append(starts('burst', 200), 2);
      dispatchers.push(
        createDispatcher({
          database: db.database,
          client: engine.client,
          waker,
          pulse: testPulse(db.database.pool),
          log,
        }),
      );
      await until(async () => (await pool.query('select from sent')).rows.length >= 20);
      await append([start('during/campaign')], 0);
      await append([start('during/signal')], 1);
      waker.wake('outbox');
      await until(async () => (await pool.query('select from outbox')).rows.length === 0, 120_000);
      const { rows } = await pool.query<{ workflow_id: string }>(
        'select workflow_id from sent order by place',
      );
      const order = rows.map((row) => row.workflow_id);
      expect(order).toHaveLength(202);
      // The starts that follow were in the outbox long before.
      expect(order.indexOf('during/campaign')).toBeLessThan(120);
      expect(order.indexOf('during/signal')).toBeLessThan(120);
    } finally {
      await pool.query('drop trigger note_sent on outbox; drop function note_sent; drop table sent');
    }
  }, 150_000);

  it('are claimed by an index, beside thousands of entries that wait', async () => {
    const { pool } = db.database;
    await pool.query(
      `insert into outbox (kind, workflow_type, workflow_id, priority, leased_until)
       select 'start', 'x', 'x' || n, case when n % 1000 = 0 then 0 else 2 end,
         case when n % 500 = 1 then now() + interval '5 seconds' end
       from generate_series(1, 20000) n`,
    );
    await pool.query('analyze outbox');
    const plan = async (sql: string) => {
      const { rows } = await pool.query<{ 'QUERY PLAN': string }>(`explain ${sql}`);
      return rows.map((row) => row['QUERY PLAN']).join('\n');
    };
    expect(
      await plan(`select id from outbox where priority < 2 and (leased_until is null or leased_until <= now())
        order by priority, id limit 64 for update skip locked`),
    ).toMatch(/Index Scan using outbox_priority/);
    const bulk = await plan(`select id from outbox where account_id = 0 and priority = 2
      and (leased_until is null or leased_until <= now()) order by id limit 16`);
    expect(bulk).toMatch(/Index Scan using outbox_(bulk|pkey)/);
    expect(
      await plan(`select count(*) from outbox
        where priority = 2 and leased_until > now() and leased_until <= now() + interval '10 seconds'`),
    ).toMatch(/using outbox_leased/);
  });
});
