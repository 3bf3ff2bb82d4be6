// Runs of cohorts do what the model of their flow does, each effect once, whatever is killed, paused, changed or deleted.
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { Contacts, judgeMails, readFacts, webhookIdsOf } from '../support/crash/cohort-facts.ts';
import {
  type Asked,
  changeCohortFlow,
  type CohortFlow,
  isEven,
  kindOf,
  startCohortFlow,
  timed,
} from '../support/crash/cohort-flow.ts';
import { faultsOfRun, type History, type RunFacts } from '../support/crash/cohort-model.ts';
import { askThroughOutages, countRuns } from '../support/crash/flow-crash.ts';
import { scale } from '../support/crash/scale.ts';
import { fractionOf } from '../support/crash/send-and-kill.ts';
import { type CrashStage, openCrashStage } from '../support/crash/stage.ts';
import { eventually } from '../support/eventually.ts';

const { runs: count, kills, parts, quietMs } = scale.cohorts;
const LIMIT_MS = 1_800_000;
/** The time between two kills, in ms. */
const EVERY_MS = 2_500;
/** How long the flow is paused, in ms. */
const PAUSE_MS = 2_000;
/** The time in which contacts enter and parts are killed, in ms. */
const SPAN_MS = kills * EVERY_MS;
/** Messages of a killed sender of which it is not known whether the server has them: two batches for each connection. */
const MAX_UNKNOWN_PER_KILL = 400;

let stage: CrashStage;
beforeAll(async () => {
  stage = await openCrashStage({ settings: { PUBLIC_URL: 'https://carillon.crash.test' } });
  stage.receiver.answer = ({ url, headers }, response) => {
    const body = url.startsWith('/cohort') ? { even: isEven(Number(headers['carillon-contact-id'])) } : {};
    response.setHeader('content-type', 'application/json').end(JSON.stringify(body));
  };
}, 180_000);
afterAll(async () => {
  await stage.close();
}, 60_000);
afterEach(() => stage.requireNoDeaths());

/** Kills one part after the other, at moments that the seed decides. Once the engine loses its database. */
async function disturb(seed: number): Promise<{ senderKills: number }> {
  const [first, second] = stage.senders;
  const { worker, api, engine, postgres } = stage;
  const killed = { worker, first, engine, api, postgres, second };
  const names = Object.keys(killed) as (keyof typeof killed)[];
  let senderKills = 0;
  for (let n = 0; n < kills; n += 1) {
    await delay(EVERY_MS * (0.5 + fractionOf(seed, `moment ${n}`)));
    const name = names[(n + seed) % names.length] as keyof typeof killed;
    senderKills += name === 'postgres' ? 2 : name === 'first' || name === 'second' ? 1 : 0;
    await killed[name].kill();
    if (name === 'engine' && n + names.length >= kills) await engine.forget();
    await delay(300 * fractionOf(seed, `down ${n}`));
    await killed[name].start();
  }
  return { senderKills };
}

const act = (flowId: number, action: string, turn: number) =>
  timed(() => askThroughOutages(stage, { path: `/flows/${flowId}/${action}`, turn }));

/** Resolves when no active run has the first version. */
async function moved(flowId: number): Promise<Date> {
  await eventually(async () => {
    const { rows } = await stage.database.pool.query(
      `select r.id from flow_runs r join flow_versions v on v.id = r.version_id
       where r.flow_id = $1 and r.state = 'active' and v.n = 1 limit 1`,
      [flowId],
    );
    expect(rows).toEqual([]);
  }, 120_000);
  return new Date();
}

/** Pauses and resumes the flow, and moves its runs to another version, while contacts enter. */
async function change(flow: CohortFlow): Promise<Pick<History, 'pauses' | 'change'>> {
  const pauses: { paused: Asked; resumed: Asked }[] = [];
  const pause = async () => {
    const paused = await act(flow.flowId, 'pause', pauses.length);
    await delay(PAUSE_MS);
    pauses.push({ paused, resumed: await act(flow.flowId, 'resume', pauses.length) });
  };
  const part = SPAN_MS / 4;
  await delay(part);
  await pause();
  await delay(part);
  const changed = await timed(() => changeCohortFlow(stage, flow));
  const history = { ...changed, moved: await moved(flow.flowId) };
  await delay(part);
  await pause();
  return { pauses, change: history };
}

/** Resolves when every run has ended, and every message has left the queue. */
const untilEnded = ({ flowId }: CohortFlow) =>
  eventually(
    async () => {
      expect(await countRuns(stage, flowId)).toMatchObject({ active: 0, queued: 0 });
      const { rows } = await stage.database.pool.query('select 1 from flow_entries where flow_id = $1', [
        flowId,
      ]);
      expect(rows).toEqual([]);
    },
    LIMIT_MS / 2,
    500,
  );

interface Report {
  entered_count: number;
  in_progress_count: number;
  completed_count: number;
  exited: Record<string, number>;
  goal_count: number;
}

/** The report counts each run once, and each end. */
async function expectReport({ flowId }: CohortFlow, facts: readonly RunFacts[]): Promise<void> {
  const ends = (state: string) => facts.filter((run) => run.state === state);
  const exits: Record<string, number> = {};
  for (const { reason } of ends('exited')) exits[`${reason}`] = (exits[`${reason}`] ?? 0) + 1;
  await eventually(async () => {
    const path = `/flows/${flowId}/report`;
    const report = await askThroughOutages<Report>(stage, { method: 'GET', path });
    expect(report).toMatchObject({
      ...{ entered_count: facts.length, in_progress_count: 0, completed_count: ends('completed').length },
      ...{ exited: exits, goal_count: exits.goal ?? 0 },
    });
  }, 30_000);
}

describe.each(scale.seeds)(
  'runs of cohorts whose processes are killed at random moments (seed %i)',
  (seed) => {
    it(
      'do what the model does, each effect once',
      async () => {
        const flow = await startCohortFlow(stage, seed, { count, quietMs });
        const contacts = new Contacts(stage, flow);
        const [{ senderKills }, changes] = await Promise.all([
          disturb(seed),
          change(flow),
          contacts.enter({ parts, everyMs: SPAN_MS / parts }),
        ]);
        await untilEnded(flow);

        const facts = await readFacts(stage, flow);
        expect(new Set(facts.map(({ n }) => n)).size).toBe(facts.length);
        expect(facts.length).toBeGreaterThan(count / 2);
        const { leaves, deletions } = contacts;
        const history: History = { ...changes, leaves, deletions };
        expect(facts.flatMap((run) => faultsOfRun(run, kindOf(run.n), flow, history))).toEqual([]);

        const { unknown, ...mails } = await judgeMails(stage, flow, deletions);
        expect(mails).toEqual({ twice: 0, lost: [], stray: [], other: [] });
        expect(unknown).toBeLessThanOrEqual(senderKills * MAX_UNKNOWN_PER_KILL);
        const ids = webhookIdsOf(stage, flow);
        expect([...ids.values()].filter(({ size }) => size !== 1)).toEqual([]);
        const called = facts.filter(({ path }) => path.some(({ type }) => type === 'webhook'));
        expect(called.filter(({ id }) => !ids.has(id))).toEqual([]);
        await expectReport(flow, facts);
      },
      LIMIT_MS,
    );
  },
);
