// A killed process loses no message, and only messages with a committed intent are repeated, unchanged.
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { claimedBy } from '../support/crash/cluster.ts';
import { type Findings, findingsOf, reportedIds, untilQuiet } from '../support/crash/findings.ts';
import { isRecovering } from '../support/crash/recovery.ts';
import { scale } from '../support/crash/scale.ts';
import { type CrashStage, openCrashStage } from '../support/crash/stage.ts';
import { send, sendAndKill, type Kill } from '../support/crash/send-and-kill.ts';
import { watchSender } from '../support/crash/witness.ts';
import { eventually } from '../support/eventually.ts';
import { countedUsage, emailsSent, recountedUsage } from '../support/usage.ts';

const { messages: count, seeds, engineDownMs, strandedLimitSeconds } = scale;
const nothing = { intended: [], claimed: [] };

let stage: CrashStage;
let sent = 0;

beforeAll(async () => {
  stage = await openCrashStage();
}, 180_000);

afterAll(async () => {
  await stage.close();
}, 60_000);

afterEach(() => stage.requireNoDeaths());

function recipientsOf(prefix: string): Set<string> {
  const arrivals = stage.sink.arrivals.filter(({ to }) => to.startsWith(prefix));
  return new Set(arrivals.map(({ to }) => to));
}

/** Checks what Carillon guarantees whichever process was killed. */
function expectGuarantees(findings: Findings): void {
  sent += count;
  expect(findings).toMatchObject({
    messages: count,
    messageIds: count,
    missing: [],
    repeatedUnintended: [],
    changed: [],
    statuses: { sent: count },
    unreported: [],
  });
  expect(findings.resumedSeconds).toBeLessThan(strandedLimitSeconds);
  expect(findings.strandedSeconds).toBeLessThan(strandedLimitSeconds);
}

/** Kills and restarts a part that hands over no messages itself, so that no mail may arrive twice. */
async function killAndRestart(part: { kill(): Promise<void>; start(): Promise<void> }): Promise<Kill> {
  await part.kill();
  const restartedAt = Date.now();
  await part.start();
  return { held: nothing, restartedAt };
}

describe.each(seeds)('a process that is killed during sending (seed %i)', (seed) => {
  it('repeats only messages with an intent, unchanged, if it is a sender', async () => {
    const victim = stage.senders[seed % 2 === 0 ? 0 : 1];
    const witness = await watchSender(stage, victim.pid, claimedBy);
    const kill = async () => {
      await victim.kill();
      const held = await witness.held();
      await witness.close();
      const restartedAt = Date.now();
      await victim.start();
      return { held, restartedAt };
    };
    const send = async () => {
      try {
        return await sendAndKill(stage, { name: 'sender', seed, count, moment: victim, kill });
      } finally {
        await witness.close();
      }
    };
    const findings = await findingsOf(stage, await send());
    expectGuarantees(findings);
    expect(findings.repeated).toBeGreaterThan(0);
  }, 150_000);

  it('repeats no message if it is the API, whose clients repeat their requests', async () => {
    const kill = () => killAndRestart(stage.api);
    const run = await sendAndKill(stage, { name: 'api', seed, count, moment: 'answer', kill });
    const findings = await findingsOf(stage, run);
    expectGuarantees(findings);
    expect(findings.replayed).toBeGreaterThan(0);
  }, 150_000);

  it('repeats no message if it is the worker', async () => {
    const kill = () => killAndRestart(stage.worker);
    const run = await sendAndKill(stage, { name: 'worker', seed, count, moment: 'mail', kill });
    expectGuarantees(await findingsOf(stage, run));
  }, 150_000);

  it('repeats no message if it is the engine, and sending continues while it is down', async () => {
    const kill = async () => {
      await stage.engine.kill();
      await delay(engineDownMs);
      await eventually(() => expect(recipientsOf(`engine-${seed}-`).size).toBe(count), 90_000);
      const restartedAt = Date.now();
      await stage.engine.start();
      return { held: nothing, restartedAt };
    };
    const run = await sendAndKill(stage, { name: 'engine', seed, count, moment: 'mail', kill });
    expectGuarantees(await findingsOf(stage, run));
  }, 250_000);

  it('repeats only messages with an intent, unchanged, if it is the database', async () => {
    const kill = async () => {
      await stage.postgres.kill();
      const held = await stage.postgres.readCopy((client) => claimedBy(client));
      const restartedAt = Date.now();
      await stage.postgres.start();
      return { held, restartedAt };
    };
    const run = await sendAndKill(stage, { name: 'database', seed, count, moment: 'mail', kill });
    expect(run.held.intended.length).toBeGreaterThan(0);
    expectGuarantees(await findingsOf(stage, run));
  }, 200_000);
});

describe.each(seeds)('an engine that loses all its data during webhook retries (seed %i)', (seed) => {
  it('does not stop the retries: every event is delivered', async () => {
    const { receiver, engine, database } = stage;
    receiver.answer = (_request, response) => void response.writeHead(500).end();
    const run = send(stage, { prefix: `forgotten-${seed}`, count });
    await eventually(async () => expect(await isRecovering(stage)).toBe(true), 60_000);

    await engine.kill();
    await engine.forget();
    const restartedAt = Date.now();
    await engine.start();
    await eventually(async () => expect(await isRecovering(stage)).toBe(true), 60_000);
    expect((Date.now() - restartedAt) / 1_000).toBeLessThan(strandedLimitSeconds);

    receiver.answer = (_request, response) => void response.end();
    await run.done;
    sent += count;
    await untilQuiet(database);
    const reported = reportedIds(receiver);
    expect(run.accepted.filter(({ id }) => !reported.has(id))).toEqual([]);
    await eventually(async () => {
      const { rows } = await database.pool.query('select failing_since, recovery_armed from webhooks');
      expect(rows).toEqual([{ failing_since: null, recovery_armed: false }]);
    }, 60_000);
  }, 200_000);
});

it('counts each message once, even if it was handed over twice', async () => {
  const { pool } = stage.database;
  const { rows } = await pool.query(
    `select (select sum(used)::int from sandbox_usage where account_id = $1) as of_sandbox,
       (select sum(used)::int from allowance_buckets where account_id = $1) as of_allowance`,
    [stage.accountId],
  );
  expect(rows).toEqual([{ of_sandbox: sent, of_allowance: sent }]);
  expect(await emailsSent(pool, stage.accountId)).toBe(sent);
  const usage = await countedUsage(pool, stage.accountId);
  expect(usage.reduce((sum, { email }) => sum + email, 0)).toBe(sent);
  expect(usage).toEqual(await recountedUsage(pool, stage.accountId));
});
