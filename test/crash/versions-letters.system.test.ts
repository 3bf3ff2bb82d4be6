// During an upgrade, a sender of the version before leaves letters alone, and one of this version sends them.
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { untilQuiet } from '../support/crash/findings.ts';
import { accountOf, type CrashStage, openCrashStage } from '../support/crash/stage.ts';
import { eventually } from '../support/eventually.ts';
import { queueLetter } from '../support/letters.ts';
import { queueEmails, type QueuedAccount, wakeSenders } from '../support/queued.ts';

/** As in versions.system.test.ts. */
const before = process.env.CRASH_BEFORE;
/** This version stands for the one before by a queue that it does not know. */
const queue = before === undefined ? 'email_later' : 'email_whole';
const LETTERS = 20;
/** The version before walks over all backlogs and sweeps its claims every two seconds, and its fail-over looks as often. */
const WATCHED_MS = 10_000;
const LIMIT_MS = 60_000;

let stage: CrashStage;
let account: QueuedAccount;
beforeAll(async () => {
  stage = await openCrashStage({ before: before ?? process.cwd() });
  account = await accountOf(stage);
}, 180_000);
afterAll(async () => {
  await stage.close();
}, 60_000);

const arrivals = (to: string) => stage.sink.arrivals.filter((each) => each.to === to);

async function rowsOf(ids: readonly number[]): Promise<unknown[]> {
  const { rows } = await stage.database.pool.query<Record<string, unknown>>(
    `select q.*, m.status, m.hold, m.attempt_count, m.updated_at
     from send_queue q join messages m on m.id = q.message_id where q.message_id = any($1) order by 1`,
    [ids],
  );
  return rows;
}

/** Sends a message, to see that a sender is at work. */
async function sendOther(to: string): Promise<void> {
  await queueEmails(stage.database, account, 1, { prefix: to });
  await eventually(() => expect(arrivals(`${to}0@example.com`)).toHaveLength(1), LIMIT_MS);
}

it('a letter waits for a sender that knows letters', async () => {
  const { database, senders } = stage;
  await Promise.all(senders.map((sender) => sender.stop()));
  const ids: number[] = [];
  for (let n = 0; n < LETTERS; n += 1) {
    const recipients = ['a', 'b'].map((name) => ({
      kind: 'to' as const,
      address: `${name}${n}@example.com`,
    }));
    ids.push(...(await queueLetter(database, account, { recipients, queue })));
  }
  await wakeSenders(database);
  const untouched = await rowsOf(ids);
  expect(untouched).toHaveLength(2 * LETTERS);

  const end = Date.now() + WATCHED_MS;
  for (let n = 0; Date.now() < end; n += 1) await sendOther(`other-${n}-`);
  expect(await rowsOf(ids)).toEqual(untouched);
  expect(new Set(stage.sink.arrivals.map(({ client }) => client))).toEqual(new Set(['sender-before']));

  await stage.before?.sender.stop();
  await database.pool.query(`update send_queue set channel = 'email_whole' where message_id = any($1)`, [
    ids,
  ]);
  await Promise.all(senders.map((sender) => sender.start()));
  await untilQuiet(database);
  for (let n = 0; n < LETTERS; n += 1)
    for (const name of ['a', 'b']) expect(arrivals(`${name}${n}@example.com`)).toHaveLength(1);
  stage.requireNoDeaths();
}, 300_000);
