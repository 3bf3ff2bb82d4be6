// Event, update and list steps change the contact in the transaction of the run, within the same limits as the API.
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { MAX_NAMES } from '../../../../src/features/contact-events/names.ts';
import { createFlowConsumer } from '../../../../src/features/flows/entry/consumer.ts';
import {
  createContactSteps,
  MAX_CHAIN_DEPTH,
  type RunOfContact,
} from '../../../../src/features/flows/run/contact-steps.ts';
import type { StepResult, World } from '../../../../src/features/flows/run/interpreter.ts';
import type { EventStep } from '../../../../src/features/flows/steps/index.ts';
import { inTransaction } from '../../../../src/platform/db/queryable.ts';
import { insertList } from '../../../support/campaign-runs.ts';
import { insertContacts } from '../../../support/contacts.ts';
import { createTestDatabase, type TestDatabase } from '../../../support/database.ts';
import { insertAccount, type QueuedAccount } from '../../../support/queued.ts';

let test: TestDatabase;
let account: QueuedAccount;
let contactId: number;
let woken: string[];
const pool = () => test.database.pool;
const AS_OF = new Date('2026-03-10T12:00:00Z');

beforeAll(async () => {
  test = await createTestDatabase();
});
afterAll(() => test.drop());
beforeEach(async () => {
  account = await insertAccount(test.database);
  [contactId = 0] = await insertContacts(pool(), account, 1, `c${account.brandId}-`);
  woken = [];
});

const runOf = (rest: Partial<RunOfContact> = {}): RunOfContact => ({
  id: 1,
  account_id: account.accountId,
  brand_id: account.brandId,
  contact_id: contactId,
  test: false,
  chain_depth: 0,
  event: null,
  ...rest,
});

type Steps = Pick<World, 'trackEvent' | 'updateContact' | 'changeList'>;

/** Does a step in a transaction, as a run does. @returns its result and what to do after the commit */
async function act(
  run: RunOfContact,
  step: (steps: Steps) => Promise<StepResult>,
): Promise<{ result: StepResult; afterCommit: number }> {
  const consumers = [createFlowConsumer({ waker: { wake: (channel) => void woken.push(channel) } })];
  const afterCommit: (() => void)[] = [];
  const result = await inTransaction(pool(), (trx) =>
    step(createContactSteps({ trx, asOf: AS_OF, consumers, afterCommit }, run)),
  );
  for (const then of afterCommit) then();
  return { result, afterCommit: afterCommit.length };
}

const event = (rest: Partial<EventStep> = {}): EventStep => ({
  type: 'event',
  id: 4,
  event_name: 'onboarded',
  ...rest,
});
const track = (step = event(), run = runOf()) => act(run, ({ trackEvent }) => trackEvent(step));

async function eventsOfContact() {
  const { rows } = await pool().query<Record<string, unknown>>(
    `select e.id, n.name, e.data, e.test, e.user_id from contact_events e join event_names n on n.id = e.name_id
     where e.contact_id = $1 order by e.id`,
    [contactId],
  );
  return rows;
}

/** Makes a flow that the event starts. */
async function insertFlow(): Promise<number> {
  await pool().query('insert into flow_brands values ($1) on conflict do nothing', [account.brandId]);
  const { rows } = await pool().query<{ id: number }>(
    `insert into flows (account_id, brand_id, name, status, trigger_event)
     values ($1, $2, 'Second', 'active', 'onboarded') returning id`,
    [account.accountId, account.brandId],
  );
  return rows[0]?.id ?? 0;
}

async function entriesOf(flowId: number) {
  const { rows } = await pool().query<Record<string, unknown>>(
    'select contact_id, cause, test, chain_depth, event -> $2 as data from flow_entries where flow_id = $1',
    [flowId, 'data'],
  );
  return rows;
}

