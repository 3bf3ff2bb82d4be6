// A sender uses at most twelve PostgreSQL connections, however many provider connections it has.
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { loadConfig } from '../../src/config.ts';
import { run } from '../../src/roles/sender.ts';
import { TEST_SECRET } from '../support/api.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { eventually } from '../support/eventually.ts';
import { insertAccount, queueEmails, statusCounts } from '../support/queued.ts';
import { startSmtpServer, type TestSmtpServer } from '../support/sending.ts';

const MAX_CONNECTIONS = 12;
const MESSAGES = 600;

let test: TestDatabase;
let server: TestSmtpServer;
beforeAll(async () => {
  test = await createTestDatabase({ poolMax: 1 });
  server = await startSmtpServer();
});
afterAll(async () => {
  await server.stop();
  await test.drop();
});

/** Connections to the database, except that of this test. */
async function connections(): Promise<number> {
  const { rows } = await test.database.pool.query<{ count: number }>(
    `select count(*) from pg_stat_activity
     where datname = current_database() and backend_type = 'client backend' and pid <> pg_backend_pid()`,
  );
  return rows[0]?.count ?? 0;
}

it('has at most twelve connections to PostgreSQL, however many it has to its provider', async () => {
  const account = await insertAccount(test.database);
  await queueEmails(test.database, account, MESSAGES);
  const role = await run(
    loadConfig({
      DATABASE_URL: test.url,
      APP_SECRET: TEST_SECRET,
      EMAIL_PROVIDER_URL: `smtp://127.0.0.1:${server.port}?tls=off&dkim=off`,
      SENDER_CONNECTIONS: '40',
      TEMPORAL_ADDRESS: '127.0.0.1:1',
      LOG_LEVEL: 'silent',
    }),
  );
  let most = 0;
  try {
    await eventually(async () => {
      most = Math.max(most, await connections());
      expect((await statusCounts(test.database)).sent).toBe(MESSAGES);
    }, 60_000);
  } finally {
    await role.stop();
  }
  expect(most).toBeLessThanOrEqual(MAX_CONNECTIONS);
  expect(most).toBeGreaterThan(2);
}, 90_000);
