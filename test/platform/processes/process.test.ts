// A live process keeps its row and lock across lost connections, and registers again if its row is gone.
import { afterAll, afterEach, beforeAll, expect, it } from '@jest/globals';
import { connectionSettings } from '../../../src/platform/db/database.ts';
import { Heartbeat } from '../../../src/platform/processes/heartbeat.ts';
import { type LiveProcess, registerProcess } from '../../../src/platform/processes/process.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database.ts';
import { eventually } from '../../support/eventually.ts';
import { endHeartbeatConnection, lockHolder, processIds, silentSeconds } from './backends.ts';

let test: TestDatabase;
let opened: LiveProcess[] = [];

beforeAll(async () => {
  test = await createTestDatabase();
});
afterAll(() => test.drop());
afterEach(async () => {
  await Promise.all(opened.map((live) => live.close()));
  opened = [];
});

async function register(): Promise<{ live: LiveProcess; id: number }> {
  const live = await registerProcess({ url: test.url }, 'sender', []);
  opened.push(live);
  return { live, id: live.id() ?? 0 };
}

it('has a row and its lock until it is closed', async () => {
  const { live, id } = await register();
  expect(await processIds(test.database)).toEqual([id]);
  expect(await lockHolder(test.database, id)).not.toBeNull();
  await live.close();
  expect(await processIds(test.database)).toEqual([]);
  expect(live.id()).toBeNull();
});

it('replaces a lost connection and keeps its id', async () => {
  const { live, id } = await register();
  for (let times = 0; times < 3; times += 1) {
    const former = await lockHolder(test.database, id);
    await endHeartbeatConnection(test.database, id);
    expect(live.id()).toBe(id);
    await eventually(async () => {
      const holder = await lockHolder(test.database, id);
      expect(holder).not.toBeNull();
      expect(holder).not.toBe(former);
    });
  }
  expect(live.id()).toBe(id);
  expect(await processIds(test.database)).toEqual([id]);
});

it('takes its lock over from a connection that no longer responds', async () => {
  const { live, id } = await register();
  const stuck = (await lockHolder(test.database, id)) ?? 0;
  process.kill(stuck, 'SIGSTOP');
  try {
    // The heartbeat has given up the connection when another one waits for its lock.
    await eventually(async () => {
      const { rowCount } = await test.database.pool.query(
        `select 1 from pg_locks l join pg_stat_activity a using (pid)
         where a.application_name = 'carillon alive' and l.locktype = 'advisory' and not l.granted`,
      );
      expect(rowCount).toBeGreaterThan(0);
    }, 60_000);
    expect(await processIds(test.database)).toEqual([id]);
  } finally {
    process.kill(stuck, 'SIGCONT');
  }
  await eventually(async () => {
    const holder = await lockHolder(test.database, id);
    expect(holder).not.toBeNull();
    expect(holder).not.toBe(stuck);
  }, 60_000);
  expect(live.id()).toBe(id);
}, 70_000);

it('registers again, under another id, after its row was deleted', async () => {
  const { live, id } = await register();
  await test.database.pool.query('delete from processes where id = $1', [id]);
  await eventually(async () => {
    expect(live.id()).not.toBe(id);
    expect(await processIds(test.database)).toEqual([live.id()]);
    expect(await lockHolder(test.database, live.id() ?? 0)).not.toBeNull();
  });
});

it('is not registered if the database is unavailable', async () => {
  const url = new URL(test.url);
  url.port = '1';
  await expect(registerProcess({ url: url.href }, 'sender', [])).rejects.toMatchObject({
    code: 'ECONNREFUSED',
  });
});

it('gives up its lock while its event loop is hung, and takes it again afterwards', async () => {
  const pulse = new SharedArrayBuffer(4);
  const ids: number[] = [];
  const heartbeat = new Heartbeat(
    {
      connection: connectionSettings({ url: test.url }),
      role: 'sender',
      host: 'here',
      pid: process.pid,
      id: null,
      deleteIfIdleSql: 'delete from processes where id = $1',
      pulse,
      maxBeatsWithoutPulse: 2,
    },
    ({ id }) => ids.push(id),
  );
  await heartbeat.start();
  const [id = 0] = ids;
  await eventually(async () => expect(await lockHolder(test.database, id)).toBeNull());
  await eventually(async () => expect(await silentSeconds(test.database, id)).toBeGreaterThan(3));
  const pulses = setInterval(() => Atomics.add(new Int32Array(pulse), 0, 1), 100);
  await eventually(async () => expect(await lockHolder(test.database, id)).not.toBeNull());
  expect(await silentSeconds(test.database, id)).toBeLessThan(3);
  await heartbeat.stop();
  clearInterval(pulses);
  expect(await processIds(test.database)).toEqual([]);
});
