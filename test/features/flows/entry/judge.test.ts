// Each flow entry begins at most one run, subject to filters, re-entry rules and deleted contacts.
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import pino from 'pino';
import { addEntries } from '../../../../src/features/flows/entry/entries.ts';
import { flowsWithEntries, judgePage } from '../../../../src/features/flows/entry/pages.ts';
import type { Reentry } from '../../../../src/features/flows/model.ts';
import { inTransaction } from '../../../../src/platform/db/queryable.ts';
import { insertContacts } from '../../../support/contacts.ts';
import { createTestDatabase, type TestDatabase } from '../../../support/database.ts';
import { countsOf, entriesOf, insertActiveFlow, runsOf } from '../../../support/flow-entries.ts';
import { countWaiting } from '../../../support/waiting.ts';
import { insertAccount, type QueuedAccount } from '../../../support/queued.ts';
import { until } from '../../../workflows/until.ts';

let test: TestDatabase;
let account: QueuedAccount;
let contacts: number[];
let prefix = 0;
let logged: string[];

const pool = () => test.database.pool;
const log = pino({}, { write: (line) => void logged.push(line) });
const deps = (clock?: () => Date) => ({ pool: pool(), log, ...(clock && { clock }) });

beforeAll(async () => {
  test = await createTestDatabase({ poolMax: 12 });
  account = await insertAccount(test.database);
});
afterAll(() => test.drop());
beforeEach(async () => {
  logged = [];
  contacts = await insertContacts(pool(), account, 3, `c${(prefix += 1)}-`);
});

const rowOf = (id: number) => ({ id, account_id: account.accountId, brand_id: account.brandId });
const enter = (flowId: number, ids: readonly number[], cause: string, isTest = false) =>
  addEntries(pool(), rowOf(flowId), ids, cause, isTest);

/** Lets a contact enter by an event with these data. */
async function enterByEvent(flowId: number, contactId: number, id: number, data: object = {}): Promise<void> {
  await pool().query(
    `insert into flow_entries (account_id, brand_id, flow_id, contact_id, cause, event)
     values ($1, $2, $3, $4, $5, $6)`,
    [
      ...[account.accountId, account.brandId, flowId, contactId, `e${id}`],
      JSON.stringify({ id, name: 'ordered', data, created_at: '2026-05-01T10:00:00.000Z' }),
    ],
  );
}

/** Lets a contact enter by a mail, or by another event that a flow tracked because of it. */
async function enterByMail(
  flowId: number,
  contactId: number,
  id: number,
  isAutomatic: boolean,
  name = 'email_received',
): Promise<void> {
  const mail = { conversation_message_id: id, inbox_id: 7, auto_submitted: isAutomatic };
  const data = { subject: 'Hi', auto_submitted: isAutomatic };
  await pool().query(
    `insert into flow_entries (account_id, brand_id, flow_id, contact_id, cause, event)
     values ($1, $2, $3, $4, $5, $6)`,
    [
      ...[account.accountId, account.brandId, flowId, contactId, `e${id}`],
      JSON.stringify({ id, name, data, mail, created_at: '2026-05-01T10:00:00.000Z' }),
    ],
  );
}

const automatic = (predicate: 'true' | 'false' | 'present') => ({
  name: 'trigger.auto_submitted',
  predicate,
});

