// The sender finds every due backlog, by its wake-up or by a walk, and reads no more than it needs.
import { afterAll, beforeAll, beforeEach, expect, it } from '@jest/globals';
import { backlogName, DEFAULT_PROVIDER } from '../../../../src/delivery/terms/backlog.ts';
import { messageClasses } from '../../../../src/delivery/terms/message.ts';
import { countWaiting, createBacklogs } from '../../../../src/delivery/sender/turns/backlogs.ts';
import { createClaimRound } from '../../../../src/delivery/sender/turns/claim-round.ts';
import type { Queryable } from '../../../../src/platform/db/queryable.ts';
import { writeCampaign } from '../../../support/campaigns.ts';
import { insertAccount, queueEmails, type QueuedAccount } from '../../../support/queued.ts';
import { inMinutes, schedule } from '../../../support/scheduled.ts';
import { TEST_LIMITS } from '../../../support/sending.ts';
import { MAX_ENTRIES_READ, openStaleQueue, OWNER, type StaleQueue } from '../../../support/stale-queue.ts';

/** Backlogs of other accounts, due in an hour. */
const WAITING = 3_000;

let queue: StaleQueue;
let account: QueuedAccount;
/** Milliseconds of the clock that the tests move. */
let now: number;

beforeAll(async () => {
  queue = await openStaleQueue('send_queue');
  await queue.database.pool.query(
    `insert into send_queue (message_id, account_id, channel, class, due_at, queued_at)
     select -n, 1000000 + n, 'email', 0, now() + interval '1 hour', now() from generate_series(1, $1) n`,
    [WAITING],
  );
});
afterAll(() => queue.close());
beforeEach(async () => {
  now = 0;
  await queue.database.pool.query('delete from send_queue where message_id > 0');
  account = await insertAccount(queue.database);
});

const email = () => ({
  channel: 'email' as const,
  class: messageClasses.transactional,
  accountId: account.accountId,
  providerId: DEFAULT_PROVIDER,
});
const wanted = new Map([['email', 100]]);
const dueAccounts = (backlogs: ReturnType<typeof createBacklogs>) =>
  [...backlogs.due('email')].map(({ accountId }) => accountId);

it('does not read other backlogs if a wake-up names the one that is due', async () => {
  const backlogs = createBacklogs(queue.sender.pool);
  const claimRound = createClaimRound(queue.sender.pool, TEST_LIMITS, backlogs);
  const claim = () => claimRound(OWNER, wanted, () => undefined);
  await claim();
  await queueEmails(queue.database, account, 3);
  backlogs.hint([backlogName(email())]);
  const read = await queue.entriesRead(async () => {
    for (let n = 0; n < 10; n += 1) await claim();
  });
  expect(read).toBeLessThan(MAX_ENTRIES_READ);
  const { rows } = await queue.database.pool.query('select 1 from send_queue where owner = $1', [OWNER]);
  expect(rows).toHaveLength(3);
});

it('finds messages that no wake-up named, half a second after its last walk', async () => {
  const backlogs = createBacklogs(queue.sender.pool, () => now);
  await backlogs.refresh();
  await queueEmails(queue.database, account, 1);
  now = 499;
  await backlogs.refresh();
  expect(dueAccounts(backlogs)).toEqual([]);
  now = 500;
  await backlogs.refresh();
  expect(dueAccounts(backlogs)).toEqual([account.accountId]);
});

it('walks at once after a wake-up that names no backlog', async () => {
  const backlogs = createBacklogs(queue.sender.pool, () => now);
  await backlogs.refresh();
  await queueEmails(queue.database, account, 1);
  backlogs.hint(null);
  await backlogs.refresh();
  expect(dueAccounts(backlogs)).toEqual([account.accountId]);
});

it('walks less often the longer a walk takes', async () => {
  let walks = 0;
  const slow: Queryable = {
    query(statement) {
      walks += 1;
      now += 200;
      return (queue.sender.pool as Queryable).query(statement);
    },
  };
  const backlogs = createBacklogs(slow, () => now);
  for (; now < 41_000; now += 50) await backlogs.refresh();
  expect(walks).toBe(10);
});

