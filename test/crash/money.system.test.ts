// Despite random kills, an account is charged once for each message that may have been sent, and for nothing else.
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { isConnectionError } from '../../src/platform/db/queryable.ts';
import { writeCampaign } from '../support/campaigns.ts';
import { scale } from '../support/crash/scale.ts';
import { fractionOf, send } from '../support/crash/send-and-kill.ts';
import { accountOf, type CrashStage, openCrashStage } from '../support/crash/stage.ts';
import { eventually } from '../support/eventually.ts';
import { credit, monthsOf, setPrice, wrongMonths } from '../support/money.ts';

const { messages, recipients, kills } = scale.money;
const PRICE = 100;
const FREE = 25;
const LIMIT_MS = 600_000;
/** Between two looks at what waits, which cost the database much. */
const LOOK_MS = 250;

let stage: CrashStage;

beforeAll(async () => {
  stage = await openCrashStage();
  await setPrice(stage.database, PRICE);
}, 180_000);
afterAll(async () => {
  await stage.close();
}, 60_000);
afterEach(() => stage.requireNoDeaths());

/** Repeats a statement while the database is down. */
async function throughOutages<T>(work: () => Promise<T>): Promise<T> {
  const end = Date.now() + LIMIT_MS / 3;
  for (;;) {
    try {
      return await work();
    } catch (error) {
      if (!isConnectionError(error) || Date.now() > end) throw error;
      await delay(200);
    }
  }
}

/** What waits: queue rows, and blocks that are not closed. */
async function waiting(): Promise<number> {
  const { rows } = await throughOutages(() =>
    stage.database.pool.query<{ count: number }>(
      `select (select count(*) from send_queue) + (select count(*) from handovers)
         + (select count(*) from campaign_blocks where closed_at is null) as count`,
    ),
  );
  return rows[0]?.count ?? -1;
}

/** Kills parts one after another, at moments that the seed decides. */
async function disturb(seed: number, arrivals: () => number, total: number): Promise<void> {
  const [first, second] = stage.senders;
  const parts = [stage.api, first, stage.worker, stage.postgres, second];
  for (let n = 0; n < kills; n += 1) {
    const at = (total * 0.7 * (n + fractionOf(seed, `moment ${n}`))) / kills;
    const end = Date.now() + LIMIT_MS / 3;
    while (arrivals() < at) {
      if (Date.now() > end) throw new Error(`only ${arrivals()} mails have arrived:\n${stage.lastLines()}`);
      await delay(10);
    }
    const part = parts[(n + seed) % parts.length] ?? first;
    await part.kill();
    await delay(300 * fractionOf(seed, `down ${n}`));
    await part.start();
  }
}

/** Makes retries due that the schedule puts off by minutes. */
const hurryRetries = () =>
  throughOutages(() =>
    stage.database.pool.query(
      `update send_queue set due_at = now() where message_id = any(array(
         select message_id from send_queue where owner is null and due_at > now() and not held
         order by message_id for update skip locked))`,
    ),
  );

describe.each(scale.seeds)(
  'an account that pays, while processes are killed at random moments (seed %i)',
  (seed) => {
    it(
      'is charged once for each message that may have been sent, and for nothing else',
      async () => {
        const account = await accountOf(stage);
        const { pool } = stage.database;
        await pool.query('update accounts set monthly_email_allowance = $2 where id = $1', [
          account.accountId,
          FREE,
        ]);
        await credit(stage.database, account, (messages + recipients) * 2 * PRICE);
        const seen = new Set<string>();
        // Some are refused for good, and some at their first attempt.
        stage.sink.refuse = (to) => {
          const number = Number(/(\d+)@/.exec(to)?.[1] ?? 0);
          if (number % 11 === 0) return '554 5.7.1 no';
          if (number % 7 !== 0 || seen.has(to)) return null;
          seen.add(to);
          return '450 4.2.0 later';
        };
        const before = stage.sink.arrivals.length;
        const arrivals = () => stage.sink.arrivals.length - before;
        await writeCampaign(stage.database, account, { recipients, blockSize: 100, prefix: `money${seed}c` });
        const run = send(stage, { prefix: `money${seed}m`, count: messages });
        await Promise.all([disturb(seed, arrivals, messages + recipients), run.done]);
        await eventually(
          async () => {
            await hurryRetries();
            expect(await waiting()).toBe(0);
          },
          LIMIT_MS / 2,
          LOOK_MS,
        );
        expect(await wrongMonths(stage.database, PRICE)).toEqual([]);
        const { rows } = await pool.query<{ charged: number; entries: number; balance: number }>(
          `select (select count(*)::int from messages
            where account_id = $1 and (sent_at is not null or status = 'unknown')) as charged,
          (select sum(millicents)::int from wallet_entries where account_id = $1) as entries,
          (select entries_millicents from wallets where account_id = $1)
            - (select sum(spent_millicents) from account_months where account_id = $1)::int as balance`,
          [account.accountId],
        );
        const { charged = 0, entries = 0, balance } = rows[0] ?? {};
        const months = await monthsOf(stage.database, account);
        expect(months.emails).toBe(charged);
        expect(months.free).toBeLessThanOrEqual(FREE);
        expect(balance).toBe(entries - (charged - months.free) * PRICE);
      },
      LIMIT_MS,
    );
  },
);
