// A connection that the reaper may not end does not keep it from recovering other dead processes.
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import pg from 'pg';
import pino from 'pino';
import { LIVENESS_APPLICATION, LIVENESS_LOCK } from '../../../src/platform/processes/liveness-lock.ts';
import { type LiveProcess, registerProcess } from '../../../src/platform/processes/process.ts';
import { startReaper } from '../../../src/platform/processes/reaper.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database.ts';
import { testPulse } from '../../support/pulse.ts';
import { eventually } from '../../support/eventually.ts';

/** May see every connection, but end only its own. */
const ROLE = `reaper_${process.pid}`;
const RECOVERED_MS = 60_000;

let test: TestDatabase;
let own: LiveProcess;
let pool: pg.Pool;
let holder: pg.Client;

beforeAll(async () => {
  test = await createTestDatabase();
  const admin = test.database.pool;
  await admin.query(`create role ${ROLE} login password 'reaper' in role pg_read_all_stats`);
  await admin.query(`grant all on all tables in schema public to ${ROLE}`);
  await admin.query(`grant all on all sequences in schema public to ${ROLE}`);
  const url = new URL(test.url);
  url.username = ROLE;
  url.password = 'reaper';
  pool = new pg.Pool({ connectionString: url.href });
  own = await registerProcess({ url: url.href }, 'sender', []);
  holder = new pg.Client({ connectionString: test.url, application_name: LIVENESS_APPLICATION });
  await holder.connect();
});
afterAll(async () => {
  await holder.end();
  await own.close();
  await pool.end();
  await test.database.pool.query(`drop owned by ${ROLE}`);
  await test.database.pool.query(`drop role ${ROLE}`);
  await test.drop();
});

async function insertSilentProcess(): Promise<number> {
  const { rows } = await test.database.pool.query<{ id: number }>(
    `insert into processes (role, host, pid, seen_at) values ('sender', 'gone', 1, now() - interval '1 hour')
     returning id`,
  );
  return rows[0]?.id ?? 0;
}

it('recovers the other processes if it may not end the connection of one', async () => {
  const refused = await insertSilentProcess();
  await holder.query('select pg_advisory_lock($1, $2)', [LIVENESS_LOCK, refused]);
  const dead = await insertSilentProcess();
  const recovered: number[] = [];
  const logged: Record<string, unknown>[] = [];
  const reaper = startReaper({
    pool,
    process: own,
    work: [
      {
        ownedSql: () => 'false',
        recover: (_client, id) => Promise.resolve(void recovered.push(id)),
        wakes: 'send',
      },
    ],
    waker: { wake: () => undefined },
    pulse: testPulse(pool),
    log: pino({}, { write: (line: string) => void logged.push(JSON.parse(line)) }),
  });
  try {
    await eventually(() => expect(recovered).toEqual([dead]), RECOVERED_MS);
  } finally {
    await reaper.stop();
  }
  expect(logged).toContainEqual(
    expect.objectContaining({ process: refused, err: expect.objectContaining({ code: '42501' }) }),
  );
}, 90_000);
