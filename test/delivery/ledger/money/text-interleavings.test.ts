// In any order of reports, records and sender deaths, texts are charged for what was sent.
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import fc from 'fast-check';
import type { HandOverOutcome } from '../../../../src/delivery/terms/hand-over-outcome.ts';
import { balanceSql } from '../../../../src/delivery/ledger/money/wallet.ts';
import { postMonths } from '../../../../src/features/wallet/months.ts';
import type { WrittenCampaign } from '../../../support/campaigns.ts';
import { createTestDatabase, type TestDatabase } from '../../../support/database.ts';
import { runTask } from '../../../support/housekeeping.ts';
import { insertPayer, setPrice } from '../../../support/money.ts';
import { insertSender, type QueuedAccount } from '../../../support/queued.ts';
import {
  createTexts,
  german,
  type Intended,
  leavingOf,
  type Texts,
  took,
} from '../../../support/text-sends.ts';
import { countedUsage, recountedUsage } from '../../../support/usage.ts';

const PRICE = 100;
const OWNER = 61;

let test: TestDatabase;

beforeAll(async () => {
  test = await createTestDatabase();
  const { pool } = test.database;
  await insertSender(test.database, OWNER);
  await setPrice(test.database, PRICE, { country: 'DE' });
  // The clock of the months. Only the test moves it.
  await pool.query(`create table test_clock as select date '2030-01-01' as month`);
  await pool.query(
    `create or replace function current_month() returns date language sql stable as 'select month from test_clock'`,
  );
});
afterAll(() => test.drop());

const query = (text: string, ...values: unknown[]) => test.database.pool.query(text, values);

const outcomes: readonly HandOverOutcome[] = [
  took(1),
  took(2),
  took(3),
  { kind: 'unknown', reason: 'lost' },
  { kind: 'deferred', response: 'later' },
  { kind: 'refused', code: 'rejected', response: 'no' },
];

/** A step in the life of an account's texts. Numbers choose among the existing objects. */
interface Step {
  do: 'write' | 'flow' | 'block' | 'retry' | 'record' | 'report' | 'die' | 'resend' | 'stop' | 'month';
  n: number;
}

const stepArbitrary: fc.Arbitrary<Step> = fc.record({
  do: fc.constantFrom(
    ...(['write', 'flow', 'flow', 'block', 'block', 'retry'] as const),
    ...([
      'record',
      'record',
      'record',
      'record',
      'report',
      'report',
      'die',
      'resend',
      'stop',
      'month',
    ] as const),
  ),
  n: fc.nat(1_000_000),
});

/** Texts that a sender has or had. */
interface HandedOver {
  intended: Intended;
  outcomes: HandOverOutcome[];
  repeatable: boolean;
  /** `lost`: their sender was taken for dead, which it may not have been. */
  state: 'open' | 'lost' | 'recorded';
}

interface World {
  account: QueuedAccount;
  texts: Texts;
  campaigns: WrittenCampaign[];
  handedOver: HandedOver[];
}

const chosen = <Thing>(things: readonly Thing[], n: number): Thing | undefined => things[n % things.length];

async function handOver({ texts, handedOver }: World, { do: what, n }: Step): Promise<void> {
  await query('update send_queue set due_at = now() where owner is null and not held');
  const of = what === 'flow' ? 'flow' : 'campaign';
  const claims = what === 'block' ? await texts.claimTexts() : await texts.claimQueued(of);
  if (claims.length === 0) return;
  const intended = await texts.intend(claims);
  const given = leavingOf(intended).map((_, k) => chosen(outcomes, n + k * 5) as HandOverOutcome);
  handedOver.push({ intended, outcomes: given, repeatable: what !== 'block' && n % 3 === 0, state: 'open' });
}

/** A provider reports only what it may have accepted. It reports no failure of an open block's texts. */
async function report({ texts, handedOver }: World, n: number): Promise<void> {
  const one = chosen(handedOver, n);
  if (!one) return;
  const messages = leavingOf(one.intended).filter(
    (_, k) => ['accepted', 'unknown'].includes(one.outcomes[k]?.kind ?? '') && (n + k) % 4 > 0,
  );
  await texts.report(
    messages,
    n % 5 === 0 && !(one.state === 'open' && one.intended.block) ? 'failed' : 'delivered',
  );
}

