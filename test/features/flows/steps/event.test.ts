// An event step tracks its event once for a run, within the limits of the API, and may start other flows.
import { describe, expect, it } from '@jest/globals';
import { MAX_NAMES } from '../../../../src/features/contact-events/names.ts';
import { type EventStep, MAX_CHAIN_DEPTH } from '../../../../src/features/flows/steps/event.ts';
import { useActingStage } from './acting.ts';

const stage = useActingStage();

const event = (rest: Partial<EventStep> = {}): EventStep => ({
  type: 'event',
  id: 4,
  event_name: 'onboarded',
  ...rest,
});
const track = (step = event(), run = stage.run()) => stage.act(step, run);

async function eventsOfContact() {
  const { rows } = await stage.pool.query<Record<string, unknown>>(
    `select e.id, n.name, e.data, e.test, e.user_id from contact_events e join event_names n on n.id = e.name_id
     where e.contact_id = $1 order by e.id`,
    [stage.contactId],
  );
  return rows;
}

/** Makes a flow that the event starts. */
async function insertFlow(): Promise<number> {
  await stage.pool.query('insert into flow_brands values ($1) on conflict do nothing', [
    stage.account.brandId,
  ]);
  const { rows } = await stage.pool.query<{ id: number }>(
    `insert into flows (account_id, brand_id, name, status, trigger_event)
     values ($1, $2, 'Second', 'active', 'onboarded') returning id`,
    [stage.account.accountId, stage.account.brandId],
  );
  return rows[0]?.id ?? 0;
}

async function entriesOf(flowId: number) {
  const { rows } = await stage.pool.query<Record<string, unknown>>(
    'select contact_id, cause, test, chain_depth, event -> $2 as data from flow_entries where flow_id = $1',
    [flowId, 'data'],
  );
  return rows;
}

describe('an event step', () => {
  it('tracks the event, which starts other flows, one deeper in the chain', async () => {
    const flowId = await insertFlow();
    const result = await track(event({ data: { plan: 'pro' } }), stage.run({ chain_depth: 2 }));
    const [tracked] = await eventsOfContact();
    expect(result).toEqual({ outcome: 'done', eventId: tracked?.id });
    expect(tracked).toMatchObject({ name: 'onboarded', data: { plan: 'pro' }, test: false, user_id: null });
    expect(await entriesOf(flowId)).toEqual([
      {
        contact_id: stage.contactId,
        cause: `e${String(tracked?.id)}`,
        test: false,
        chain_depth: 3,
        data: { plan: 'pro' },
      },
    ]);
    expect(stage.woken).toEqual(['flow_entries']);
  });

  it('is refused beyond the maximum chain depth, and tracks nothing', async () => {
    const last = await track(event(), stage.run({ chain_depth: MAX_CHAIN_DEPTH - 1 }));
    expect(last.outcome).toBe('done');
    const result = await track(event({ id: 5 }), stage.run({ chain_depth: MAX_CHAIN_DEPTH }));
    expect(result).toEqual({ outcome: 'refused', detail: { reason: 'chain_depth', depth: 6 } });
    expect(await eventsOfContact()).toHaveLength(1);
  });

  it('tracks its event once for a run', async () => {
    const flowId = await insertFlow();
    const first = await track();
    expect(await track()).toEqual(first);
    expect(await track(event({ id: 5 }))).not.toEqual(first);
    expect(await track(event(), stage.run({ id: 2 }))).not.toEqual(first);
    expect(await eventsOfContact()).toHaveLength(3);
    expect(await entriesOf(flowId)).toHaveLength(3);
  });

  it('leaves nothing behind if the transaction of the run fails', async () => {
    const flowId = await insertFlow();
    const failed = stage.act(event(), stage.run(), () => {
      throw new Error('later');
    });
    await expect(failed).rejects.toThrow('later');
    expect([await eventsOfContact(), await entriesOf(flowId), stage.woken]).toEqual([[], [], []]);
  });

  it('forwards the data of the event that started the run on request; its own data wins', async () => {
    const run = stage.run({ event: { data: { plan: 'pro', total: 5 } } });
    await track(event({ forward_event_data: true, data: { plan: 'free' } }), run);
    await track(event({ id: 5, data: { plan: 'free' } }), run);
    const found = await eventsOfContact();
    expect(found.map(({ data }) => data)).toEqual([{ plan: 'free', total: 5 }, { plan: 'free' }]);
  });

  it('passes on the mail that caused the run, which is no data of the event', async () => {
    const flowId = await insertFlow();
    const mail = { conversation_message_id: 70, inbox_id: 7, auto_submitted: false };
    await track(event(), stage.run({ event: { data: { subject: 'Hi' }, mail } }));
    await track(event({ id: 5 }));
    const { rows } = await stage.pool.query(
      `select event -> 'mail' as mail, event -> 'data' as data from flow_entries where flow_id = $1 order by id`,
      [flowId],
    );
    expect(rows).toEqual([
      { mail, data: {} },
      { mail: null, data: {} },
    ]);
  });

  it('is refused if its data is too large for an event', async () => {
    const run = stage.run({ event: { data: { a: 'x'.repeat(20_000) } } });
    const result = await track(event({ forward_event_data: true, data: { b: 'x'.repeat(20_000) } }), run);
    expect(result).toEqual({
      outcome: 'refused',
      detail: { reason: 'invalid_data', message: 'data must have at most 32 KB of JSON' },
    });
  });

  it('is refused if the brand has no room for the name', async () => {
    await stage.pool.query(
      `insert into event_names (brand_id, name) select $1, 'n' || n from generate_series(1, $2) n`,
      [stage.account.brandId, MAX_NAMES],
    );
    expect(await track()).toEqual({
      outcome: 'refused',
      detail: { reason: 'too_many_event_names' },
    });
    expect((await track(event({ event_name: 'n7' }))).outcome).toBe('done');
  });

  it('is refused if Carillon has reserved the name since the flow was saved', async () => {
    expect(await track(event({ event_name: 'email_received' }))).toEqual({
      outcome: 'refused',
      detail: { reason: 'reserved_event_name' },
    });
    expect(await eventsOfContact()).toEqual([]);
  });

  it('tracks nothing for a deleted contact', async () => {
    await stage.pool.query('delete from contacts where id = $1', [stage.contactId]);
    expect(await track()).toEqual({ outcome: 'refused', detail: { reason: 'contact_deleted' } });
    expect(await eventsOfContact()).toEqual([]);
  });

  it('tracks a test event in a test run, so that it starts test runs only', async () => {
    const flowId = await insertFlow();
    await track(event(), stage.run({ test: true }));
    expect(await eventsOfContact()).toMatchObject([{ test: true }]);
    expect(await entriesOf(flowId)).toMatchObject([{ test: true, chain_depth: 1 }]);
  });
});
