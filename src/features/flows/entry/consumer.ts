import type { Queryable } from '../../../platform/db/queryable.ts';
import type { Waker } from '../../../platform/db/wake.ts';
import type { TrackedEvent, TrackedEventConsumer } from '../../contact-events/service.ts';
import { arrive } from '../run/waits.ts';
import { ENTRIES_CHANNEL } from './entries.ts';

/**
 * Adds the entries of all events in one statement. Each event causes at most one entry per flow: its id is the cause.
 */
const enterSql = `
  insert into flow_entries (account_id, brand_id, flow_id, contact_id, cause, event, test, chain_depth)
  select f.account_id, f.brand_id, f.id, e.contact_id, case when e.test then 't' else 'e' end || e.id,
    jsonb_build_object('id', e.id, 'name', e.name, 'data', e.data, 'created_at', e.created_at) || e.further, e.test,
    e.chain_depth
  from jsonb_to_recordset($1::jsonb) as e (
    id bigint, brand_id bigint, contact_id bigint, name text, data jsonb, further jsonb, created_at text, test boolean,
    chain_depth smallint)
  join flows f on f.brand_id = e.brand_id and f.trigger_event = e.name
  where f.status = 'active' and f.trigger_event is not null and f.approval_state in ('not_required', 'approved')
  order by f.id, e.contact_id, e.id
  on conflict (flow_id, contact_id, cause) do nothing`;

/** Other fields of the event: contents can use all but the mail. Fields that it does not have are absent. */
function furtherOf({
  amount,
  resourceUid,
  resourceName,
  resourceUrl,
  mail,
}: TrackedEvent): Record<string, unknown> {
  const named = {
    amount,
    resource_uid: resourceUid,
    resource_name: resourceName,
    resource_url: resourceUrl,
    mail,
  };
  return Object.fromEntries(
    Object.entries(named).filter(([, value]) => value !== null && value !== undefined),
  );
}

async function addEntriesOf(trx: Queryable, events: readonly TrackedEvent[]): Promise<number> {
  const input = events.map((event) => ({
    id: event.id,
    brand_id: event.brandId,
    contact_id: event.contactId,
    name: event.name,
    data: event.data,
    further: furtherOf(event),
    created_at: event.createdAt,
    test: event.test,
    chain_depth: event.chainDepth,
  }));
  const { rowCount } = await trx.query({
    name: 'enter_flows',
    text: enterSql,
    values: [JSON.stringify(input)],
  });
  return rowCount ?? 0;
}

/** What flows do with tracked events: they let contacts enter, and deliver events to the runs that wait for them. */
export function createFlowConsumer({ waker }: { waker: Pick<Waker, 'wake'> }): TrackedEventConsumer {
  return {
    gate: 'lock_flow_brands',
    async needsLocks(trx, brandIds) {
      const { rows } = await trx.query<{ brand_id: number }>(
        'select brand_id from flow_brands where brand_id = any($1)',
        [brandIds],
      );
      return new Set(rows.map((row) => row.brand_id));
    },
    async consume(trx, events) {
      const entered = await addEntriesOf(trx, events);
      const woken = await arrive(trx, events);
      if (entered + woken === 0) return null;
      return () => {
        if (entered > 0) waker.wake(ENTRIES_CHANNEL);
        if (woken > 0) waker.wake('outbox');
      };
    },
  };
}