describe('an event step', () => {
  it('tracks the event, which starts other flows, one deeper in the chain', async () => {
    const flowId = await insertFlow();
    const { result } = await track(event({ data: { plan: 'pro' } }), runOf({ chain_depth: 2 }));
    const [tracked] = await eventsOfContact();
    expect(result).toEqual({ outcome: 'done', eventId: tracked?.id });
    expect(tracked).toMatchObject({ name: 'onboarded', data: { plan: 'pro' }, test: false, user_id: null });
    expect(await entriesOf(flowId)).toEqual([
      {
        contact_id: contactId,
        cause: `e${String(tracked?.id)}`,
        test: false,
        chain_depth: 3,
        data: { plan: 'pro' },
      },
    ]);
    expect(woken).toEqual(['flow_entries']);
  });

  it('is refused past the deepest chain, and tracks nothing', async () => {
    const last = await track(event(), runOf({ chain_depth: MAX_CHAIN_DEPTH - 1 }));
    expect(last.result.outcome).toBe('done');
    const { result } = await track(event({ id: 5 }), runOf({ chain_depth: MAX_CHAIN_DEPTH }));
    expect(result).toEqual({ outcome: 'refused', detail: { reason: 'chain_depth', depth: 6 } });
    expect(await eventsOfContact()).toHaveLength(1);
  });

  it('tracks its event once for a run', async () => {
    const flowId = await insertFlow();
    const first = await track();
    expect((await track()).result).toEqual(first.result);
    expect((await track(event({ id: 5 }))).result).not.toEqual(first.result);
    expect((await track(event(), runOf({ id: 2 }))).result).not.toEqual(first.result);
    expect(await eventsOfContact()).toHaveLength(3);
    expect(await entriesOf(flowId)).toHaveLength(3);
  });

  it('leaves nothing if the transaction of the run fails', async () => {
    const flowId = await insertFlow();
    const failed = act(runOf(), async ({ trackEvent }) => {
      await trackEvent(event());
      throw new Error('later');
    });
    await expect(failed).rejects.toThrow('later');
    expect([await eventsOfContact(), await entriesOf(flowId), woken]).toEqual([[], [], []]);
  });

  it('forwards the data of the event that started the run if it shall; its own data wins', async () => {
    const run = runOf({ event: { data: { plan: 'pro', total: 5 } } });
    await track(event({ forward_event_data: true, data: { plan: 'free' } }), run);
    await track(event({ id: 5, data: { plan: 'free' } }), run);
    const found = await eventsOfContact();
    expect(found.map(({ data }) => data)).toEqual([{ plan: 'free', total: 5 }, { plan: 'free' }]);
  });

  it('is refused if its data is larger than that of an event may be', async () => {
    const run = runOf({ event: { data: { a: 'x'.repeat(20_000) } } });
    const { result } = await track(event({ forward_event_data: true, data: { b: 'x'.repeat(20_000) } }), run);
    expect(result).toEqual({
      outcome: 'refused',
      detail: { reason: 'invalid_data', message: 'data must have at most 32 KB of JSON' },
    });
  });

  it('is refused if the brand has no room for the name', async () => {
    await pool().query(
      `insert into event_names (brand_id, name) select $1, 'n' || n from generate_series(1, $2) n`,
      [account.brandId, MAX_NAMES],
    );
    expect((await track()).result).toEqual({
      outcome: 'refused',
      detail: { reason: 'too_many_event_names' },
    });
    expect((await track(event({ event_name: 'n7' }))).result.outcome).toBe('done');
  });

  it('tracks nothing for a contact that is gone', async () => {
    await pool().query('delete from contacts where id = $1', [contactId]);
    expect((await track()).result).toEqual({ outcome: 'refused', detail: { reason: 'contact_deleted' } });
    expect(await eventsOfContact()).toEqual([]);
  });

  it('tracks a test event in a test run, so that it starts test runs only', async () => {
    const flowId = await insertFlow();
    await track(event(), runOf({ test: true }));
    expect(await eventsOfContact()).toMatchObject([{ test: true }]);
    expect(await entriesOf(flowId)).toMatchObject([{ test: true, chain_depth: 1 }]);
  });
});

describe('a step that updates the contact', () => {
  const update = (data: Record<string, unknown>, run = runOf()) =>
    act(run, ({ updateContact }) => updateContact({ type: 'update_contact', id: 4, data }));
  async function dataOfContact() {
    const { rows } = await pool().query<{ data: unknown }>('select data from contacts where id = $1', [
      contactId,
    ]);
    return rows[0]?.data;
  }

  it('patches its data: null removes a key', async () => {
    await update({ stage: 'trial', plan: 'pro' });
    expect((await update({ stage: 'active', plan: null })).result).toEqual({ outcome: 'done' });
    expect(await dataOfContact()).toEqual({ stage: 'active' });
  });

  it('is refused if the contact would have too much data', async () => {
    for (const key of ['a', 'b', 'c']) await update({ [key]: 'x'.repeat(20_000) });
    const { result } = await update({ d: 'x'.repeat(20_000) });
    expect(result).toMatchObject({ outcome: 'refused', detail: { reason: 'invalid_data' } });
    expect(Object.keys((await dataOfContact()) as object)).toEqual(['a', 'b', 'c']);
  });

  it('is skipped for a contact that is gone, and in a test run', async () => {
    const skipped = (reason: string) => ({ outcome: 'skipped', detail: { reason } });
    expect((await update({ a: 1 }, runOf({ test: true }))).result).toEqual(skipped('test'));
    expect(await dataOfContact()).toEqual({});
    const other = await insertAccount(test.database);
    const foreign = await update({ a: 1 }, runOf({ brand_id: other.brandId }));
    expect(foreign.result).toEqual(skipped('contact_deleted'));
    expect(await dataOfContact()).toEqual({});
  });
});

describe('a step that changes a list', () => {
  const change = (type: 'add_to_list' | 'remove_from_list', listId: number, run = runOf()) =>
    act(run, ({ changeList }) => changeList({ type, id: 4, list_id: listId }));
  async function listsOfContact() {
    const { rows } = await pool().query<{ list_id: number }>(
      'select list_id from list_members where contact_id = $1',
      [contactId],
    );
    return rows.map((row) => row.list_id);
  }
  const done = (changed: boolean) => ({ outcome: 'done', detail: { changed } });

  it('adds and removes the contact, and says whether that changed anything', async () => {
    const listId = await insertList(pool(), account);
    expect((await change('add_to_list', listId)).result).toEqual(done(true));
    expect((await change('add_to_list', listId)).result).toEqual(done(false));
    expect(await listsOfContact()).toEqual([listId]);
    expect((await change('remove_from_list', listId)).result).toEqual(done(true));
    expect((await change('remove_from_list', listId)).result).toEqual(done(false));
    expect(await listsOfContact()).toEqual([]);
  });

  it('is skipped if the list is deleted or of another brand, and in a test run', async () => {
    const skipped = (reason: string) => ({ outcome: 'skipped', detail: { reason } });
    const listId = await insertList(pool(), account);
    const foreign = await insertList(pool(), await insertAccount(test.database));
    expect((await change('add_to_list', listId, runOf({ test: true }))).result).toEqual(skipped('test'));
    expect((await change('add_to_list', foreign)).result).toEqual(skipped('list_deleted'));
    await pool().query('update lists set removed_at = now() where id = $1', [listId]);
    expect((await change('add_to_list', listId)).result).toEqual(skipped('list_deleted'));
    expect(await listsOfContact()).toEqual([]);
  });
});
