// Queue statements use their keys even if their plans were made while the queue was empty.
import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { messageClasses } from '../../../src/delivery/terms/message.ts';
import { intendMessages } from '../../../src/delivery/ledger/intend/queue-batch.ts';
import type { BatchMessage } from '../../../src/delivery/ledger/intend/batch.ts';
import { claimBacklog, releaseClaims } from '../../../src/delivery/ledger/claim/claim.ts';
import type { Claim } from '../../../src/delivery/ledger/ownership/claims.ts';
import { recoverDeadSender } from '../../../src/delivery/ledger/upkeep/dead-process.ts';
import { outcomeRecord } from '../../../src/delivery/ledger/record/outcomes.ts';
import { createBatchRecording } from '../../../src/delivery/ledger/record/record.ts';
import { testEvents } from '../../support/events.ts';
import { insertAccount, queueEmails, type QueuedAccount } from '../../support/queued.ts';
import { TEST_LIMITS } from '../../support/sending.ts';
import {
  BACKLOG,
  MAX_ENTRIES_READ,
  openStaleQueue,
  OWNER,
  type StaleQueue,
  CLAIMED,
} from '../../support/stale-queue.ts';
import { testKeyring } from '../../support/webhooks.ts';

let stale: StaleQueue;
let account: QueuedAccount;

beforeEach(async () => {
  stale = await openStaleQueue('send_queue');
  account = await insertAccount(stale.database);
});
afterEach(() => stale.close());

function claim() {
  const { transactional } = messageClasses;
  return claimBacklog(
    stale.sender.pool,
    { channel: 'email', class: transactional, accountId: account.accountId, owner: OWNER, quantum: CLAIMED },
    TEST_LIMITS,
  );
}

function intend(seq: number, claims: Claim[]) {
  return intendMessages(stale.sender.pool, {
    owner: OWNER,
    seq,
    provider: 'smtp',
    keyring: testKeyring,
    claims,
  });
}

function record(seq: number, messages: BatchMessage[]) {
  const outcomes = messages.map((message, index) =>
    outcomeRecord(
      message,
      'smtp',
      index % 2
        ? { kind: 'accepted', providerMessageId: null, response: '250 ok', delivered: false }
        : { kind: 'deferred', response: '451 later' },
    ),
  );
  return createBatchRecording({ pool: stale.sender.pool, events: testEvents })([
    { owner: OWNER, seq, outcomes },
  ]);
}

it('claims, records and releases by keys even if the queue was empty at planning time', async () => {
  await record(1, await intend(1, await claim()));
  await queueEmails(stale.database, account, BACKLOG);

  let claims: Claim[] = [];
  expect(await stale.entriesRead(async () => (claims = await claim()))).toBeLessThan(MAX_ENTRIES_READ);
  expect(claims).toHaveLength(CLAIMED);
  const messages = await intend(2, claims);
  expect(await stale.entriesRead(() => record(2, messages))).toBeLessThan(MAX_ENTRIES_READ);
  const more = await claim();
  expect(await stale.entriesRead(() => releaseClaims(stale.sender.pool, OWNER, more))).toBeLessThan(
    MAX_ENTRIES_READ,
  );
  await claim();
  expect(await stale.entriesRead(() => recoverDeadSender(stale.sender.pool, OWNER))).toBeLessThan(
    MAX_ENTRIES_READ,
  );
  const { rows } = await stale.database.pool.query('select count(*) from send_queue where owner is null');
  expect(rows).toEqual([{ count: BACKLOG - CLAIMED / 2 }]);
}, 60_000);
