// A text of several segments is charged once for the segments that were sent, however its outcome is reported.
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { HandOverOutcome } from '../../../../src/delivery/terms/hand-over-outcome.ts';
import { recoverDeadSender } from '../../../../src/delivery/ledger/upkeep/dead-process.ts';
import { postMonths } from '../../../../src/features/wallet/months.ts';
import { inTransaction } from '../../../../src/platform/db/queryable.ts';
import { createTestDatabase, type TestDatabase } from '../../../support/database.ts';
import { runTask } from '../../../support/housekeeping.ts';
import { waitForLocks } from '../../../support/lock-order.ts';
import { insertPayer, monthsOf, setPrice } from '../../../support/money.ts';
import { insertSender, type QueuedAccount } from '../../../support/queued.ts';
import {
  createTexts,
  expectTextsCharged,
  german,
  leavingOf,
  type Texts,
  took,
} from '../../../support/text-sends.ts';
import { countedUsage, recountedUsage } from '../../../support/usage.ts';

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

/** Of texts that cost nothing. */
async function expectUsed(segments: number): Promise<void> {
  const { pool } = test.database;
  expect(await countedUsage(pool, account.accountId)).toMatchObject([{ sms: segments }]);
  expect(await recountedUsage(pool, account.accountId)).toMatchObject([{ sms: segments }]);
}

const expectCharged = (segments: number) => expectTextsCharged(test.database, account, segments, PRICE);

const deferred: HandOverOutcome = { kind: 'deferred', response: 'later' };
const unknown: HandOverOutcome = { kind: 'unknown', reason: 'lost' };

/** Hands over two texts of a campaign and one of a flow, which have reserved three segments each. */
async function handedOver() {
  const campaign = await texts.campaignTo([german(), german()]);
  const ofBlock = await texts.intend(await texts.claimTexts());
  await texts.flowTo(german());
  const ofFlow = await texts.intend(await texts.claimQueued('flow'));
  return { campaign, ofBlock, ofFlow };
}

/** Hands over what waits for another attempt. */
async function claimAgain(of: 'flow' | 'campaign' = 'campaign') {
  await query('update send_queue set due_at = now() where account_id = $1', account.accountId);
  return texts.intend(await texts.claimQueued(of));
}

