import type { Queryable } from '../../../platform/db/queryable.ts';
import type { FlowRow } from '../model.ts';

/** The channel to notify after each commit that adds entries. */
export const ENTRIES_CHANNEL = 'flow_entries';

/**
 * Adds entries of contacts into a flow, which the loop judges soon after the commit. Wake {@link ENTRIES_CHANNEL} then;
 * otherwise the loop finds them within a second.
 * @param contactIds contacts of the flow's brand
 * @param cause each contact enters at most once for it; see the comment on `flow_entries.cause`
 * @param test whether their runs are test runs
 * @returns how many entries were added; contacts that already have an entry for this cause are left out
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

/** Adds entries of contacts that begin to match the segment of a flow. Each match is a cause of its own. */
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
 * Sets how many chained flows led to the list memberships that a transaction adds from now on. Memberships beyond the
 * maximum depth start no flow, so that flows cannot start each other through lists endlessly.
 */
export async function chainEntries(trx: Queryable, depth: number): Promise<void> {
  await trx.query(`select set_config('carillon.chain_depth', $1, true)`, [`${depth}`]);
}
