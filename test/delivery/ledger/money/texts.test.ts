// Texts without a price are skipped, and a text in a flow waits up to 72 hours for funds.
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { releaseHeld, releaseHeldPage } from '../../../../src/delivery/ledger/release/release-held.ts';
import { createTestDatabase, type TestDatabase } from '../../../support/database.ts';
import { credit, insertPayer, monthsOf, setPrice } from '../../../support/money.ts';
import { insertSender, type QueuedAccount } from '../../../support/queued.ts';
import { TEST_LIMITS } from '../../../support/sending.ts';
import {
  american,
  createTexts,
  expectTextsCharged,
  german,
  type Texts,
  took,
} from '../../../support/text-sends.ts';

const OWNER = 91;
const PRICE = 700;

let test: TestDatabase;
let account: QueuedAccount;
let texts: Texts;

beforeAll(async () => {
  test = await createTestDatabase();
  await insertSender(test.database, OWNER);
});
afterAll(() => test.drop());
beforeEach(async () => {
  account = await insertPayer(test.database, { funds: 100 * PRICE });
  texts = createTexts(test.database, account, OWNER);
  await query('delete from prices');
  await setPrice(test.database, PRICE, { country: 'DE' });
});

const query = <Row extends object>(text: string, ...values: unknown[]) =>
  test.database.pool.query<Row>(text, values).then(({ rows }) => rows);

const messagesOf = () =>
  query<{ to: string; status: string; code: string | null; segments: number | null }>(
    `select to_key as to, status, failure ->> 'code' as code, segments from messages
     where account_id = $1 order by id`,
    account.accountId,
  );

const expectCharged = (segments: number) => expectTextsCharged(test.database, account, segments, PRICE);

describe('a text to a country without a price', () => {
  it('is skipped in a campaign, and costs nothing', async () => {
    const [one, two, three] = [german(), american(), german()];
    await texts.campaignTo([one, two, three]);
    const claims = await texts.claimTexts();
    expect(claims).toHaveLength(3);
    await texts.record(await texts.intend(claims), () => took(1));
    expect(await messagesOf()).toEqual([
      { to: one, status: 'sent', code: null, segments: 1 },
      { to: two, status: 'skipped', code: 'no_price', segments: null },
      { to: three, status: 'sent', code: null, segments: 1 },
    ]);
    await expectCharged(2);
  });

  it('is skipped in a campaign without funds for any other', async () => {
    await credit(test.database, account, -100 * PRICE + 2 * PRICE);
    const [one, two] = [american(), german()];
    await texts.campaignTo([one, two], 2);
    await texts.record(await texts.intend(await texts.claimTexts()), () => took(2));
    expect(await messagesOf()).toMatchObject([
      { status: 'skipped', code: 'no_price' },
      { status: 'sent', segments: 2 },
    ]);
    await expectCharged(2);
  });

  it('is skipped if its price is removed before the retry', async () => {
    await texts.campaignTo([german()]);
    await texts.record(await texts.intend(await texts.claimTexts()), () => ({
      kind: 'deferred',
      response: 'later',
    }));
    await setPrice(test.database, PRICE, { country: 'FR' });
    await query(`delete from prices where country = 'DE'`);
    await query('update send_queue set due_at = now() where account_id = $1', account.accountId);
    await texts.record(await texts.intend(await texts.claimQueued('campaign')), () => took(1));
    expect(await messagesOf()).toMatchObject([{ status: 'skipped', code: 'no_price' }]);
    await expectCharged(0);
  });

  it('is not written by a flow, whose run continues', async () => {
    const { result, messageId } = await texts.flowTo(american());
    expect(result).toEqual({ outcome: 'skipped', detail: { reason: 'no_price' } });
    expect(messageId).toBe(0);
    await expectCharged(0);
  });

  it('is skipped in a flow if its price is removed while it waits', async () => {
    await texts.flowTo(german());
    await setPrice(test.database, PRICE, { country: 'FR' });
    await query(`delete from prices where country = 'DE'`);
    await texts.record(await texts.intend(await texts.claimQueued('flow')), () => took(1));
    expect(await messagesOf()).toMatchObject([{ status: 'skipped', code: 'no_price' }]);
    await expectCharged(0);
  });

  it('is sent at the price that it has reserved, whatever changes later', async () => {
    await texts.flowTo(german());
    const claims = await texts.claimQueued('flow');
    await setPrice(test.database, PRICE, { country: 'FR' });
    await query(`delete from prices where country = 'DE'`);
    await texts.record(await texts.intend(claims), () => took(2));
    expect(await messagesOf()).toMatchObject([{ status: 'sent', segments: 2 }]);
    await expectCharged(2);
  });

  it('is skipped in a campaign if it gets a price only after the claim', async () => {
    await texts.campaignTo([american(), german()]);
    const claims = await texts.claimTexts();
    await setPrice(test.database, PRICE, { country: 'US' });
    await texts.record(await texts.intend(claims), () => took(1));
    expect(await messagesOf()).toMatchObject([
      { status: 'skipped', code: 'no_price' },
      { status: 'sent', segments: 1 },
    ]);
    await expectCharged(1);
  });

  it('is skipped in a flow if it gets a price only after the claim', async () => {
    await texts.flowTo(german());
    await setPrice(test.database, PRICE, { country: 'FR' });
    await query(`delete from prices where country = 'DE'`);
    const claims = await texts.claimQueued('flow');
    expect(claims).toHaveLength(1);
    await setPrice(test.database, PRICE, { country: 'DE' });
    await texts.record(await texts.intend(claims), () => took(1));
    expect(await messagesOf()).toMatchObject([{ status: 'skipped', code: 'no_price' }]);
    await expectCharged(0);
  });

  it('is free if its price was zero when it was claimed', async () => {
    await query('update prices set millicents = 0');
    await setPrice(test.database, PRICE, { country: 'FR' });
    await texts.campaignTo([german()]);
    const ofBlock = await texts.claimTexts();
    await texts.flowTo(german());
    const ofFlow = await texts.claimQueued('flow');
    await setPrice(test.database, PRICE, { country: 'DE' });
    await texts.record(await texts.intend(ofBlock), () => took(2));
    await texts.record(await texts.intend(ofFlow), () => took(2));
    expect(await messagesOf()).toMatchObject(Array(2).fill({ status: 'sent', segments: 2 }));
    expect(await monthsOf(test.database, account)).toMatchObject({ texts: 4, spent: 0 });
  });

  it('that an attempt may have sent stays unknown if its price is removed', async () => {
    await texts.campaignTo([german()]);
    await texts.record(await texts.intend(await texts.claimTexts()), () => ({
      kind: 'deferred',
      response: 'later',
    }));
    const [message] = await query<{ id: number }>(
      'select id from messages where account_id = $1',
      account.accountId,
    );
    await query(
      `insert into message_events (message_id, attempt, type, data) values ($1, 1, 'unknown', '{}')`,
      message?.id,
    );
    await setPrice(test.database, PRICE, { country: 'FR' });
    await query(`delete from prices where country = 'DE'`);
    await query('update send_queue set due_at = now() where account_id = $1', account.accountId);
    await texts.record(await texts.intend(await texts.claimQueued('campaign')), () => took(1));
    expect(await messagesOf()).toMatchObject([{ status: 'unknown', code: 'no_price' }]);
    expect(await monthsOf(test.database, account)).toMatchObject({ spent: 0 });
  });

  it('is sent for accounts that pay nothing', async () => {
    await query('update accounts set comped = true where id = $1', account.accountId);
    await texts.campaignTo([american()]);
    await texts.record(await texts.intend(await texts.claimTexts()), () => took(1));
    await texts.flowTo(american());
    await texts.record(await texts.intend(await texts.claimQueued('flow')), () => took(1));
    expect(await messagesOf()).toMatchObject([{ status: 'sent' }, { status: 'sent' }]);
  });
});

