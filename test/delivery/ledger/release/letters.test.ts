// Letters that a limit holds leave when it ends, as other emails do, and their senders are woken by their queue.
import { afterAll, beforeAll, beforeEach, expect, it } from '@jest/globals';
import { claimBacklog } from '../../../../src/delivery/ledger/claim/claim.ts';
import { releaseDomainPage, waitsForDomain } from '../../../../src/delivery/ledger/release/release-domain.ts';
import { releaseHeld, releaseHeldPage } from '../../../../src/delivery/ledger/release/release-held.ts';
import { backlogName } from '../../../../src/delivery/terms/backlog.ts';
import { createTestDatabase, type TestDatabase } from '../../../support/database.ts';
import { queueLetter } from '../../../support/letters.ts';
import { limitSituations } from '../../../support/limit-situations.ts';
import { insertAccount, insertSender, type QueuedAccount } from '../../../support/queued.ts';
import { TEST_LIMITS } from '../../../support/sending.ts';

const OWNER = 90;

let test: TestDatabase;
let account: QueuedAccount;
beforeAll(async () => {
  test = await createTestDatabase();
  await insertSender(test.database, OWNER);
});
afterAll(() => test.drop());
beforeEach(async () => {
  account = await insertAccount(test.database);
});

const query = <Row extends object>(text: string, ...values: unknown[]) =>
  test.database.pool.query<Row>(text, values).then(({ rows }) => rows);

const backlog = () =>
  ({
    channel: 'email',
    queue: 'email_whole',
    class: 0,
    accountId: account.accountId,
    providerId: 0,
  }) as const;

/** Lets the limit hold a letter. */
async function hold(limit: 'allowance' | 'domain_unverified'): Promise<void> {
  await queueLetter(test.database, account);
  await query(limitSituations[limit], account.accountId);
  await claimBacklog(test.database.pool, { ...backlog(), owner: OWNER, quantum: 50 }, TEST_LIMITS);
  expect(await reasons()).toEqual([limit]);
}

const reasons = async () =>
  (
    await query<{ reason: string | null }>(
      `select hold ->> 'reason' as reason from messages where account_id = $1`,
      account.accountId,
    )
  ).map(({ reason }) => reason);

it('of an allowance', async () => {
  await hold('allowance');
  await query('update accounts set allowance_per_day = 10 where id = $1', account.accountId);
  await releaseHeld(test.database.pool, account.accountId);
  const release = await releaseHeldPage(test.database.pool, TEST_LIMITS);
  expect(release).toEqual({ backlog: backlog(), released: 1 });
  expect(release && backlogName(release.backlog)).toBe(`email_whole/0/${account.accountId}`);
  expect(await reasons()).toEqual([null]);
});

it('of a domain that is not verified', async () => {
  await hold('domain_unverified');
  const [row] = await query<{ id: number }>(
    'select domain_id as id from send_queue where account_id = $1',
    account.accountId,
  );
  const domain = { accountId: account.accountId, domainId: row?.id ?? 0 };
  expect(await waitsForDomain(test.database.pool, domain)).toBe(true);
  expect(await releaseDomainPage(test.database.pool, domain)).toEqual({
    released: 1,
    backlogs: [`email_whole/0/${account.accountId}`],
  });
  expect(await waitsForDomain(test.database.pool, domain)).toBe(false);
});
