import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { heldBy } from '../support/crash/cluster.ts';
import { type Findings, findingsOf, toldOf, untilQuiet } from '../support/crash/findings.ts';
import { isRecovering } from '../support/crash/recovery.ts';
import { scale } from '../support/crash/scale.ts';
import { type CrashStage, openCrashStage } from '../support/crash/stage.ts';
import { send, sendAndStrike, type Struck } from '../support/crash/strike.ts';
import { watchSender } from '../support/crash/witness.ts';
import { eventually } from '../support/eventually.ts';

const { messages: count, seeds, engineDownMs } = scale;
/** Work that was stranded moves again within this time of the restart. */
const STRANDED_LIMIT_SECONDS = 15;
const nothing = { intended: [], claimed: [] };

let stage: CrashStage;
let sent = 0;

beforeAll(async () => {
  stage = await openCrashStage();
}, 180_000);

afterAll(async () => {
  await stage.close();
}, 60_000);

afterEach(() => {
  const dead = [stage.api, stage.worker, ...stage.senders].filter((role) => role.deaths > 0);
  if (dead.length > 0)
    throw new Error(`ended by themselves: ${dead.map((role) => role.lastWords()).join('\n')}`);
});

function recipientsOf(prefix: string): Set<string> {
  const arrivals = stage.sink.arrivals.filter(({ to }) => to.startsWith(prefix));
  return new Set(arrivals.map(({ to }) => to));
}

/** Every rule that holds whatever was killed. */
function expectTheRules(findings: Findings): void {
  sent += count;
  expect(findings).toMatchObject({
    messages: count,
    messageIds: count,
    missing: [],
    repeatedUnintended: [],
    changed: [],
    statuses: { sent: count },
    untold: [],
  });
  expect(findings.resumedSeconds).toBeLessThan(STRANDED_LIMIT_SECONDS);
  expect(findings.strandedSeconds).toBeLessThan(STRANDED_LIMIT_SECONDS);
}

/** Kill something that hands nothing over itself; nothing it did may make a mail arrive twice. */
async function killAndRestart(part: { kill(): Promise<void>; start(): Promise<void> }): Promise<Struck> {
  await part.kill();
  const restartedAt = Date.now();
  await part.start();
  return { held: nothing, restartedAt };
}

describe.each(seeds)('everything accepted arrives although a process is killed (seed %i)', (seed) => {
  it('the sender that just handed a mail over: only what it had intended arrives again, the same', async () => {
    const victim = stage.senders[seed % 2 === 0 ? 0 : 1];
    const witness = await watchSender(stage, victim.pid, heldBy);
    const strike = async () => {
      await victim.kill();
      const held = await witness.held();
      await witness.close();
      const restartedAt = Date.now();
      await victim.start();
      return { held, restartedAt };
    };
    const run = await sendAndStrike(stage, { name: 'sender', seed, count, moment: victim, strike }).finally(
      witness.close,
    );
    const findings = await findingsOf(stage, run);
    expectTheRules(findings);
    expect(findings.repeated).toBeGreaterThan(0);
  }, 150_000);

  it('the API: its clients ask again under the same key, and nothing is sent twice', async () => {
    const strike = () => killAndRestart(stage.api);
    const run = await sendAndStrike(stage, { name: 'api', seed, count, moment: 'answer', strike });
    const findings = await findingsOf(stage, run);
    expectTheRules(findings);
    expect(findings.replayed).toBeGreaterThan(0);
  }, 150_000);

  it('the worker: mail goes on', async () => {
    const strike = () => killAndRestart(stage.worker);
    const run = await sendAndStrike(stage, { name: 'worker', seed, count, moment: 'mail', strike });
    expectTheRules(await findingsOf(stage, run));
  }, 150_000);

  it('the engine: all mail arrives while it stays away', async () => {
    const strike = async () => {
      await stage.engine.kill();
      await delay(engineDownMs);
      await eventually(() => expect(recipientsOf(`engine-${seed}-`).size).toBe(count), 90_000);
      const restartedAt = Date.now();
      await stage.engine.start();
      return { held: nothing, restartedAt };
    };
    const run = await sendAndStrike(stage, { name: 'engine', seed, count, moment: 'mail', strike });
    expectTheRules(await findingsOf(stage, run));
  }, 250_000);

  it('the database with all its processes: only what was intended arrives again, the same', async () => {
    const strike = async () => {
      await stage.postgres.kill();
      const held = await stage.postgres.readCopy((client) => heldBy(client));
      const restartedAt = Date.now();
      await stage.postgres.start();
      return { held, restartedAt };
    };
    const run = await sendAndStrike(stage, { name: 'database', seed, count, moment: 'mail', strike });
    expect(run.held.intended.length).toBeGreaterThan(0);
    expectTheRules(await findingsOf(stage, run));
  }, 200_000);
});

describe.each(seeds)('everything the engine knew is lost while webhooks are retried (seed %i)', (seed) => {
  it('their retries go on, and every event is taken in the end', async () => {
    const { receiver, engine, database } = stage;
    receiver.answer = (_request, response) => void response.writeHead(500).end();
    const run = send(stage, { prefix: `forgotten-${seed}`, count });
    await eventually(async () => expect(await isRecovering(stage)).toBe(true), 60_000);

    await engine.kill();
    await engine.forget();
    const restartedAt = Date.now();
    await engine.start();
    await eventually(async () => expect(await isRecovering(stage)).toBe(true), 60_000);
    expect((Date.now() - restartedAt) / 1_000).toBeLessThan(STRANDED_LIMIT_SECONDS);

    receiver.answer = (_request, response) => void response.end();
    await run.done;
    sent += count;
    await untilQuiet(database);
    const told = toldOf(receiver);
    expect(run.accepted.filter(({ id }) => !told.has(id))).toEqual([]);
    await eventually(async () => {
      const { rows } = await database.pool.query('select failing_since, recovery_armed from webhooks');
      expect(rows).toEqual([{ failing_since: null, recovery_armed: false }]);
    }, 30_000);
  }, 200_000);
});

it('counts each message once, however often it was claimed and handed over', async () => {
  const { rows } = await stage.database.pool.query(
    `select (select email_sent from account_counters where account_id = $1) as counted,
       (select sum(used)::int from sandbox_usage where account_id = $1) as of_sandbox,
       (select sum(used)::int from allowance_buckets where account_id = $1) as of_allowance`,
    [stage.accountId],
  );
  expect(rows).toEqual([{ counted: sent, of_sandbox: sent, of_allowance: sent }]);
});