describe('a text of a flow that the account cannot pay for', () => {
  const holds = () =>
    query<{ status: string; reason: string | null }>(
      `select status, hold ->> 'reason' as reason from messages where account_id = $1 order by id`,
      account.accountId,
    );

  it.each([
    ['wallet', 'the funds do not cover its segments'],
    ['spend_cap', 'the spend cap does not cover its segments'],
  ])('waits for the %s while %s, and is charged once when they do', async (reason) => {
    // 2,000 millicents pay for two segments.
    if (reason === 'wallet') await credit(test.database, account, 2_000 - 100 * PRICE);
    else await query('update accounts set spend_cap_monthly_cents = 2 where id = $1', account.accountId);
    await texts.flowTo(german());
    expect(await texts.claimQueued('flow')).toEqual([]);
    expect(await holds()).toEqual([{ status: 'held', reason }]);
    await expectCharged(0);
    await credit(test.database, account, 1_000);
    await query('update accounts set spend_cap_monthly_cents = null where id = $1', account.accountId);
    await releaseHeld(test.database.pool, account.accountId);
    expect(await releaseHeldPage(test.database.pool, TEST_LIMITS)).toMatchObject({ released: 1 });
    await texts.record(await texts.intend(await texts.claimQueued('flow')), () => took(3));
    expect(await messagesOf()).toMatchObject([{ status: 'sent', segments: 3 }]);
    await expectCharged(3);
  });

  it('fails once it has waited for 72 hours, and costs nothing', async () => {
    await credit(test.database, account, -100 * PRICE);
    await texts.flowTo(german());
    expect(await texts.claimQueued('flow')).toEqual([]);
    await query(
      `update send_queue set queued_at = now() - interval '73 hours', due_at = now() where account_id = $1`,
      account.accountId,
    );
    await texts.record(await texts.intend(await texts.claimQueued('flow')), () => took(3));
    expect(await messagesOf()).toMatchObject([{ status: 'failed', code: 'insufficient_funds' }]);
    await expectCharged(0);
  });
});