describe('an entry into a flow', () => {
  it('becomes a run, a request to the engine and a count', async () => {
    const flowId = await insertActiveFlow(pool(), account, { event: 'ordered' });
    await enterByEvent(flowId, contacts[0] as number, 77, { total: 5 });
    expect(await judgePage(deps(), flowId)).toEqual({ busy: false, began: true });
    const [run] = await runsOf(pool(), flowId);
    expect(run).toMatchObject({ contact_id: contacts[0], cause: 'e77', state: 'active', test: false });
    expect(await entriesOf(pool(), flowId)).toEqual([]);
    expect(await countsOf(pool(), flowId)).toEqual({ entered: 1 });
    const { rows } = await pool().query(
      'select kind, workflow_id, input, priority from outbox where workflow_id = $1',
      [`flow-run/${flowId}/${contacts[0]}/e77`],
    );
    expect(rows).toEqual([
      {
        ...{ kind: 'start', workflow_id: `flow-run/${flowId}/${contacts[0]}/e77`, priority: 2 },
        input: [{ schema: 1, runId: run?.id, accountId: account.accountId }],
      },
    ]);
    const stored = await pool().query(
      'select event, record, engine_expected_by > now() as expected from flow_runs where id = $1',
      [run?.id],
    );
    expect(stored.rows[0]).toMatchObject({
      event: { id: 77, data: { total: 5 } },
      record: { begun: false, enteredAt: '2026-05-01T10:00:00.000Z' },
      expected: true,
    });
  });

  it('begins no second run for the same cause', async () => {
    const flowId = await insertActiveFlow(pool(), account, { reentry: 'every_time' });
    await enterByEvent(flowId, contacts[0] as number, 78);
    await judgePage(deps(), flowId);
    await enterByEvent(flowId, contacts[0] as number, 78);
    await judgePage(deps(), flowId);
    expect(await runsOf(pool(), flowId)).toHaveLength(1);
    expect(await countsOf(pool(), flowId)).toEqual({ entered: 1 });
    expect(await entriesOf(pool(), flowId)).toEqual([]);
  });

  it.each([
    [{ status: 'paused' }, 'flow_paused'],
    [{ status: 'archived' }, 'flow_archived'],
    [{ approval: 'pending' }, 'not_approved'],
  ] as const)('does not begin a run in a flow that is %j', async (state, reason) => {
    const flowId = await insertActiveFlow(pool(), account, state);
    await enter(flowId, contacts, 'm1');
    await judgePage(deps(), flowId);
    expect(await runsOf(pool(), flowId)).toEqual([]);
    expect(await entriesOf(pool(), flowId)).toEqual([]);
    expect(await countsOf(pool(), flowId)).toEqual({ [`not_entered:${reason}`]: 3 });
  });

  it.each([
    ['no filters', undefined, false],
    ['a filter on something else', [{ name: 'trigger.subject', predicate: 'present' }], false],
    ['a filter that takes automatic mail, too', [automatic('present')], true],
    ['a filter that takes only automatic mail', [automatic('true')], true],
    ['a filter that takes no automatic mail', [automatic('false')], false],
    [
      'a group that names it',
      [{ name: 'any', predicate: 'or', value: [automatic('true'), automatic('false')] }],
      true,
    ],
  ] as const)('by an automatic mail, with %s, begins a run: %s', async (_name, filters, begins) => {
    const flowId = await insertActiveFlow(pool(), account, {
      event: 'email_received',
      reentry: 'every_time',
      ...(filters && { filters }),
    });
    await enterByMail(flowId, contacts[0] as number, 90, true);
    await enterByMail(flowId, contacts[1] as number, 91, false);
    await judgePage(deps(), flowId);
    const entered = (await runsOf(pool(), flowId)).map((run) => run.contact_id);
    expect(entered.includes(contacts[0] as number)).toBe(begins);
    if (!filters) expect(entered).toEqual([contacts[1]]);
  });

  it('by an event that a flow tracked because of an automatic mail begins a run', async () => {
    const flowId = await insertActiveFlow(pool(), account, { event: 'noted' });
    await enterByMail(flowId, contacts[0] as number, 92, true, 'noted');
    await judgePage(deps(), flowId);
    expect(await runsOf(pool(), flowId)).toHaveLength(1);
  });

  it('of a contact that was deleted begins no run', async () => {
    const flowId = await insertActiveFlow(pool(), account, {});
    await enter(flowId, contacts, 'm1');
    await pool().query('delete from contacts where id = $1', [contacts[1]]);
    await judgePage(deps(), flowId);
    expect((await runsOf(pool(), flowId)).map((run) => run.contact_id)).toEqual([contacts[0], contacts[2]]);
    expect(await countsOf(pool(), flowId)).toEqual({ entered: 2, 'not_entered:contact_deleted': 1 });
  });

  it('waits for the deletion of its contact, so that no run of a deleted contact is left', async () => {
    const flowId = await insertActiveFlow(pool(), account, {});
    await enter(flowId, [contacts[0] as number], 'm1');
    const judged = await inTransaction(pool(), async (trx) => {
      await trx.query('delete from contacts where id = $1', [contacts[0]]);
      let isDone = false;
      const judging = judgePage(deps(), flowId).finally(() => (isDone = true));
      await until(async () => {
        return isDone || (await countWaiting(pool())) > 0;
      });
      return { judging };
    });
    await judged.judging;
    expect(await runsOf(pool(), flowId)).toEqual([]);
    expect(await countsOf(pool(), flowId)).toEqual({ 'not_entered:contact_deleted': 1 });
  });

  it('passes the filters of the trigger, on the contact and on the event', async () => {
    const flowId = await insertActiveFlow(pool(), account, {
      filters: [
        { name: 'email', predicate: 'cont', value: '@example.com' },
        {
          name: 'any',
          predicate: 'or',
          value: [
            { name: 'trigger.total', predicate: 'gt', value: 100 },
            { name: 'first_name', predicate: 'eq', value: 'Ada' },
          ],
        },
      ],
    });
    const [rich, ada, neither] = contacts as [number, number, number];
    await pool().query(`update contacts set first_name = 'Ada' where id = $1`, [ada]);
    await enterByEvent(flowId, rich, 1, { total: 101 });
    await enterByEvent(flowId, ada, 2, { total: 1 });
    await enterByEvent(flowId, neither, 3, { total: 1 });
    await enter(flowId, [neither], 'm1');
    await judgePage(deps(), flowId);
    expect((await runsOf(pool(), flowId)).map((run) => run.contact_id)).toEqual([rich, ada]);
    expect(await countsOf(pool(), flowId)).toEqual({ entered: 2, 'not_entered:filters': 2 });
  });

  it('of a test event begins a test run, which is not counted and does not count for others', async () => {
    const flowId = await insertActiveFlow(pool(), account, {});
    await enter(flowId, [contacts[0] as number], 't1', true);
    await judgePage(deps(), flowId);
    await enter(flowId, [contacts[0] as number], 'm1');
    await enter(flowId, [contacts[0] as number], 't2', true);
    await judgePage(deps(), flowId);
    expect((await runsOf(pool(), flowId)).map(({ cause, test: isTest }) => [cause, isTest])).toEqual([
      ['t1', true],
      ['m1', false],
    ]);
    expect(await countsOf(pool(), flowId)).toEqual({ entered: 1 });
  });

  it('waits for the goal of the flow, and finds it if it was reached since the event', async () => {
    const flowId = await insertActiveFlow(pool(), account, { goal: 'bought' });
    await enter(flowId, contacts, 'm1');
    await pool().query(
      `with n as (insert into event_names (brand_id, name) values ($1, 'bought') returning id)
       insert into contact_events (account_id, brand_id, contact_id, name_id, created_at)
       select $2, $1, $3, n.id, now() from n`,
      [account.brandId, account.accountId, contacts[1]],
    );
    await judgePage(deps(), flowId);
    const { rows } = await pool().query(
      `select r.contact_id, w.step_id, w.event_name, a.event_id is not null as reached
       from flow_runs r join flow_waits w on w.run_id = r.id left join flow_arrivals a on a.run_id = r.id
       where r.flow_id = $1 order by 1`,
      [flowId],
    );
    expect(rows).toEqual(
      contacts.map((id, n) => ({ contact_id: id, step_id: 0, event_name: 'bought', reached: n === 1 })),
    );
  });
});

