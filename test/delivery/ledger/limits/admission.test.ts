// Admission reads what is left only for accounts that a limit has refused within the last minute.
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { createAdmission } from '../../../../src/delivery/ledger/limits/admission.ts';
import { acceptRules } from '../../../../src/delivery/ledger/limits/authority.ts';
import type { AcceptRule, CountedMessage } from '../../../../src/delivery/ledger/limits/limit.ts';
import { createTestDatabase, type TestDatabase } from '../../../support/database.ts';
import { insertAccount, type QueuedAccount } from '../../../support/queued.ts';

/** A limit in money, as a feature may declare it: an SMS takes 10 for each segment, an email 1. */
const wallet: AcceptRule = {
  code: 'spend_cap_reached',
  message: 'the wallet is empty',
  sqlstate: 'CL999',
  reserve: () => [],
  refusals: 'none',
  takes: ({ channel, segments }) => (channel === 'sms' ? 10 * (segments ?? 1) : 1),
  left: () => 'a.monthly_email_allowance',
};

let test: TestDatabase;
let account: QueuedAccount;
let nowMs: number;
beforeAll(async () => {
  test = await createTestDatabase();
});
afterAll(() => test.drop());
beforeEach(async () => {
  nowMs = 1_000_000;
  account = await insertAccount(test.database);
});

const open = () =>
  createAdmission(test.database.pool, { sandbox_monthly_cap: 3 }, [...acceptRules, wallet], () => nowMs);
const balance = (cents: number) =>
  test.database.pool.query('update accounts set monthly_email_allowance = $2 where id = $1', [
    account.accountId,
    cents,
  ]);
const email = (): CountedMessage => ({ account_id: account.accountId, channel: 'email', test: false });
const sms = (): CountedMessage => ({ ...email(), channel: 'sms', segments: 2 });

describe('messages of an account that a limit has refused', () => {
  it('are accepted until one of the limits has too little left for the next', async () => {
    await balance(22);
    const admission = open();
    const messages = [email(), sms(), sms(), email(), email()];
    admission.suspect(messages);
    const refused = await admission.refuse(messages);
    expect(messages.map((each) => refused.get(each)?.code ?? null)).toEqual([
      null,
      null,
      'spend_cap_reached',
      null,
      'spend_cap_reached',
    ]);
  });

  it('are refused for a second without a query, if they take more than is left', async () => {
    await balance(5);
    const admission = open();
    expect(admission.knownRefusal(sms())).toBeNull();
    admission.suspect([sms()]);
    expect((await admission.refuse([sms()])).size).toBe(1);
    expect(admission.knownRefusal(sms())?.code).toBe('spend_cap_reached');
    expect(admission.knownRefusal(email())).toBeNull();
    nowMs += 1_000;
    expect(admission.knownRefusal(sms())).toBeNull();
    expect(admission.isSuspect(account.accountId)).toBe(true);
    await balance(20);
    expect((await admission.refuse([sms()])).size).toBe(0);
  });

  it('are decided by new figures once their account may send more', async () => {
    await balance(0);
    const admission = open();
    admission.suspect([email()]);
    for (const raised of [[account.accountId], null]) {
      await balance(0);
      expect((await admission.refuse([email()])).size).toBe(1);
      expect(admission.knownRefusal(email())).not.toBeNull();
      await balance(5);
      admission.raise(raised);
      expect(admission.knownRefusal(email())).toBeNull();
      expect((await admission.refuse([email()])).size).toBe(0);
      admission.raise([account.accountId]);
    }
  });

  it('are not decided by figures that were read before their account might send more', async () => {
    await balance(0);
    const admission = open();
    admission.suspect([email()]);
    const reading = admission.refuse([email()]);
    admission.raise([account.accountId]);
    await reading;
    expect(admission.knownRefusal(email())).toBeNull();
  });

  it('are written without a query first, after a minute without a refusal', async () => {
    const admission = open();
    admission.suspect([email()]);
    nowMs += 60_000;
    expect(admission.isSuspect(account.accountId)).toBe(true);
    nowMs += 1;
    expect(admission.isSuspect(account.accountId)).toBe(false);
  });
});

describe('messages of other accounts', () => {
  it('are written without reading what is left', async () => {
    await balance(0);
    const message = email();
    expect((await open().refuse([message])).size).toBe(0);
  });
});
