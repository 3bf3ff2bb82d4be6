// An event that commits while a run registers its wait is neither lost nor counted twice.
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import pino from 'pino';
import { createTrackedEventConsumers } from '../../../../src/features/events.ts';
import { advanceRun, type AdvanceDeps } from '../../../../src/features/flows/run/advance.ts';
import type { Step } from '../../../../src/features/flows/steps/index.ts';
import { createFlowVersionReader } from '../../../../src/features/flows/versions.ts';
import { insertContacts } from '../../../support/contacts.ts';
import { createTestDatabase, type TestDatabase } from '../../../support/database.ts';
import {
  createTestTracker,
  insertFlow,
  insertRun,
  pathOf,
  runRow,
  sendsNothing,
} from '../../../support/flow-runs.ts';
import { insertAccount, type QueuedAccount } from '../../../support/queued.ts';

/** Half of them register a wait, the others a goal. */
const TIMES = 1_000;
/** Contacts whose runs register beside one batch of events, which has an event of each. */
const AT_ONCE = 25;
/** Events that one transaction writes. */
const BATCH = 500;
/** Batches under way at a time. */
const RACES = 2;

let db: TestDatabase;
let account: QueuedAccount;
let deps: AdvanceDeps;
let track: ReturnType<typeof createTestTracker>;

const pool = () => db.database.pool;

beforeAll(async () => {
  db = await createTestDatabase({ poolMax: 30 });
  account = await insertAccount(db.database);
  const waker = { wake: () => undefined };
  deps = {
    pool: pool(),
    versions: createFlowVersionReader(pool()),
    send: sendsNothing,
    consumers: createTrackedEventConsumers({ waker }),
    waker,
    log: pino({ level: 'silent' }),
  };
  track = createTestTracker(pool(), account);
});
afterAll(() => db.drop());

describe('an event that is committed while a run registers a wait', () => {
  it('is neither lost nor counted twice, a thousand times in batches of 500 events', async () => {
    const wait = { type: 'wait_for_event', event_name: 'paid', duration: 3_600, yes: [], no: [] } as const;
    const steps: Step[] = [
      { ...wait, id: 1, include_since: 'entry' },
      // One event ends one wait.
      { ...wait, id: 2 },
    ];
    const waiting = await insertFlow(pool(), account, { steps });
    const withGoal = await insertFlow(pool(), account, {
      steps: [{ type: 'wait', id: 1, duration: 3_600 }],
      goal: 'paid',
    });
    const contacts = await insertContacts(pool(), account, TIMES, 'one');
    const crowd = await insertContacts(pool(), account, BATCH - AT_ONCE, 'crowd');
    const ended: number[] = [];

    /** The registrations are spread over the time that the batch takes, so that some are ahead of it and some behind it. */
    const race = async (group: number): Promise<void> => {
      const own = contacts.slice(group * AT_ONCE, (group + 1) * AT_ONCE);
      const asOf = new Date();
      const isGoal = (n: number) => n % 2 === 1;
      const entered = new Map<number, number>();
      for (const [n, id] of own.entries()) {
        if (!isGoal(n)) entered.set(n, await insertRun(pool(), account, waiting, id, { asOf }));
      }
      const register = async (contactId: number, n: number) => {
        await delay(n * 3);
        const run = entered.get(n) ?? (await insertRun(pool(), account, withGoal, contactId, { asOf }));
        if (!isGoal(n)) await advanceRun(deps, run, new Date());
        return run;
      };
      const arrive = () =>
        // The order of the contacts in a batch is not that of their registrations.
        track([...crowd, ...own.toReversed()].map((contactId) => ({ contactId, event: 'paid' })));
      const [runs] = await Promise.all([Promise.all(own.map(register)), arrive()]);
      await Promise.all(
        runs.map(async (id, n) => {
          await advanceRun(deps, id, new Date());
          await advanceRun(deps, id, new Date());
          if (isGoal(n)) expect((await runRow(pool(), id))?.reason).toBe('goal');
          else expect(await pathOf(pool(), id)).toEqual(['1 yes']);
          ended.push(id);
        }),
      );
    };

    let next = 0;
    const races = Array.from({ length: RACES }, async () => {
      for (let group = next++; group < TIMES / AT_ONCE; group = next++) await race(group);
    });
    await Promise.all(races);
    expect(ended).toHaveLength(TIMES);
    // Each event has woken at most one workflow of its contact, once.
    const { rows } = await pool().query<{ n: number }>(
      `select count(*)::int as n from (
         select workflow_id, signal_input from outbox where signal_name = 'wake' group by 1, 2 having count(*) > 1) twice`,
    );
    expect(rows[0]?.n).toBe(0);
  }, 180_000);

  it('wake a run by equal requests, which the outbox sends as one', async () => {
    const flow = await insertFlow(pool(), account, {
      steps: [{ type: 'wait_for_event', event_name: 'paid', duration: 3_600, yes: [], no: [], id: 1 }],
    });
    const [contactId = 0] = await insertContacts(pool(), account, 1, 'often');
    const run = await insertRun(pool(), account, flow, contactId);
    await advanceRun(deps, run, new Date());
    await pool().query('delete from outbox');
    for (let n = 0; n < 5; n += 1) await track([{ contactId, event: 'paid' }]);
    const { rows } = await pool().query<{ rows: number; kinds: number }>(
      `select count(*)::int as rows, count(distinct (to_jsonb(o) - 'id' - 'created_at'))::int as kinds from outbox o`,
    );
    expect(rows[0]).toEqual({ rows: 5, kinds: 1 });
  });
});