describe('entering again', () => {
  const at = (iso: string) => deps(() => new Date(iso));

  /** Judges two entries, with the end of the first run in between or not. @returns what was counted */
  async function twice(
    reentry: Reentry | undefined,
    byEvent: boolean,
    ended: boolean,
    secondAt = new Date(),
  ) {
    const flowId = await insertActiveFlow(pool(), account, reentry === undefined ? {} : { reentry });
    const [contact] = contacts as [number];
    const add = (n: number) =>
      byEvent ? enterByEvent(flowId, contact, n) : enter(flowId, [contact], `m${n}`);
    await add(1);
    await judgePage(deps(), flowId);
    if (ended) await pool().query(`update flow_runs set state = 'completed' where flow_id = $1`, [flowId]);
    await add(2);
    await judgePage(at(secondAt.toISOString()), flowId);
    return countsOf(pool(), flowId);
  }
  const later = (seconds: number) => new Date(Date.now() + seconds * 1_000);

  it('is refused by default, also after the run has ended', async () => {
    expect(await twice(undefined, true, true)).toEqual({ entered: 1, 'not_entered:already_entered': 1 });
  });

  it('every time begins concurrent runs for events', async () => {
    expect(await twice('every_time', true, false)).toEqual({ entered: 2 });
  });

  it('every time waits for the end of the run for other causes', async () => {
    expect(await twice('every_time', false, false)).toEqual({ entered: 1, 'not_entered:in_flow': 1 });
    expect(await twice('every_time', false, true)).toEqual({ entered: 2 });
  });

  it('after some time counts from the last entry', async () => {
    const reentry = { after_seconds: 3_600 };
    expect(await twice(reentry, true, true, later(3_000))).toEqual({ entered: 1, 'not_entered:too_soon': 1 });
    expect(await twice(reentry, true, true, later(3_700))).toEqual({ entered: 2 });
    expect(await twice(reentry, false, false, later(3_700))).toEqual({
      entered: 1,
      'not_entered:in_flow': 1,
    });
  });

  it('is judged in the order of the entries, even within one page', async () => {
    const flowId = await insertActiveFlow(pool(), account, {});
    const [contact] = contacts as [number];
    for (const n of [5, 3, 4]) await enterByEvent(flowId, contact, n);
    await judgePage(deps(), flowId);
    expect((await runsOf(pool(), flowId)).map(({ cause }) => cause)).toEqual(['e5']);
    expect(await countsOf(pool(), flowId)).toEqual({ entered: 1, 'not_entered:already_entered': 2 });
  });
});

