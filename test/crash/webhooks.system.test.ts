// A killed process loses no webhook event, and repeats only deliveries that were in flight.
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { type EventFindings, publishAndKill } from '../support/crash/publish-and-kill.ts';
import { claimedDeliveriesOf, dueRetriesOf, type Subscriber, subscriberOf } from '../support/crash/events.ts';
import { scale } from '../support/crash/scale.ts';
import { type CrashStage, openCrashStage } from '../support/crash/stage.ts';
import { watchSender } from '../support/crash/witness.ts';
import { eventually } from '../support/eventually.ts';

const { events: count, seeds, engineDownMs, strandedLimitSeconds } = scale;

/** How often a sender is killed, until one of its deliveries was in flight. */
const MAX_KILLS = 6;

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
    throw new Error(`roles ended by themselves: ${dead.map((role) => role.lastLines()).join('\n')}`);
  await eventually(async () => {
    const { rows } = await stage.database.pool.query('select failing_since, recovery_armed from webhooks');
    const calm = { failing_since: null, recovery_armed: false };
    expect(rows).toEqual([calm, calm]);
  }, 60_000);
}, 60_000);

/** Checks what Carillon guarantees whichever process was killed. */
function expectGuarantees(findings: EventFindings): void {
  expect(findings).toMatchObject({ events: count, lost: [], repeatedNotInFlight: [] });
  expect(findings.deliveries).toBeGreaterThanOrEqual(count * 2);
  expect(findings.strandedSeconds).toBeLessThan(strandedLimitSeconds);
}

describe.each(seeds)('a process that is killed during webhook deliveries (seed %i)', (seed) => {
  /** Kills a sender when an event arrives, which the other one may have delivered. */
  async function killSender(name: string): Promise<EventFindings> {
    const victim = stage.senders[seed % 2];
    const witness = await watchSender(stage, victim?.pid ?? 0, claimedDeliveriesOf);
    const kill = async () => {
      await victim?.kill();
      const held = await witness.held();
      await witness.close();
      const restartedAt = Date.now();
      await victim?.start();
      return { inFlight: held, stranded: held, restartedAt };
    };
    try {
      return await publishAndKill(stage, subscriber, { name, seed, count, kill });
    } finally {
      await witness.close();
    }
  }

  it('repeats only its deliveries in flight if it is a sender', async () => {
    const repeated: string[] = [];
    for (let kills = 1; kills <= MAX_KILLS && repeated.length === 0; kills += 1) {
      const findings = await killSender(`sender ${kills}`);
      expectGuarantees(findings);
      repeated.push(...findings.repeated);
    }
    expect(repeated.length).toBeGreaterThan(0);
  }, 400_000);

  it('repeats only its retries in flight if it is a worker', async () => {
    const kill = async () => {
      await stage.worker.kill();
      const due = await dueRetriesOf(stage.database.pool);
      const restartedAt = Date.now();
      await stage.worker.start();
      return { inFlight: due, stranded: due, restartedAt };
    };
    const run = { name: 'worker', seed, count, moment: 'retry' as const, kill };
    const findings = await publishAndKill(stage, subscriber, run);
    expectGuarantees(findings);
    expect(findings.repeated.length).toBeGreaterThan(0);
  }, 150_000);

  it('does not stop first attempts if it is the engine, and retries follow its restart', async () => {
    const whileDown = async () => {
      await delay(engineDownMs);
      await eventually(async () => {
        const { rowCount } = await stage.database.pool.query('select 1 from webhook_queue');
        expect(rowCount).toBe(0);
      });
      return dueRetriesOf(stage.database.pool);
    };
    let restartedAt = 0;
    const downUntilDue = async () => {
      await stage.engine.kill();
      try {
        return await whileDown();
      } finally {
        subscriber.stubborn = false;
        restartedAt = Date.now();
        await stage.engine.start();
      }
    };
    const kill = async () => {
      subscriber.stubborn = true;
      const stranded = await downUntilDue();
      expect(stranded.length).toBeGreaterThan(0);
      return { inFlight: [], stranded, restartedAt };
    };
    const findings = await publishAndKill(stage, subscriber, { name: 'engine', seed, count, kill });
    expectGuarantees(findings);
  }, 250_000);

  it('repeats only deliveries in flight if it is the database', async () => {
    const kill = async () => {
      await stage.postgres.kill();
      const held = await stage.postgres.readCopy(async (client) => [
        ...(await claimedDeliveriesOf(client, null)),
        ...(await dueRetriesOf(client)),
      ]);
      const restartedAt = Date.now();
      await stage.postgres.start();
      return { inFlight: held, stranded: held, restartedAt };
    };
    const findings = await publishAndKill(stage, subscriber, { name: 'database', seed, count, kill });
    expectGuarantees(findings);
  }, 200_000);
});
