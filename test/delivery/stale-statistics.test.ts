import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { type Claim, claimBacklog, releaseClaims } from '../../src/delivery/claim.ts';
import { recordWindows } from '../../src/delivery/record.ts';
import { settleOutcome } from '../../src/delivery/outcomes.ts';
import { intendWindow, type WindowMessage } from '../../src/delivery/intend.ts';
import { settleDeadSender } from '../../src/delivery/settle.ts';
import { insertAccount, queueEmails, type QueuedAccount } from '../support/queued.ts';
import { TEST_TIERS } from '../support/sending.ts';
import { BACKLOG, FEW, openStaleQueue, OWNER, type StaleQueue, TAKEN } from '../support/stale-queue.ts';

let stale: StaleQueue;
let account: QueuedAccount;

beforeEach(async () => {
  stale = await openStaleQueue('send_queue');
  account = await insertAccount(stale.database);
});
afterEach(() => stale.close());

function claim() {
  const backlog = { channel: 'email', class: 0, accountId: account.accountId, waitMs: 0 } as const;
  return claimBacklog(stale.sender.pool, backlog, OWNER, TAKEN, TEST_TIERS);
}

function intend(seq: number, claims: Claim[]) {
  return intendWindow(stale.sender.pool, { owner: OWNER, seq, provider: 'smtp', claims });
}

function record(seq: number, messages: WindowMessage[]) {
  const settlements = messages.map((message, index) =>
    settleOutcome(
      message,
      'smtp',
      index % 2
        ? { kind: 'accepted', providerMessageId: null, response: '250 ok', delivered: false }
        : { kind: 'deferred', response: '451 later' },
    ),
  );
  return recordWindows(stale.sender.pool, [{ owner: OWNER, seq, settlements }]);
}

it('a queue that was empty when its plans were made is claimed, recorded and given back by keys', async () => {
  await record(1, await intend(1, await claim()));
  await queueEmails(stale.database, account, BACKLOG);

  let claims: Claim[] = [];
  expect(await stale.entriesRead(async () => (claims = await claim()))).toBeLessThan(FEW);
  expect(claims).toHaveLength(TAKEN);
  const messages = await intend(2, claims);
  expect(await stale.entriesRead(() => record(2, messages))).toBeLessThan(FEW);
  const more = await claim();
  expect(await stale.entriesRead(() => releaseClaims(stale.sender.pool, OWNER, more))).toBeLessThan(FEW);
  await claim();
  expect(await stale.entriesRead(() => settleDeadSender(stale.sender.pool, OWNER))).toBeLessThan(FEW);
  const { rows } = await stale.database.pool.query('select count(*) from send_queue where owner is null');
  expect(rows).toEqual([{ count: BACKLOG - TAKEN / 2 }]);
}, 60_000);
