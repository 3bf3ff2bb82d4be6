/** Remembers in `flow_segment_members` which contacts match the segment of a flow. */
import type { Queryable } from '../../../platform/db/queryable.ts';
import { isStatementTimeout } from '../../../platform/db/statement-limit.ts';
import { segmentCondition } from '../../segments/index.ts';
import type { FlowRow } from '../model.ts';

/**
 * How long a request that activates a flow may take to find its members, in ms. In a brand too large for that, the
 * workflow compares the contacts.
 */
const REMEMBER_MS = 500;

/** A set of contacts that have been compared. */
export interface Compared {
  /** Those of them that match. */
  matching: readonly number[];
  /** SQL: the condition over `m.contact_id` that selects the compared contacts, with parameters from `$3` on. */
  where: string;
  values: readonly unknown[];
}

/**
 * Remembers those compared contacts that match, and forgets the others.
 * @returns the contacts that were not remembered before
 */
export async function storeMembers(
  trx: Queryable,
  flowId: number,
  { matching, where, values }: Compared,
): Promise<number[]> {
  const { rows } = await trx.query<{ contact_id: number }>(
    `with gone as (
       delete from flow_segment_members m
       where m.flow_id = $1 and ${where}
         and not exists (select 1 from unnest($2::bigint[]) as c (id) where c.id = m.contact_id)
     )
     insert into flow_segment_members (flow_id, contact_id)
     select $1, c.id from unnest($2::bigint[]) as c (id) order by c.id
     on conflict (flow_id, contact_id) do nothing
     returning contact_id`,
    [flowId, matching, ...values],
  );
  return rows.map((row) => row.contact_id);
}

/** The columns that decide whether contacts enter a flow because they match its segment. */
type FlowState = Pick<FlowRow, 'status' | 'approval_state' | 'segment_id'>;

/** Whether contacts enter a flow now when they begin to match its segment. */
export function takesMembers({
  status,
  approval_state: approval,
  segment_id: segmentId,
}: FlowState): boolean {
  return (
    status === 'active' && (approval === 'not_required' || approval === 'approved') && segmentId !== null
  );
}

/**
 * Remembers which contacts match the segment of a flow when it opens, so that only contacts that begin to match later
 * enter. Call it in the transaction that activates, resumes or approves the flow or changes its segment, after the
 * change of its row. If the brand is too large for a request, the workflow does it soon afterwards, see
 * `flows.audience_seen_at`.
 */
export async function rememberMembers(
  trx: Queryable,
  flow: Pick<FlowRow, 'id' | 'brand_id'> & FlowState,
): Promise<void> {
  if (!takesMembers(flow)) return;
  // A comparison under way has become void: it began before the flow opened, or for another segment.
  await trx.query(
    `insert into flow_audiences (flow_id, opened_at) values ($1, now())
     on conflict (flow_id) do update
     set opened_at = excluded.opened_at, comparing_since = null, remembers = false, cursor = 0`,
    [flow.id],
  );
  await trx.query('savepoint remembering');
  try {
    const { rows } = await trx.query<{ was: string }>(
      `select current_setting('statement_timeout') as was, set_config('statement_timeout', $1, true)`,
      [`${REMEMBER_MS}`],
    );
    const audience = { brandId: flow.brand_id, asOf: new Date() };
    const { sql, values } = await segmentCondition(trx, audience, flow.segment_id as number, 3);
    await trx.query(
      `with matching as materialized (select c.id from contacts c where c.brand_id = $2 and ${sql}),
       gone as (
         delete from flow_segment_members m
         where m.flow_id = $1 and not exists (select 1 from matching k where k.id = m.contact_id)
       ), noted as (
         delete from flow_candidates where flow_id = $1
       ), added as (
         insert into flow_segment_members (flow_id, contact_id) select $1, id from matching
         on conflict (flow_id, contact_id) do nothing
       )
       update flows set audience_seen_at = now() where id = $1`,
      [flow.id, flow.brand_id, ...values],
    );
    await trx.query(
      `update flow_audiences
       set compared_at = now(), seen_at = now(), comparing_since = null, remembers = false where flow_id = $1`,
      [flow.id],
    );
    await trx.query(`select set_config('statement_timeout', $1, true)`, [rows[0]?.was ?? '0']);
    await trx.query('release savepoint remembering');
  } catch (error) {
    if (!isStatementTimeout(error)) throw error;
    await trx.query('rollback to savepoint remembering');
  }
}