it('knows when a backlog will be due, without another walk', async () => {
  await queueEmails(queue.database, account, 1);
  await queue.database.pool.query(
    `update send_queue set due_at = now() + interval '1 minute' where account_id = $1`,
    [account.accountId],
  );
  const backlogs = createBacklogs(queue.sender.pool, () => now);
  await backlogs.refresh();
  expect(dueAccounts(backlogs)).toEqual([]);
  expect(backlogs.nextLookMs()).toBeGreaterThan(30_000);
  expect(backlogs.nextLookMs()).toBeLessThanOrEqual(60_000);
  now = 60_001;
  expect(dueAccounts(backlogs)).toEqual([account.accountId]);
});

it('keeps a backlog that a wake-up names while a walk runs', async () => {
  const backlogs = createBacklogs(queue.sender.pool);
  const refreshing = backlogs.refresh();
  backlogs.hint([backlogName(email())]);
  await refreshing;
  expect(dueAccounts(backlogs)).toEqual([account.accountId]);
});

it('keeps a backlog that a wake-up names while a claim empties it', () => {
  const backlogs = createBacklogs(queue.sender.pool);
  backlogs.hint([backlogName(email())]);
  const [claimed] = backlogs.due('email');
  backlogs.hint([backlogName(email())]);
  if (claimed) backlogs.emptied(claimed);
  expect(dueAccounts(backlogs)).toEqual([account.accountId]);
  const [again] = backlogs.due('email');
  if (again) backlogs.emptied(again);
  expect(dueAccounts(backlogs)).toEqual([]);
});

it('ignores names that it does not know', () => {
  const backlogs = createBacklogs(queue.sender.pool);
  backlogs.hint(['', 'push/0/1', 'email/0', 'email/0/x', 'email/0/1/2']);
  expect(dueAccounts(backlogs)).toEqual([]);
});

it('counts waiting messages by class, with the recipients in open blocks of active campaigns', async () => {
  const { database } = queue;
  const count = async () => (await countWaiting(database.pool)).counts;
  const before = await count();
  const { campaignId } = await writeCampaign(database, account, { recipients: 25, blockSize: 10 });
  await database.pool.query('update campaign_blocks set closed_at = now() where campaign_id = $1 and n = 0', [
    campaignId,
  ]);
  const { campaign = 0, ...others } = before;
  expect(await count()).toEqual({ ...others, campaign: campaign + 15 });
  await database.pool.query(`update campaigns set status = 'paused' where id = $1`, [campaignId]);
  expect(await count()).toEqual(before);
});

it('counts scheduled messages apart, with the time of the first', async () => {
  const { database } = queue;
  const { counts, nextScheduledAt } = await countWaiting(database.pool);
  expect([counts['scheduled'], nextScheduledAt]).toEqual([undefined, null]);
  const ids = await queueEmails(database, account, 3);
  await schedule(database.pool, ids.slice(1), inMinutes(90));
  await schedule(database.pool, ids.slice(2), inMinutes(60));
  const { transactional = 0, ...others } = counts;
  const later = await countWaiting(database.pool);
  expect(later.counts).toEqual({ ...others, transactional: transactional + 1, scheduled: 2 });
  expect(Math.round(((later.nextScheduledAt?.getTime() ?? 0) - Date.now()) / 60_000)).toBe(60);
});

it('counts waiting messages behind 100,000 scheduled ones, and finds the first of these', async () => {
  const { database } = queue;
  const { counts } = await countWaiting(database.pool);
  await database.pool.query(
    `insert into send_queue (message_id, account_id, channel, class, due_at, queued_at)
     select 10000000 + n, $1, 'email', 0, now() + interval '1 day', now() + interval '1 day' from generate_series(1, 100000) n`,
    [account.accountId],
  );
  const ids = await queueEmails(database, account, 2);
  await schedule(database.pool, ids.slice(1), inMinutes(60));
  const { transactional = 0 } = counts;
  const later = await countWaiting(database.pool);
  expect(later.counts).toMatchObject({ transactional: transactional + 1 });
  expect(Math.round(((later.nextScheduledAt?.getTime() ?? 0) - Date.now()) / 60_000)).toBe(60);
});
