// Heartbeats, notifications and heavy reads use the direct database URL, not the pooler.
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { openHeavyReads } from '../../../src/platform/processes/heavy-reads.ts';
import { createWaker } from '../../../src/platform/db/wake.ts';
import { registerProcess } from '../../../src/platform/processes/process.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database.ts';
import { eventually } from '../../support/eventually.ts';

/** Nothing listens there: a pooler that no session may use. */
const POOLER = 'postgres://carillon@127.0.0.1:1/carillon';

let test: TestDatabase;
beforeAll(async () => {
  test = await createTestDatabase();
});
afterAll(() => test.drop());

it('opens the connection of the heartbeat past the pooler', async () => {
  const live = await registerProcess({ url: POOLER, directUrl: test.url }, 'api', []);
  expect(live.id()).not.toBeNull();
  await live.close();
});

it('listens and notifies past the pooler', async () => {
  const options = { url: POOLER, directUrl: test.url };
  const [one, other] = [createWaker(options), createWaker(options)];
  let heard = 0;
  other.listen('send', () => (heard += 1));
  await eventually(() => {
    one.wake('send');
    expect(heard).toBeGreaterThan(1);
  });
  await one.close();
  await other.close();
});

it('keeps the limits of heavy reads past the pooler, which would ignore them', async () => {
  const reads = openHeavyReads({ url: POOLER, directUrl: test.url });
  const settings = `select current_setting('statement_timeout') as limit, current_setting('work_mem') as memory`;
  const { rows } = await reads.run({ accountId: 1, what: 'settings' }, (client) => client.query(settings));
  expect(rows).toEqual([{ limit: '5s', memory: '64MB' }]);
  await reads.close();
});
