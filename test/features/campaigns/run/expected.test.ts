// A campaign's workflow is expected when it wakes next, so that a sleeping one is not checked every minute.
import { afterAll, beforeAll, beforeEach, expect, it } from '@jest/globals';
import pino from 'pino';
import { createCampaignRun } from '../../../../src/features/campaigns/run/run.ts';
import { evaluationsIn } from '../../../support/campaign-runs.ts';
import { writeCampaign } from '../../../support/campaigns.ts';
import { createTestDatabase, type TestDatabase } from '../../../support/database.ts';
import { testEvents } from '../../../support/events.ts';
import { insertAccount } from '../../../support/queued.ts';
import { TEST_LIMITS } from '../../../support/sending.ts';

const thresholds = {
  ...{ bounceRate: 0.05, minBounces: 10, minCounted: 100 },
  ...{ complaintRate: 0.003, minComplaints: 5 },
};

let db: TestDatabase;
let id: number;
let prefix = 0;

beforeAll(async () => {
  db = await createTestDatabase();
});
afterAll(() => db.drop());
beforeEach(async () => {
  const account = await insertAccount(db.database);
  const size = { recipients: 2, blockSize: 1, prefix: `e${++prefix}-` };
  id = (await writeCampaign(db.database, account, size)).campaignId;
});

const MINUTE = 60;
const LATE = 15;

it.each<[string, string, number]>([
  ['is paused', `status = 'paused'`, 55 * MINUTE],
  ['waits for a time far away', `phase = 'waiting', begin_at = now() + interval '30 days'`, 55 * MINUTE],
  ['waits for a time soon', `phase = 'waiting', begin_at = now() + interval '5 minutes'`, 5 * MINUTE],
  ['waits for an approval', `approval_state = 'pending'`, 10 * MINUTE],
  ['is sent later', `name = 'later'`, 10 * MINUTE],
  ['is sent now', `name = 'now'`, 10],
])('that %s', async (_what, change, seconds) => {
  const { pool } = db.database;
  await pool.query(
    `update campaigns set ${change}, engine_expected_by = now() - interval '1 minute' where id = $1`,
    [id],
  );
  await pool.query(
    `update campaign_blocks b set due_at = now() + case c.name when 'now' then interval '0' else interval '1 day' end
     from campaigns c where c.id = $1 and b.campaign_id = c.id`,
    [id],
  );
  const run = createCampaignRun({
    pool,
    events: testEvents,
    waker: { wake: () => undefined },
    limits: TEST_LIMITS,
    evaluations: evaluationsIn(pool),
    thresholds,
    plusAddresses: false,
    log: pino({ level: 'silent' }),
  });
  const before = Date.now();
  await run.look(id, new Date());
  const { rows } = await pool.query<{ at: Date }>(
    'select engine_expected_by as at from campaigns where id = $1',
    [id],
  );
  const at = rows[0]?.at.getTime() ?? 0;
  expect((at - before) / 1_000).toBeGreaterThan(seconds + LATE - 5);
  expect((at - Date.now()) / 1_000).toBeLessThan(seconds + LATE + 1);
});
