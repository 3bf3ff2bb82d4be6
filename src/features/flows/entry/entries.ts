import type { Queryable } from '../../../platform/db/queryable.ts';
import type { FlowRow } from '../model.ts';

/** Notified after each commit that adds entries. */
export const ENTRIES_CHANNEL = 'flow_entries';

/**
 * Lets contacts enter a flow: the loop judges them soon after the commit. Wake {@link ENTRIES_CHANNEL} then; without
 * that, the loop finds them within a second.
 * @param contactIds contacts of the flow's brand
 * @param cause a contact enters once for it; see the comment on `flow_entries.cause`
 * @param test whether their runs are test runs
 * @returns how many entries were added: contacts who wait to enter for this cause have none added
 */
export async function addEntries(
  trx: Queryable,
  flow: Pick<FlowRow, 'id' | 'account_id' | 'brand_id'>,
  contactIds: readonly number[],
  cause: string,
  test = false,
): Promise<number> {
  if (contactIds.length === 0) return 0;
  const { rowCount } = await trx.query(
    `insert into flow_entries (account_id, brand_id, flow_id, contact_id, cause, test)
     select $1, $2, $3, c.id, $5, $6 from unnest($4::bigint[]) as c (id) order by c.id
     on conflict (flow_id, contact_id, cause) do nothing`,
    [flow.account_id, flow.brand_id, flow.id, contactIds, cause, test],
  );
  return rowCount ?? 0;
}

/** Lets contacts who begin to match the segment of a flow enter it. Each of them is a cause of its own. */
export async function addMatches(
  trx: Queryable,
  flow: Pick<FlowRow, 'id' | 'account_id' | 'brand_id'>,
  contactIds: readonly number[],
): Promise<void> {
  if (contactIds.length === 0) return;
  await trx.query(
    `insert into flow_entries (account_id, brand_id, flow_id, contact_id, cause)
     select $1, $2, $3, c.id, 's' || nextval('flow_causes') from unnest($4::bigint[]) as c (id) order by c.id`,
    [flow.account_id, flow.brand_id, flow.id, contactIds],
  );
}

/**
 * Says how many flows led to the memberships that a transaction adds from now on. Those past the greatest depth of chained
 * flows enter no flow, so that flows cannot start each other by lists for ever.
 */
export async function chainEntries(trx: Queryable, depth: number): Promise<void> {
  await trx.query(`select set_config('carillon.chain_depth', $1, true)`, [`${depth}`]);
}
