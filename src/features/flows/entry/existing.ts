import type { Queryable } from '../../../platform/db/queryable.ts';
import type { FlowRow } from '../model.ts';

/**
 * Lets contacts enter who are already in the list or segment of a flow, for `enter_existing`. Call it in the
 * transaction that activates the flow. Without it, only contacts enter who are added or begin to match later.
 */
export async function enterExisting(
  trx: Queryable,
  flow: Pick<FlowRow, 'id' | 'contact_list_id' | 'segment_id'>,
): Promise<void> {
  if (flow.contact_list_id !== null) {
    await trx.query(
      `insert into flow_fills (flow_id, list_id) values ($1, $2)
       on conflict (flow_id) do update
       set list_id = excluded.list_id, cursor = 0, waits_for = null, created_at = now()`,
      [flow.id, flow.contact_list_id],
    );
  }
  if (flow.segment_id !== null) {
    await trx.query(
      `insert into flow_audiences (flow_id, enters_existing) values ($1, true)
       on conflict (flow_id) do update
       set enters_existing = true, comparing_since = null, remembers = false, cursor = 0`,
      [flow.id],
    );
    // The workflow compares all contacts again, and lets all who match enter.
    await trx.query('update flows set audience_seen_at = null where id = $1', [flow.id]);
  }
}

/** Ends what `enterExisting` began, because the flow gets another trigger. Entries that it has added stay. */
export async function forgetExisting(trx: Queryable, { id }: Pick<FlowRow, 'id'>): Promise<void> {
  await trx.query('delete from flow_fills where flow_id = $1', [id]);
  await trx.query(
    'update flow_audiences set enters_existing = false where flow_id = $1 and enters_existing',
    [id],
  );
}
