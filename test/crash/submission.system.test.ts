// Each message that is accepted by the API, in a batch or by SMTP arrives once, and not before its time, whatever is killed.
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { faultsOfFiles } from '../support/attachments.ts';
import { untilQuiet } from '../support/crash/findings.ts';
import { killPart, type Part } from '../support/crash/kill-part.ts';
import { scale } from '../support/crash/scale.ts';
import { fractionOf } from '../support/crash/send-and-kill.ts';
import { accountOf, type CrashStage, openCrashStage } from '../support/crash/stage.ts';
import { startSubmitters, type Submitters, type Way, wayOf } from '../support/crash/submitters.ts';
import { credit, monthsOf, setPrice, wrongMonths } from '../support/money.ts';

const { messages: count, kills } = scale.submission;
const LIMIT_MS = 900_000;
const PARALLEL = 4;
const SCHEDULED_MS = 2_500;
/** Share of the messages after which nothing is killed any more. */
const LAST_KILL_AT = 0.95;
const PRICE = 100;
const FREE = 25;

let stage: CrashStage;
beforeAll(async () => {
  stage = await openCrashStage({ submission: true });
  await setPrice(stage.database, PRICE);
}, 180_000);
afterAll(async () => {
  await stage.close();
}, 60_000);
afterEach(() => stage.requireNoDeaths());

const numbersOf = (way: Way) => Array.from({ length: count }, (_, n) => n).filter((n) => wayOf(n) === way);

/** Resolves in the turn in which a message is known to be written whose client has no reply yet, or when all have one. */
async function untilUnanswered(prefix: string, way: Way, { accepted }: Submitters): Promise<void> {
  const end = Date.now() + LIMIT_MS / 10;
  while (Date.now() < end) {
    const { rows } = await stage.database.pool.query<{ to: string }>(
      'select to_key as "to" from messages where starts_with(to_key, $1) order by id desc limit 100',
      [`${prefix}-`],
    );
    const numbers = rows.map(({ to }) => Number(/-(\d+)@/.exec(to)?.[1]));
    if (numbers.some((n) => wayOf(n) === way && !accepted.has(n))) return;
    if (numbersOf(way).every((n) => accepted.has(n))) return;
  }
  throw new Error(`each ${way} had its reply when its message was written`);
}

/** Kills one part after another at moments that the seed decides. @returns ids of messages that had an open intent */
async function disturb(seed: number, prefix: string, clients: Submitters): Promise<Set<number>> {
  const parts: readonly Part[] = ['submission', 'first', 'postgres', 'api', 'second'];
  const intended: number[] = [];
  for (let n = 0; n < kills; n += 1) {
    const at = (count * LAST_KILL_AT * (n + fractionOf(seed, `moment ${n}`))) / kills;
    const end = Date.now() + LIMIT_MS / 4;
    while (clients.accepted.size < at) {
      if (Date.now() > end)
        throw new Error(`only ${clients.accepted.size} are accepted:\n${stage.lastLines()}`);
      await delay(5);
    }
    const part = parts[(n + seed - 1) % parts.length] as Part;
    if (part === 'submission') await untilUnanswered(prefix, 'smtp', clients);
    if (part === 'api') await untilUnanswered(prefix, 'request', clients);
    intended.push(...(await killPart(stage, part, clients.breakConnections)));
  }
  return new Set(intended);
}

interface Row {
  id: number;
  to: string;
  status: string;
}

async function writtenRows(prefix: string): Promise<Row[]> {
  const { rows } = await stage.database.pool.query<Row>(
    `select id, to_key as "to", status from messages where strpos(to_key, $1) > 0`,
    [`${prefix}-`],
  );
  return rows;
}

/** What the account was charged, and what it should have been. */
async function moneyOf(account: { accountId: number; brandId: number }, first: number) {
  const { rows } = await stage.database.pool.query<{ balance: number; entries: number }>(
    `select (select sum(millicents)::int from wallet_entries where account_id = $1) as entries,
       (select entries_millicents from wallets where account_id = $1)
         - (select sum(spent_millicents) from account_months where account_id = $1)::int as balance`,
    [account.accountId],
  );
  const { balance = 0, entries = 0 } = rows[0] ?? {};
  const { emails, free } = await monthsOf(stage.database, account);
  return { emails: emails - first, spent: entries - balance, due: (emails - free) * PRICE };
}

describe.each(scale.seeds)('messages by the API, in batches and by SMTP (seed %i)', (seed) => {
  it(
    'are accepted once, arrive once and not before their time, and are paid once',
    async () => {
      const { sink, database, apiPort, apiKey, submission } = stage;
      const account = await accountOf(stage);
      await database.pool.query('update accounts set monthly_email_allowance = $2 where id = $1', [
        account.accountId,
        FREE,
      ]);
      await credit(database, account, count * 2 * PRICE);
      const { emails: first } = await monthsOf(database, account);
      const prefix = `submitted${seed}`;
      const firstArrival = sink.arrivals.length;
      const leads = new Set<string>();
      sink.onArrival = ({ to }) => void (to.startsWith(`${prefix}-`) && leads.add(to));
      const clients = startSubmitters({
        ...{ apiPort, apiKey, prefix, count, parallel: PARALLEL, ahead: count / 3 },
        smtpPort: submission?.port ?? 0,
        from: `sandbox-${account.accountId}@mail.crash.test`,
        arrived: () => leads.size,
        scheduledMs: SCHEDULED_MS,
      });
      const [intended] = await Promise.all([disturb(seed, prefix, clients), clients.done]);
      await untilQuiet(database);

      const sent = [...clients.messages.values()];
      const rows = await writtenRows(prefix);
      const arrivals = Map.groupBy(sink.arrivals.slice(firstArrival), ({ to }) => to);
      const expected = sent.flatMap(({ to, cc }) => [to, ...(cc === null ? [] : [cc])]).toSorted();
      const idOf = new Map(rows.map(({ id, to }) => [to, id]));
      expect(rows.filter(({ status }) => status !== 'sent')).toEqual([]);
      expect(rows.map(({ to }) => to).toSorted()).toEqual(expected);
      expect(sent.filter(({ n, to }) => clients.accepted.get(n) !== idOf.get(to))).toEqual([]);
      expect(clients.replayed.smtp).toBeGreaterThan(0);
      expect(clients.replayed.request).toBeGreaterThan(0);

      expect([...arrivals.keys()].toSorted()).toEqual(expected);
      const repeated = [...arrivals].filter(([, each]) => each.length > 1).map(([to]) => to);
      expect(repeated.filter((to) => !intended.has(idOf.get(to) ?? 0))).toEqual([]);
      const early = sent.filter(
        ({ to, scheduledAt }) => scheduledAt && (arrivals.get(to)?.[0]?.at ?? 0) < scheduledAt.getTime(),
      );
      expect(early).toEqual([]);
      expect(sent.filter(({ scheduledAt }) => scheduledAt).length).toBeGreaterThan(count / 4);

      expect(await wrongMonths(database, PRICE)).toEqual([]);
      const { emails, spent, due } = await moneyOf(account, first);
      expect(emails).toBe(expected.length);
      expect(spent).toBe(due);
      const { rowsWithoutBlob, lettersWithoutRow } = await faultsOfFiles(database, stage.home);
      expect({ rowsWithoutBlob, lettersWithoutRow }).toEqual({ rowsWithoutBlob: [], lettersWithoutRow: [] });
    },
    LIMIT_MS,
  );
});
