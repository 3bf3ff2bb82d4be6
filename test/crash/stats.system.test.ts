// After random outcomes in random order, and kills at random moments, the figures equal a count of the messages.
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { foldStats } from '../../src/features/stats/fold.ts';
import { writeCampaign } from '../support/campaigns.ts';
import { scale } from '../support/crash/scale.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { send, testFlowSender, writeContact, writeFlow, writeRun } from '../support/flow-sends.ts';
import { createOutcomes } from '../support/outcomes.ts';
import { type Program, runProgram } from '../support/programs.ts';
import { insertAccount, insertSender, queueEmails, type QueuedAccount } from '../support/queued.ts';
import { randomFrom } from '../support/random.ts';
import { countedStats, recountedStats, statSums } from '../support/stats.ts';

const { facts: wanted, messages, kills } = scale.stats;
const WRITERS = 2;
const LIMIT_MS = 900_000;

let test: TestDatabase;
beforeAll(async () => {
  test = await createTestDatabase();
}, 120_000);
afterAll(() => test.drop());

const query = (text: string, values: unknown[] = []) => test.database.pool.query(text, values);

/** Writes messages of the API, campaigns and flows, which were accepted days ago. */
async function writeMessages(account: QueuedAccount): Promise<void> {
  const ids = await queueEmails(test.database, account, messages);
  await query(`update messages set channel = 'sms', segments = 1 where id % 3 = 0 and id between $1 and $2`, [
    Math.min(...ids),
    Math.max(...ids),
  ]);
  await writeCampaign(test.database, account, { recipients: messages, blockSize: 100, prefix: 'stats' });
  const { flowId, steps } = await writeFlow(test.database, account);
  for (let n = 0; n < messages / 50; n += 1) {
    const contactId = await writeContact(test.database, account, { email: `flow${n}@example.com` });
    const run = await writeRun(test.database, account, flowId, contactId);
    await send(test.database, testFlowSender(), run, steps[0]);
  }
  await query(`update messages set created_at = created_at - interval '4 days' where account_id = $1`, [
    account.accountId,
  ]);
  await query('analyze messages, send_queue');
}

/** The last owner that a writer got. All seeds share a database. */
let owners = 1_000;

/** Processes that record until they are killed. Each is a sender of its own. */
class Writers {
  facts = 0;
  #running: { program: Program; owner: number }[] = [];
  #account: QueuedAccount;

  constructor(account: QueuedAccount) {
    this.#account = account;
  }

  async start(): Promise<void> {
    const owner = (owners += 1);
    await insertSender(test.database, owner);
    const { accountId, brandId } = this.#account;
    const program = runProgram('test/support/crash/outcome-writer.ts', [
      ...[test.url, String(owner), String(accountId), String(brandId)],
    ]);
    program.child.on('message', (count) => (this.facts += Number(count)));
    this.#running.push({ program, owner });
  }

  /** Kills the longest running process and recovers it, as the reaper does, sometimes while it still runs. */
  async kill({ early = false } = {}): Promise<void> {
    const [first] = this.#running;
    if (!first) throw new Error('no process runs');
    const { program, owner } = first;
    const recover = () => createOutcomes(test.database, owner).die();
    if (early) await recover();
    this.#running.shift();
    program.child.kill('SIGKILL');
    const ended = await program.ended;
    if (ended !== 'SIGKILL') throw new Error(`the process ended with ${ended}: ${program.output()}`);
    await recover();
  }

  async until(facts: number): Promise<void> {
    const end = Date.now() + LIMIT_MS;
    while (this.facts < facts) {
      const dead = this.#running.find(({ program }) => program.child.exitCode !== null);
      if (dead) throw new Error(`a process ended: ${dead.program.output()}`);
      if (Date.now() > end) throw new Error(`only ${this.facts} facts were recorded`);
      await delay(5);
    }
  }

  async stop(): Promise<void> {
    while (this.#running.length > 0) await this.kill();
  }
}

/** Messages whose figures do not show what their states say. */
const contradictions = async (accountId: number) =>
  (
    await query(
      `select id, status from messages where account_id = $1 and (
         (bounce is not null) <> (bounced_at is not null) or status = 'bounced' and bounced_at is null
         or (status = 'complained') <> (complained_at is not null)
         or status in ('sent', 'delivered', 'complained') and sent_at is null
         or status = 'delivered' and delivered_at is null)`,
      [accountId],
    )
  ).rows;

describe.each(scale.seeds)('figures over time (seed %i)', (seed) => {
  it(
    'equal a count of the messages after random outcomes and kills, folded or not',
    async () => {
      const account = await insertAccount(test.database);
      await writeMessages(account);
      const random = randomFrom(seed);
      const writers = new Writers(account);
      for (let n = 0; n < WRITERS; n += 1) await writers.start();
      for (let n = 1; n <= kills; n += 1) {
        await writers.until((wanted * (n - random(1_000) / 1_000)) / kills);
        await writers.kill({ early: random(2) === 0 });
        await writers.start();
      }
      await writers.until(wanted);
      await writers.stop();

      const { pool } = test.database;
      const expected = await recountedStats(pool, account.brandId);
      expect(await countedStats(pool, account.brandId)).toEqual(expected);
      while (await foldStats(pool));
      expect((await query('select from stat_changes')).rowCount).toBe(0);
      expect(await countedStats(pool, account.brandId)).toEqual(expected);
      expect(await contradictions(account.accountId)).toEqual([]);
      // Otherwise something was not tried.
      const kinds = new Set(expected.map(({ source, channel, name }) => `${source} ${channel} ${name}`));
      const names = Object.keys(await statSums(pool, account.brandId));
      expect(names).toHaveLength(7);
      for (const name of names) {
        for (const source of ['api', 'campaign']) expect(kinds).toContain(`${source} email ${name}`);
      }
      expect([...kinds]).toEqual(expect.arrayContaining(['flow email sent', 'api sms complained']));
    },
    LIMIT_MS,
  );
});
