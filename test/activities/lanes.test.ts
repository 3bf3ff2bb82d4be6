// One lane at a time controls a sender, and a process takes a lane only if its former process has ended.
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { Client, Connection } from '@temporalio/client';
import { MockActivityEnvironment } from '@temporalio/testing';
import { DefaultLogger } from '@temporalio/worker';
import pino from 'pino';
import { createLaneActivities, type LaneDependencies } from '../../activities/lanes.ts';
import { upkeep } from '../../src/features/upkeep.ts';
import { adoptLane, planLanes, readLaneMode, recordLaneMode } from '../../src/platform/lanes/rows.ts';
import { registerProcess, type LiveProcess } from '../../src/platform/processes/process.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { testPulse } from '../support/pulse.ts';
import { createTestLoop, type TestLoop } from '../workflows/test-loop.ts';
import { until } from '../workflows/until.ts';

const log = pino({ level: 'silent' });

let db: TestDatabase;
let live: LiveProcess;
let loop: TestLoop;

const first = { kind: 'send', n: 1 } as const;
const second = { kind: 'send', n: 2 } as const;

function activities(rest: Partial<LaneDependencies> = {}) {
  return createLaneActivities({
    database: db.database,
    loops: [loop],
    pulse: testPulse(db.database.pool),
    log,
    ...rest,
  });
}

function mockEnvironment(client?: Client): MockActivityEnvironment {
  return new MockActivityEnvironment({}, { client, logger: new DefaultLogger('ERROR', () => undefined) });
}

async function lanes() {
  const { rows } = await db.database.pool.query<{ n: number; process_id: number | null }>(
    `select n, process_id from lanes where kind = 'send' order by n`,
  );
  return rows;
}

beforeAll(async () => {
  db = await createTestDatabase();
  live = await registerProcess({ url: db.url }, 'sender', upkeep.processWork);
}, 60_000);

beforeEach(async () => {
  await db.database.pool.query('delete from lanes');
  await db.database.pool.query('delete from processes where id <> $1', [live.id()]);
  await db.database.pool.query(`insert into lanes (kind, n) values ('send', 1), ('send', 2)`);
  loop = createTestLoop('send', live.id() ?? 0);
});

afterAll(async () => {
  await live.close();
  await db.drop();
});

describe('attachLane', () => {
  it('fails retryably if the loop shows another lane', async () => {
    const { attachLane, detachAll } = activities();
    const attached = mockEnvironment().run(attachLane, first);
    await expect(mockEnvironment().run(attachLane, second)).rejects.toMatchObject({
      type: 'loop_taken',
      nonRetryable: false,
      category: 'BENIGN',
    });
    detachAll();
    await expect(attached).rejects.toMatchObject({
      type: 'detached',
      nonRetryable: false,
      category: 'BENIGN',
    });
  });

  it('takes over from an attempt of the same lane that the engine gave up on', async () => {
    const { attachLane, detachAll } = activities();
    const old = mockEnvironment().run(attachLane, first);
    const fresh = mockEnvironment().run(attachLane, first);
    await expect(old).rejects.toMatchObject({ type: 'detached' });
    await expect(mockEnvironment().run(attachLane, second)).rejects.toMatchObject({
      type: 'loop_taken',
    });
    detachAll();
    await expect(fresh).rejects.toMatchObject({ type: 'detached' });
  });

  it('fails retryably if the process has no loop of that kind', async () => {
    const webhookLane = { kind: 'webhook', n: 1 } as const;
    const attached = mockEnvironment().run(activities().attachLane, webhookLane);
    await expect(attached).rejects.toMatchObject({ type: 'loop_missing', nonRetryable: false });
  });

  it('fails retryably at first if the process took over another lane at its start', async () => {
    const { attachLane } = activities({ own: new Map([['send', 2]]) });
    await expect(mockEnvironment().run(attachLane, first)).rejects.toMatchObject({
      type: 'other_lane_first',
      nonRetryable: false,
      category: 'BENIGN',
    });
  });

  it('ends when it is cancelled, without changing the loop', async () => {
    const env = mockEnvironment();
    const heartbeats: unknown[] = [];
    env.on('heartbeat', (report: unknown) => heartbeats.push(report));
    const attached = env.run(activities().attachLane, first);
    await until(() => heartbeats.length > 0);
    env.cancel('CANCELLED');
    await expect(attached).rejects.toMatchObject({ name: 'CancelledFailure' });
    expect(heartbeats[0]).toMatchObject({ processId: live.id(), mode: 'running' });
    expect(loop.modes).toEqual([]);
  });

  it('repeats a report that did not reach the workflow', async () => {
    let tries = 0;
    const signal = async () => {
      tries += 1;
      throw new Error('the engine is unavailable');
    };
    const connection = Connection.lazy({ address: '127.0.0.1:1' });
    const client = new Client({ connection, interceptors: { workflow: [{ signal }] } });
    const { attachLane, detachAll } = activities({ reportMinMs: 100 });
    const attached = mockEnvironment(client).run(attachLane, first);
    await until(() => tries > 1, 40_000);
    detachAll();
    await expect(attached).rejects.toMatchObject({ type: 'detached' });
  }, 60_000);

  it('does not change the loop while the database is unavailable', async () => {
    await recordLaneMode(db.database.pool, first, 'paused');
    const other = await createTestDatabase();
    await other.drop();
    const { attachLane, detachAll } = activities({ database: other.database });
    const env = mockEnvironment();
    let heartbeats = 0;
    env.on('heartbeat', () => (heartbeats += 1));
    const attached = env.run(attachLane, first);
    await until(() => heartbeats > 1);
    detachAll();
    await expect(attached).rejects.toMatchObject({ type: 'detached' });
    expect(loop.modes).toEqual([]);
  });
});

describe('lane rows', () => {
  it('exist once for each live sender', async () => {
    await db.database.pool.query('delete from lanes');
    await db.database.pool.query(`insert into processes (role, host, pid) values ('sender', 'killed', 1)`);
    await planLanes(db.database.pool, 'send');
    expect(await lanes()).toEqual([{ n: 1, process_id: null }]);
  });

  it('keep the operator’s mode, and return to the process that had them', async () => {
    await recordLaneMode(db.database.pool, second, 'paused');
    await db.database.pool.query('update lanes set process_id = $1 where n = 2', [live.id()]);
    expect(await adoptLane(db.database.pool, 'send', live.id() ?? 0)).toEqual({ n: 2, mode: 'paused' });
    expect(await readLaneMode(db.database.pool, first)).toBe('running');
  });

  it('are taken from a process that ended, never from a live one', async () => {
    const other = await registerProcess({ url: db.url }, 'sender', upkeep.processWork);
    await db.database.pool.query('update lanes set process_id = case n when 1 then $1::bigint else 0 end', [
      other.id(),
    ]);
    expect(await adoptLane(db.database.pool, 'send', live.id() ?? 0)).toMatchObject({ n: 2 });
    await other.close();
    await db.database.pool.query('update lanes set process_id = null where n = 2');
    expect(await adoptLane(db.database.pool, 'send', live.id() ?? 0)).toMatchObject({ n: 1 });
  });
});