async function record({ texts, handedOver }: World, n: number): Promise<void> {
  const one = chosen(handedOver, n);
  if (!one || one.state === 'recorded') return;
  one.state = 'recorded';
  await texts.record(one.intended, (_, k) => one.outcomes[k] as HandOverOutcome, one.repeatable);
}

/** Ends the month, and posts the one before it, which ended a month ago. */
async function endMonth(): Promise<void> {
  const { rows } = await test.database.pool.query<{ begins: Date }>(
    `update test_clock set month = (month + interval '1 month')::date
     returning month::timestamp at time zone 'utc' as begins`,
  );
  await runTask(test.database, postMonths, rows[0]?.begins ?? new Date());
}

async function take(world: World, step: Step): Promise<void> {
  const { texts, campaigns } = world;
  switch (step.do) {
    case 'write':
      campaigns.push(await texts.campaignTo([german(), german(), german()]));
      return void (await texts.flowTo(german()));
    case 'flow':
    case 'block':
    case 'retry':
      return handOver(world, step);
    case 'record':
      return record(world, step.n);
    case 'report':
      return report(world, step.n);
    case 'die':
      for (const one of world.handedOver) if (one.state === 'open') one.state = 'lost';
      return texts.recover();
    case 'resend':
    case 'stop': {
      const campaign = chosen(campaigns, step.n);
      return void (campaign && (await texts[step.do === 'stop' ? 'cancel' : 'resend'](campaign)));
    }
    case 'month':
      return endMonth();
  }
}

/**
 * The charges must agree with the sum over the messages and the open reservations. The charge of a text that was
 * reported is in its block until its sender has recorded it.
 */
async function check({ account: { accountId } }: World, steps: readonly Step[]): Promise<void> {
  const { pool } = test.database;
  const { rows } = await pool.query<
    Record<'texts' | 'spent' | 'open' | 'charged' | 'balance' | 'sum', number>
  >(
    `select s.texts, s.spent, o.open, c.charged, ${balanceSql('a')} as balance, (
       coalesce((select sum(millicents) from wallet_entries e where e.account_id = a.id), 0)
       - coalesce((select sum(spent_millicents) from account_months s where s.account_id = a.id and posted_at is null), 0))::bigint as sum
     from accounts a cross join lateral (
       select coalesce(sum(sms_units), 0)::int as texts, coalesce(sum(spent_millicents), 0)::int as spent
       from account_months where account_id = a.id) s
     cross join lateral (
       select (select coalesce(sum(price_units), 0)::int from send_queue where account_id = a.id and price_month is not null)
         + (select coalesce(sum(price_units), 0)::int from campaign_blocks where account_id = a.id) as open) o
     cross join lateral (
       select coalesce(sum(segments), 0)::int as charged from messages m
       where m.account_id = a.id and m.unsent_at is null and (m.sent_at is not null or m.unknown_at is not null)
         and not exists (select from send_queue q where q.message_id = m.id and q.price_month is not null and q.price_units > 0)
         and not exists (select from handovers h where h.block_n is not null and m.id = any(h.message_ids))) c
     where a.id = $1`,
    [accountId],
  );
  const { texts = 0, spent = 0, open = 0, charged = 0, balance, sum } = rows[0] ?? {};
  expect([steps, { texts, spent, balance }]).toEqual([
    steps,
    { texts: open + charged, spent: (open + charged) * PRICE, balance: sum },
  ]);
  const recounted = (await recountedUsage(pool, accountId)).filter(({ sms }) => sms > 0);
  expect([steps, await countedUsage(pool, accountId)]).toEqual([steps, recounted]);
}

it('charges texts for what was sent, in any order of reports, records and deaths of senders', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(stepArbitrary, { minLength: 15, maxLength: 40 }), async (steps) => {
      const account = await insertPayer(test.database, { funds: 10_000 * PRICE });
      const texts = createTexts(test.database, account, OWNER);
      const world: World = { account, texts, campaigns: [], handedOver: [] };
      await take(world, { do: 'write', n: 0 });
      for (const [n, step] of steps.entries()) {
        await take(world, step);
        await check(world, steps.slice(0, n + 1));
      }
      await texts.recover();
      await query('delete from send_queue where account_id = $1', account.accountId);
    }),
    { numRuns: Number(process.env.MONEY_RUNS ?? 12), seed: 16 },
  );
}, 120_000);
