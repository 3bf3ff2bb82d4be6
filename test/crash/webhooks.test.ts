import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { type EventFindings, publishAndStrike } from '../support/crash/event-strike.ts';
import { claimedDeliveriesOf, dueRetriesOf, type Subscriber, subscriberOf } from '../support/crash/events.ts';
import { scale } from '../support/crash/scale.ts';
import { type CrashStage, openCrashStage } from '../support/crash/stage.ts';
import { watchSender } from '../support/crash/witness.ts';
import { eventually } from '../support/eventually.ts';

const { events: count, seeds, engineDownMs } = scale;
/** Work that was stranded moves again within this time of the restart. */
const STRANDED_LIMIT_SECONDS = 15;

let stage: CrashStage;
let subscriber: Subscriber;

beforeAll(async () => {
  stage = await openCrashStage();
  subscriber = subscriberOf(stage, await stage.subscribe('/flaky'));
}, 180_000);

afterAll(async () => {
  await stage.close();
}, 60_000);

afterEach(async () => {
  const dead = [stage.worker, ...stage.senders].filter((role) => role.deaths > 0);
  if (dead.length > 0)
    throw new Error(`ended by themselves: ${dead.map((role) => role.lastWords()).join('\n')}`);
  await eventually(async () => {
    const { rows } = await stage.database.pool.query('select failing_since, recovery_armed from webhooks');
    const calm = { failing_since: null, recovery_armed: false };
    expect(rows).toEqual([calm, calm]);
  }, 30_000);
}, 40_000);

/** Every rule that holds whatever was killed. */
function expectTheRules(findings: EventFindings): void {
  expect(findings).toMatchObject({ events: count, lost: [], repeatedNotInFlight: [] });
  expect(findings.deliveries).toBeGreaterThanOrEqual(count * 2);
  expect(findings.strandedSeconds).toBeLessThan(STRANDED_LIMIT_SECONDS);
}

describe.each(seeds)('every event reaches its subscribers although a process is killed (seed %i)', (seed) => {
  it('the sender that just sent one: only what it had in flight arrives again', async () => {
    const victim = stage.senders[seed % 2];
    const witness = await watchSender(stage, victim?.pid ?? 0, claimedDeliveriesOf);
    const strike = async () => {
      await victim?.kill();
      const held = await witness.held();
      await witness.close();
      const restartedAt = Date.now();
      await victim?.start();
      return { inFlight: held, stranded: held, restartedAt };
    };
    const run = { name: 'sender', seed, count, strike };
    const findings = await publishAndStrike(stage, subscriber, run).finally(witness.close);
    expectTheRules(findings);
    expect(findings.repeated.length).toBeGreaterThan(0);
  }, 150_000);

  it('the worker, while it retries: only retries in flight arrive again', async () => {
    const strike = async () => {
      await stage.worker.kill();
      const due = await dueRetriesOf(stage.database.pool);
      const restartedAt = Date.now();
      await stage.worker.start();
      return { inFlight: due, stranded: due, restartedAt };
    };
    const run = { name: 'worker', seed, count, moment: 'retry' as const, strike };
    const findings = await publishAndStrike(stage, subscriber, run);
    expectTheRules(findings);
    expect(findings.repeated.length).toBeGreaterThan(0);
  }, 150_000);

  it('the engine: first attempts go on while it stays away, retries when it is back', async () => {
    const whileAway = async () => {
      await delay(engineDownMs);
      await eventually(async () => {
        const { rowCount } = await stage.database.pool.query('select 1 from webhook_queue');
        expect(rowCount).toBe(0);
      });
      return dueRetriesOf(stage.database.pool);
    };
    const strike = async () => {
      subscriber.stubborn = true;
      let restartedAt = 0;
      await stage.engine.kill();
      const stranded = await whileAway().finally(() => {
        subscriber.stubborn = false;
        restartedAt = Date.now();
        return stage.engine.start();
      });
      expect(stranded.length).toBeGreaterThan(0);
      return { inFlight: [], stranded, restartedAt };
    };
    const findings = await publishAndStrike(stage, subscriber, { name: 'engine', seed, count, strike });
    expectTheRules(findings);
  }, 250_000);

  it('the database with all its processes: only what was in flight arrives again', async () => {
    const strike = async () => {
      await stage.postgres.kill();
      const held = await stage.postgres.readCopy(async (client) => [
        ...(await claimedDeliveriesOf(client, null)),
        ...(await dueRetriesOf(client)),
      ]);
      const restartedAt = Date.now();
      await stage.postgres.start();
      return { inFlight: held, stranded: held, restartedAt };
    };
    const findings = await publishAndStrike(stage, subscriber, { name: 'database', seed, count, strike });
    expectTheRules(findings);
  }, 200_000);
});
