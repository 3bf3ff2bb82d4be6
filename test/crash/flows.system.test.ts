// Despite random kills, a flow run takes its whole path, each effect once, and never both branches.
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import {
  askThroughOutages,
  countRuns,
  enterFlow,
  expectWholeRun,
  flowAddress,
  hurryCalls,
  ORDER,
  orderOf,
  readRuns,
  startCrashFlow,
  WAIT_SECONDS,
} from '../support/crash/flow-crash.ts';
import { killPart } from '../support/crash/kill-part.ts';
import { scale } from '../support/crash/scale.ts';
import { fractionOf } from '../support/crash/send-and-kill.ts';
import { type CrashStage, openCrashStage } from '../support/crash/stage.ts';
import { insertContacts } from '../support/contacts.ts';
import { eventually } from '../support/eventually.ts';

const { runs: count, kills, waits } = scale.flows;
const LIMIT_MS = 900_000;
const STEP_LIMIT_MS = 240_000;
/** Requests under way at once. */
const PARALLEL = 4;
/** Messages of a killed sender of which it is not known whether the server has them: two batches for each connection. */
const MAX_UNKNOWN_PER_KILL = 400;

let stage: CrashStage;
beforeAll(async () => {
  stage = await openCrashStage({ settings: { PUBLIC_URL: 'https://carillon.crash.test' } });
}, 180_000);
afterAll(async () => {
  await stage.close();
}, 60_000);
afterEach(() => stage.requireNoDeaths());

async function within<T>(what: string, step: Promise<T>): Promise<T> {
  const late = delay(STEP_LIMIT_MS, undefined, { ref: false }).then(() => {
    throw new Error(`${what} takes more than ${STEP_LIMIT_MS / 1_000} s:\n${stage.lastLines()}`);
  });
  return Promise.race([step, late]);
}

/** Entries are spread over the time in which parts are killed. */
const PAUSE_MS = (kills * 4_000 * PARALLEL) / count;

/** Lets contacts enter one after another, while parts are killed. Some of them order. */
async function enterAll(seed: number): Promise<void> {
  let next = 0;
  const orders: Promise<unknown>[] = [];
  const orderLater = async (n: number) => {
    await delay(2_000 * WAIT_SECONDS * fractionOf(seed, `order ${n}`));
    const body = { event: ORDER, contact_email: flowAddress(seed, n) };
    await askThroughOutages(stage, { path: '/events', body });
  };
  const work = async () => {
    while (next < count) {
      const n = next++;
      await enterFlow(stage, seed, n);
      if (orderOf(n) === 'some time') orders.push(orderLater(n));
      await delay(PAUSE_MS);
    }
  };
  await Promise.all(Array.from({ length: PARALLEL }, work));
  await Promise.all(orders);
}

interface Disturbed {
  senderKills: number;
}

/** Kills one part after the other, at moments that the seed decides. Once the engine loses its database. */
async function disturb(seed: number): Promise<Disturbed> {
  const [first, second] = stage.senders;
  const parts = { worker: stage.worker, first, engine: stage.engine, postgres: stage.postgres, second };
  const names = Object.keys(parts) as (keyof typeof parts)[];
  let senderKills = 0;
  for (let n = 0; n < kills; n += 1) {
    await delay(1_000 + 3_000 * fractionOf(seed, `moment ${n}`));
    const name = names[(n + seed) % names.length] as keyof typeof parts;
    senderKills += name === 'postgres' ? 2 : name === 'first' || name === 'second' ? 1 : 0;
    await within(`the kill of ${name}`, parts[name].kill());
    const isLastOfEngine = name === 'engine' && n + names.length >= kills;
    if (isLastOfEngine) await stage.engine.forget();
    await delay(300 * fractionOf(seed, `down ${n}`));
    await within(`the start of ${name}`, parts[name].start());
  }
  return { senderKills };
}

/** Resolves when every contact's run has ended, and every message has left the queue. */
const untilEnded = (flowId: number) =>
  eventually(
    async () => {
      if (!waits) await hurryCalls(stage, flowId);
      expect(await countRuns(stage, flowId)).toEqual({ runs: count, active: 0, queued: 0 });
    },
    LIMIT_MS / 2,
    500,
  );

describe.each(scale.seeds)(
  'runs of a flow whose processes are killed at random moments (seed %i)',
  (seed) => {
    it(
      'take their whole path, each effect once, and never both branches',
      async () => {
        const { flowId, listId } = await startCrashFlow(stage, seed);
        const [, { senderKills }] = await Promise.all([enterAll(seed), disturb(seed)]);
        await untilEnded(flowId);
        const runs = await readRuns(stage, flowId, listId);
        expect(runs).toHaveLength(count);
        expect(new Set(runs.map(({ email }) => email)).size).toBe(count);
        for (const run of runs) expectWholeRun(run, seed);

        const arrived = stage.sink.arrivals
          .filter(({ to }) => to.startsWith(`flow${seed}-`))
          .map(({ to, subject }) => `${to} ${subject}`);
        const statusOf = new Map<string, string | undefined>(
          runs.flatMap(({ email, subjects, statuses }) =>
            subjects.map((subject, n) => [`${email} ${subject}`, statuses[n]] as const),
          ),
        );
        const reached = new Set<string>(arrived);
        expect(reached.size).toBe(arrived.length);
        const of = (status: string) => [...statusOf].flatMap(([key, each]) => (each === status ? key : []));
        expect(of('sent').filter((key) => !reached.has(key))).toEqual([]);
        expect(arrived.filter((key) => !['sent', 'unknown'].includes(statusOf.get(key) ?? ''))).toEqual([]);
        expect(of('sent').length + of('unknown').length).toBe(statusOf.size);
        expect(of('unknown').length).toBeLessThanOrEqual(senderKills * MAX_UNKNOWN_PER_KILL);

        const requests = stage.receiver.requests.filter(({ url }) => url === `/flow${seed}`);
        expect(new Set(requests.map(({ headers }) => headers['webhook-id'])).size).toBe(count);
      },
      LIMIT_MS,
    );
  },
);