describe('pages of entries', () => {
  it('are shared by several workers, so that every contact enters once', async () => {
    const many = await insertContacts(pool(), account, 450, 'many');
    const flows = await Promise.all([1, 2, 3].map(() => insertActiveFlow(pool(), account, {})));
    // Two causes for each contact: only the first begins a run.
    for (const flowId of flows) for (const cause of ['m1', 'm2']) await enter(flowId, many, cause);
    const worker = async () => {
      for (
        let left = await flowsWithEntries(pool());
        left.length > 0;
        left = await flowsWithEntries(pool())
      ) {
        for (const flowId of left) await judgePage(deps(), flowId);
      }
    };
    await Promise.all([worker(), worker(), worker(), worker()]);
    for (const flowId of flows) {
      const runs = await runsOf(pool(), flowId);
      expect(runs.map((run) => run.contact_id)).toEqual(many);
      expect(await countsOf(pool(), flowId)).toEqual({ entered: 450, 'not_entered:already_entered': 450 });
    }
    expect(logged).toEqual([]);
  });

  it('leave nothing behind if the process dies before the commit', async () => {
    const flowId = await insertActiveFlow(pool(), account, {});
    await enter(flowId, contacts, 'm1');
    await pool().query(`
      create function die() returns trigger language plpgsql as $$ begin
        perform pg_terminate_backend(pg_backend_pid()); return new; end $$;
      create trigger die before insert on outbox for each row execute function die()`);
    await expect(judgePage(deps(), flowId)).rejects.toThrow();
    await pool().query('drop trigger die on outbox; drop function die');
    expect([await runsOf(pool(), flowId), await countsOf(pool(), flowId)]).toEqual([[], {}]);
    await judgePage(deps(), flowId);
    expect(await runsOf(pool(), flowId)).toHaveLength(3);
  });

  it('continue without an entry that cannot be judged, which is retried and then given up', async () => {
    const flowId = await insertActiveFlow(pool(), account, {});
    const [, poison] = contacts as [number, number];
    await pool().query(`
      create function refuse() returns trigger language plpgsql as $$ begin
        if new.contact_id = ${poison} then raise 'no'; end if; return new; end $$;
      create trigger refuse before insert on flow_runs for each row execute function refuse()`);
    try {
      await enter(flowId, contacts, 'm1');
      await judgePage(deps(), flowId);
      expect((await runsOf(pool(), flowId)).map((run) => run.contact_id)).toEqual([contacts[0], contacts[2]]);
      const left = await pool().query(
        'select attempt_count, retry_at > now() as later from flow_entries where flow_id = $1',
        [flowId],
      );
      expect(left.rows).toEqual([{ attempt_count: 1, later: true }]);
      expect(await flowsWithEntries(pool())).not.toContain(flowId);
      for (let attempt = 2; attempt <= 8; attempt += 1) {
        await pool().query('update flow_entries set retry_at = now() where flow_id = $1', [flowId]);
        await judgePage(deps(), flowId);
      }
      expect(await entriesOf(pool(), flowId)).toEqual([]);
      expect(await countsOf(pool(), flowId)).toEqual({ entered: 2, 'not_entered:error': 1 });
    } finally {
      await pool().query('drop trigger refuse on flow_runs; drop function refuse');
    }
  });

  it('are retried together if the filters cannot be evaluated', async () => {
    const flowId = await insertActiveFlow(pool(), account, {
      filters: [{ name: 'of_a_later_version', predicate: 'eq', value: 1 }],
    });
    await enter(flowId, contacts, 'm1');
    await judgePage(deps(), flowId);
    expect(await entriesOf(pool(), flowId)).toHaveLength(3);
    expect(await flowsWithEntries(pool())).not.toContain(flowId);
    expect(logged).toHaveLength(1);
  });
});
