// Audiences that depend on events are evaluated three at a time, one of each account, and nothing else waits for them.
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type pg from 'pg';
import pino from 'pino';
import { type Evaluations, openEvaluations } from '../../../../src/features/campaigns/run/evaluations.ts';
import { readCampaign } from '../../../../src/features/campaigns/run/page.ts';
import { createCampaignRun, type Stay } from '../../../../src/features/campaigns/run/run.ts';
import { insertList, insertSentCampaign } from '../../../support/campaign-runs.ts';
import { insertContacts } from '../../../support/contacts.ts';
import { createTestDatabase, type TestDatabase } from '../../../support/database.ts';
import { testEvents } from '../../../support/events.ts';
import { eventually } from '../../../support/eventually.ts';
import { insertAccount, type QueuedAccount } from '../../../support/queued.ts';
import { TEST_LIMITS } from '../../../support/sending.ts';
import { countWaiting } from '../../../support/waiting.ts';

let db: TestDatabase;
let evaluations: Evaluations;
let account: QueuedAccount;
/** Lets no audience be stored. */
let blocker: pg.PoolClient;

beforeAll(async () => {
  db = await createTestDatabase({ poolMax: 4 });
  evaluations = openEvaluations({ url: db.url });
}, 60_000);
beforeEach(async () => {
  account = await insertAccount(db.database);
  blocker = await db.database.pool.connect();
  await blocker.query('begin; lock table campaign_contacts in share mode');
});
afterAll(async () => {
  await evaluations.close();
  await db.drop();
});

const pool = () => db.database.pool;
const stay = (forMs: number): Stay => ({
  progress: () => undefined,
  signal: new AbortController().signal,
  forMs,
});
const release = async () => {
  await blocker.query('rollback');
  blocker.release();
};

const runWith = (own: Evaluations) =>
  createCampaignRun({
    pool: pool(),
    evaluations: own,
    events: testEvents,
    waker: { wake: () => undefined },
    limits: TEST_LIMITS,
    thresholds: { bounceRate: 1, minBounces: 1, complaintRate: 1, minComplaints: 1, minCounted: 1 },
    plusAddresses: false,
    log: pino({ level: 'silent' }),
  });

const ofEvents = { segmentId: 1, filters: [{ name: 'event.bought', predicate: 'did_not' }] };
const snapshotOf = (of: QueuedAccount) =>
  insertSentCampaign(pool(), of, { audience: ofEvents, phase: 'snapshot' });
const write = (id: number, forMs = 60_000) => runWith(evaluations).snapshot(id, new Date(), stay(forMs));
const phaseOf = async (id: number) => (await readCampaign(pool(), id))?.phase;
const evaluating = (count: number) =>
  eventually(async () => expect(await countWaiting(pool(), `mode = 'RowExclusiveLock'`)).toBe(count));

describe('the evaluation of audiences', () => {
  it('uses three connections of its own, one per account, while other work continues', async () => {
    await insertContacts(pool(), account, 3);
    const ids: number[] = [];
    for (let n = 0; n < 6; n += 1) ids.push(await snapshotOf(account));
    const writing = ids.map((id) => write(id));
    await evaluating(1);
    for (let n = 0; n < 3; n += 1) {
      const id = await snapshotOf(await insertAccount(db.database));
      ids.push(id);
      writing.push(write(id));
    }
    await evaluating(3);
    const listId = await insertList(pool(), account, await insertContacts(pool(), account, 2, 'of-list'));
    const other = await insertSentCampaign(pool(), account, { audience: { listId }, phase: 'snapshot' });
    await write(other);
    expect(await phaseOf(other)).toBe('sending');
    expect(await countWaiting(pool(), `mode = 'RowExclusiveLock'`)).toBe(3);
    await release();
    await Promise.all(writing);
    expect(await Promise.all(ids.map(phaseOf))).toEqual(ids.map(() => 'sending'));
  });

  it('yields if its turn does not come while the activity runs', async () => {
    const [first, second] = [await snapshotOf(account), await snapshotOf(account)];
    const writing = write(first);
    await evaluating(1);
    expect(await write(second, 20)).toMatchObject({ next: 'snapshot', state: { phase: 'snapshot' } });
    await release();
    await writing;
    await write(second);
    expect([await phaseOf(first), await phaseOf(second)]).toEqual(['sending', 'sending']);
  });

  it('uses no connection for a campaign that another process evaluates', async () => {
    const id = await snapshotOf(account);
    const writing = write(id);
    await evaluating(1);
    const others = openEvaluations({ url: db.url });
    expect(await runWith(others).snapshot(id, new Date(), stay(20))).toMatchObject({ next: 'snapshot' });
    await others.close();
    await release();
    await writing;
  });

  it('is not begun for a campaign that was paused while it waited', async () => {
    const [first, second] = [await snapshotOf(account), await snapshotOf(account)];
    const writing = [write(first)];
    await evaluating(1);
    writing.push(write(second));
    await pool().query(`update campaigns set status = 'paused' where id = $1`, [second]);
    await release();
    await Promise.all(writing);
    const { rowCount } = await pool().query('select 1 from campaign_contacts where campaign_id = $1', [
      second,
    ]);
    expect([rowCount, await phaseOf(second)]).toEqual([0, 'snapshot']);
  });
});