describe('letters of flows whose senders are killed while the provider has them', () => {
  const LETTERS = 40;
  /** Long enough for both senders to be killed before the first reply. */
  const SLOW_REPLY_MS = 10_000;

  /** Starts a flow of one letter, and lets contacts enter it. */
  async function enterLetters(unknown: 'leave' | 'resend'): Promise<number> {
    const { pool } = stage.database;
    await pool.query(`update brands set physical_address = '1 Main St' where account_id = $1`, [
      stage.accountId,
    ]);
    const steps = [{ type: 'email', subject: unknown, body: '<p>Hi</p>' }];
    const body = { name: unknown, unknown, trigger: { event: `letter_${unknown}` }, steps };
    const { id: flowId } = await askThroughOutages<{ id: number }>(stage, { path: '/flows', body });
    await askThroughOutages(stage, { path: `/flows/${flowId}/activate` });
    const { rows } = await pool.query<{ id: number }>(
      `with account as (update accounts set has_contacts = true where id = $1)
       select id from brands where account_id = $1`,
      [stage.accountId],
    );
    const of = { accountId: stage.accountId, brandId: rows[0]?.id ?? 0 };
    const contact_ids = await insertContacts(pool, of, LETTERS, unknown);
    await askThroughOutages(stage, { path: `/flows/${flowId}/enter`, body: { contact_ids } });
    return flowId;
  }

  const arrivedOf = (subject: string) => stage.sink.arrivals.filter((arrival) => arrival.subject === subject);

  /** Resolves when no message of the flow waits. @returns the ids of its messages, by state */
  async function untilSettled(flowId: number): Promise<Record<string, number[]>> {
    let found: { status: string; ids: number[] }[] = [];
    await eventually(async () => {
      const { rows } = await stage.database.pool.query<{ status: string; ids: number[]; queued: boolean }>(
        `select m.status, array_agg(m.id order by m.id) as ids, bool_or(q.message_id is not null) as queued
         from messages m left join send_queue q on q.message_id = m.id where m.flow_id = $1 group by 1`,
        [flowId],
      );
      expect(rows.some(({ queued }) => queued)).toBe(false);
      found = rows;
      expect(found.reduce((sum, { ids }) => sum + ids.length, 0)).toBe(LETTERS);
    }, 60_000);
    return Object.fromEntries(found.map(({ status, ids }) => [status, ids]));
  }

  /** Every contact has the letter, and if it came twice, both have one Message-ID. @returns how many came twice */
  function expectAllReached(subject: string): number {
    const ids = new Map<string, string[]>();
    for (const { to, messageId } of arrivedOf(subject)) ids.set(to, [...(ids.get(to) ?? []), messageId]);
    expect(ids.size).toBe(LETTERS);
    for (const each of ids.values()) expect(new Set(each).size).toBe(1);
    return [...ids.values()].filter((each) => each.length > 1).length;
  }

  it('are sent again if the flow says so, and else stay unknown until a client has them sent again', async () => {
    const { replyMs } = stage.sink;
    stage.sink.replyMs = SLOW_REPLY_MS;
    const flows = { leave: await enterLetters('leave'), resend: await enterLetters('resend') };
    await eventually(() => {
      expect(arrivedOf('leave').length).toBeGreaterThan(0);
      expect(arrivedOf('resend').length).toBeGreaterThan(0);
    }, 30_000);
    const killed = await Promise.all(
      (['first', 'second'] as const).map((part) => killPart(stage, part, () => undefined)),
    );
    const lost = new Set(killed.flat());
    stage.sink.replyMs = replyMs;

    const left = await untilSettled(flows.leave);
    // All of them may have been on their way, because they are written together.
    expect(['sent', 'unknown']).toEqual(expect.arrayContaining(Object.keys(left)));
    expect(left['unknown']?.filter((id) => !lost.has(id))).toEqual([]);
    const arrived = arrivedOf('leave').map(({ to }) => to);
    expect(new Set(arrived).size).toBe(arrived.length);

    const sent = await untilSettled(flows.resend);
    expect(Object.keys(sent)).toEqual(['sent']);
    expect(expectAllReached('resend')).toBeGreaterThan(0);
    const { messages } = await askThroughOutages<{ messages: Record<string, number> }>(stage, {
      method: 'GET',
      path: `/flows/${flows.resend}/report`,
    });
    const repeated = sent['sent']?.filter((id) => lost.has(id)).length;
    expect(messages).toMatchObject({ sent_count: LETTERS, unknown_count: 0, resent_count: repeated });

    const { requeued_count: requeued } = await askThroughOutages<{ requeued_count: number }>(stage, {
      path: `/flows/${flows.leave}/resend_unknown`,
    });
    expect(requeued).toBe(left['unknown']?.length);
    expect(Object.keys(await untilSettled(flows.leave))).toEqual(['sent']);
    expect(expectAllReached('leave')).toBeGreaterThan(0);
  }, 150_000);
});