describe('a text of several segments', () => {
  it('counts and is charged by the segments of the rendered text', async () => {
    await texts.campaignTo([german(), german()]);
    await texts.record(await texts.intend(await texts.claimTexts()), (_, n) => took(n + 2));
    await texts.flowTo(german());
    await texts.record(await texts.intend(await texts.claimQueued('flow')), () => took(3));
    expect(await messagesOf()).toMatchObject([{ segments: 2 }, { segments: 3 }, { segments: 3 }]);
    await expectCharged(8);
  });

  it('counts by its segments if it costs nothing', async () => {
    await query('delete from prices');
    await texts.campaignTo([german()]);
    await texts.record(await texts.intend(await texts.claimTexts()), () => took(3));
    expect(await messagesOf()).toMatchObject([{ segments: 3 }]);
    expect(await countedUsage(test.database.pool, account.accountId)).toMatchObject([{ sms: 3 }]);
  });

  it('is charged its reservation if its sender is taken for dead, until that sender records it', async () => {
    const { ofBlock, ofFlow } = await handedOver();
    await texts.recover();
    expect(await messagesOf()).toMatchObject(Array(3).fill({ status: 'unknown', segments: 3 }));
    await expectCharged(9);
    // The sender was alive after all.
    await texts.record(ofBlock, () => took(2));
    await texts.record(ofFlow, () => took(1));
    expect(await messagesOf()).toMatchObject([{ segments: 2 }, { segments: 2 }, { segments: 1 }]);
    await expectCharged(5);
  });

  it('is claimed again without another charge if its sender dies before the intent', async () => {
    await texts.campaignTo([german(), german()]);
    await texts.claimTexts();
    await texts.recover();
    expect(await monthsOf(test.database, account)).toMatchObject({ texts: 6 });
    await texts.record(await texts.intend(await texts.claimTexts()), () => took(2));
    await expectCharged(4);
  });

  it('counts by what it is charged if its outcome is unknown', async () => {
    await texts.campaignTo([german()]);
    await texts.record(await texts.intend(await texts.claimTexts()), () => ({
      kind: 'unknown',
      reason: 'time-out',
    }));
    await texts.flowTo(german());
    await texts.record(await texts.intend(await texts.claimQueued('flow')), () => ({
      kind: 'unknown',
      reason: 'lost',
    }));
    await expectCharged(6);
  });

  it('is charged what was sent if a report comes before the outcome', async () => {
    const { ofBlock, ofFlow, campaign } = await handedOver();
    await texts.report([...leavingOf(ofBlock), ...leavingOf(ofFlow)], 'delivered');
    await expectCharged(9);
    await texts.record(ofBlock, () => took(2));
    await texts.record(ofFlow, () => took(1));
    expect(await messagesOf()).toMatchObject([{ segments: 2 }, { segments: 2 }, { segments: 1 }]);
    await texts.cancel(campaign);
    await expectCharged(5);
  });

  it('is charged what was sent if a report of its retry comes before the outcome', async () => {
    await texts.campaignTo([german()]);
    await texts.record(await texts.intend(await texts.claimTexts()), () => deferred);
    const intended = await claimAgain();
    await texts.report(leavingOf(intended), 'delivered');
    await expectCharged(3);
    await texts.record(intended, () => took(2));
    await expectCharged(2);
  });

  it.each([3, 2])(
    'is charged its reservation if its sender dies after a report, until it records %i',
    async (segments) => {
      const { ofBlock, ofFlow, campaign } = await handedOver();
      await texts.report([...leavingOf(ofBlock).slice(0, 1), ...leavingOf(ofFlow)], 'delivered');
      await texts.recover();
      expect(await messagesOf()).toMatchObject([
        { status: 'delivered', segments: 3 },
        { status: 'unknown', segments: 3 },
        { status: 'delivered', segments: 3 },
      ]);
      await expectCharged(9);
      // The sender was alive after all.
      await texts.record(ofBlock, () => took(segments));
      await texts.record(ofFlow, () => took(segments));
      await texts.cancel(campaign);
      await expectCharged(3 * segments);
    },
  );

  it.each(['before', 'after'])(
    'without a known outcome is charged what was sent if a report comes %s the record of its sender',
    async (when) => {
      const { ofBlock, ofFlow } = await handedOver();
      const messages = [...leavingOf(ofBlock), ...leavingOf(ofFlow)];
      await texts.recover();
      // A report does not say how many segments there were.
      if (when === 'before') await texts.report(messages, 'delivered');
      await expectCharged(9);
      await texts.record(ofBlock, () => took(2));
      await texts.record(ofFlow, () => took(2));
      if (when === 'after') await texts.report(messages, 'delivered');
      await expectCharged(6);
    },
  );

  it('is charged what was sent if another attempt at it is accepted', async () => {
    const campaign = await texts.campaignTo([german()]);
    await texts.record(await texts.intend(await texts.claimTexts()), () => unknown);
    await expectCharged(3);
    await texts.resend(campaign);
    await texts.record(await claimAgain(), () => took(1));
    await expectCharged(1);
  });

  it('is charged what was sent if its provider recognizes it when it is handed over again', async () => {
    await texts.flowTo(german());
    await texts.record(await texts.intend(await texts.claimQueued('flow')), () => unknown, true);
    await expectCharged(3);
    await texts.record(await claimAgain('flow'), () => took(1));
    expect(await messagesOf()).toMatchObject([{ status: 'sent', segments: 1 }]);
    await expectCharged(1);
  });

  it('is charged the lowest number of segments of all its attempts', async () => {
    const campaign = await texts.campaignTo([german()]);
    const first = await texts.intend(await texts.claimTexts());
    await texts.recover();
    await texts.resend(campaign);
    const second = await claimAgain();
    await texts.record(second, () => took(2));
    await texts.record(first, () => took(1));
    await expectCharged(1);
    await texts.record(second, () => took(2));
    await expectCharged(1);
  });

  it('costs nothing if a report shows that it failed, whatever its sender records later', async () => {
    const { ofBlock, ofFlow } = await handedOver();
    await texts.recover();
    await texts.report([...leavingOf(ofBlock), ...leavingOf(ofFlow)], 'failed');
    await expectCharged(0);
    await texts.record(ofBlock, () => took(2));
    await texts.record(ofFlow, () => took(2));
    await expectCharged(0);
  });

  it('returns the difference to the current month if its own is posted', async () => {
    const { ofBlock, ofFlow } = await handedOver();
    await texts.recover();
    const earlier = `(current_month() - interval '2 months')::date`;
    for (const table of ['account_months', 'unknown_charges']) {
      await query(`update ${table} set month = ${earlier} where account_id = $1`, account.accountId);
    }
    await runTask(test.database, postMonths, new Date());
    await texts.record(ofBlock, () => took(2));
    await texts.record(ofFlow, () => took(2));
    expect(
      await query(
        `select posted_at is not null as posted, sms_units::int as texts, spent_millicents::int as spent
         from account_months where account_id = $1 order by month`,
        account.accountId,
      ),
    ).toEqual([
      { posted: true, texts: 9, spent: 9 * PRICE },
      { posted: false, texts: -3, spent: -3 * PRICE },
    ]);
    await expectCharged(6);
  });

  it('counts by what was sent if it costs nothing and a report comes before the outcome', async () => {
    await query('delete from prices');
    const { ofBlock, ofFlow } = await handedOver();
    await texts.report([...leavingOf(ofBlock), ...leavingOf(ofFlow)], 'delivered');
    await expectUsed(9);
    await texts.record(ofBlock, () => took(2));
    await texts.record(ofFlow, () => took(1));
    await expectUsed(5);
  });

  it('counts by what was sent if it costs nothing and its sender is taken for dead', async () => {
    await query('delete from prices');
    const { ofBlock, ofFlow } = await handedOver();
    await texts.recover();
    await expectUsed(9);
    await texts.record(ofBlock, () => took(2));
    await texts.record(ofFlow, () => took(1));
    await expectUsed(5);
  });

  it('is charged what was sent if its sender records it while the reaper recovers it', async () => {
    const { ofFlow } = await handedOver();
    const [message] = leavingOf(ofFlow);
    let recording: Promise<unknown> = Promise.resolve();
    await inTransaction(test.database.pool, async (trx) => {
      await trx.query('select 1 from messages where id = $1 for no key update', [message?.messageId]);
      recording = texts.record(ofFlow, () => took(1));
      await waitForLocks(test.database.pool, () => 1);
      await recoverDeadSender(trx, OWNER);
    });
    await recording;
    expect((await messagesOf()).at(-1)).toMatchObject({ status: 'sent', segments: 1 });
    await expectCharged(3 + 3 + 1);
  });
});
