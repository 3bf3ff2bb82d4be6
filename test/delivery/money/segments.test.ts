import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { createTestDatabase, type TestDatabase } from '../../support/database.ts';
import { expectTextsCharged, insertPayer, monthsOf, setPrice } from '../../support/money.ts';
import { insertSender, type QueuedAccount } from '../../support/queued.ts';
import { createTexts, german, leavingOf, type Texts, took } from '../../support/text-sends.ts';
import { countedUsage } from '../../support/usage.ts';

const OWNER = 92;
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

describe('a text of several segments', () => {
  it('is used and charged by the segments of what was rendered', async () => {
    await texts.campaignTo([german(), german()]);
    await texts.record(await texts.intend(await texts.claimTexts(), 'campaign'), (_, n) => took(n + 2));
    await texts.flowTo(german());
    await texts.record(await texts.intend(await texts.claimQueued('flow'), 'flow'), () => took(3));
    expect(await messagesOf()).toMatchObject([{ segments: 2 }, { segments: 3 }, { segments: 3 }]);
    await expectCharged(8);
  });

  it('is used by its segments if it costs nothing', async () => {
    await query('delete from prices');
    await texts.campaignTo([german()]);
    await texts.record(await texts.intend(await texts.claimTexts(), 'campaign'), () => took(3));
    expect(await messagesOf()).toMatchObject([{ segments: 3 }]);
    expect(await countedUsage(test.database.pool, account.accountId)).toMatchObject([{ sms: 3 }]);
  });

  it('is used by the segments that it has reserved if its sender dies with it', async () => {
    await texts.campaignTo([german(), german()]);
    const ofBlock = await texts.intend(await texts.claimTexts(), 'campaign');
    await texts.flowTo(german());
    const ofFlow = await texts.intend(await texts.claimQueued('flow'), 'flow');
    await texts.recover();
    expect(await messagesOf()).toMatchObject(Array(3).fill({ status: 'unknown', segments: 3 }));
    await expectCharged(9);
    // The sender was alive after all. What is charged is not charged again.
    await texts.record(ofBlock, () => took(2));
    await texts.record(ofFlow, () => took(2));
    expect(await messagesOf()).toMatchObject(Array(3).fill({ status: 'sent', segments: 3 }));
    await expectCharged(9);
  });

  it('is claimed again without another charge if its sender dies before the intent', async () => {
    await texts.campaignTo([german(), german()]);
    await texts.claimTexts();
    await texts.recover();
    expect(await monthsOf(test.database, account)).toMatchObject({ texts: 6 });
    await texts.record(await texts.intend(await texts.claimTexts(), 'campaign'), () => took(2));
    await expectCharged(4);
  });

  it('is used by what it is charged if its outcome is unknown', async () => {
    await texts.campaignTo([german()]);
    await texts.record(await texts.intend(await texts.claimTexts(), 'campaign'), () => ({
      kind: 'unknown',
      reason: 'time-out',
    }));
    await texts.flowTo(german());
    await texts.record(await texts.intend(await texts.claimQueued('flow'), 'flow'), () => ({
      kind: 'unknown',
      reason: 'lost',
    }));
    await expectCharged(6);
  });

  it('is used by its segments if a report comes before the outcome', async () => {
    await texts.campaignTo([german()]);
    const intended = await texts.intend(await texts.claimTexts(), 'campaign');
    await texts.report(leavingOf(intended), 'delivered');
    await texts.record(intended, () => took(2));
    expect(await messagesOf()).toMatchObject([{ status: 'delivered', segments: 2 }]);
    await expectCharged(2);
  });

  it('is charged what it has reserved if a report comes, and its sender then dies', async () => {
    const campaign = await texts.campaignTo([german(), german()]);
    const intended = await texts.intend(await texts.claimTexts(), 'campaign');
    await texts.report(leavingOf(intended).slice(0, 1), 'delivered');
    await texts.recover();
    expect(await messagesOf()).toMatchObject([
      { status: 'delivered', segments: 3 },
      { status: 'unknown', segments: 3 },
    ]);
    await expectCharged(6);
    // The sender was alive after all.
    await texts.record(intended, () => took(3));
    await texts.cancel(campaign);
    await expectCharged(6);
  });
});
