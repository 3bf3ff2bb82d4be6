import type { Reentry } from '../../src/features/flows/model.ts';
import type { Step } from '../../src/features/flows/steps/index.ts';
import type { Queryable } from '../../src/platform/db/queryable.ts';
import type { QueuedAccount } from './queued.ts';

interface ActiveFlow {
  event?: string;
  listId?: number;
  segmentId?: number;
  filters?: readonly unknown[];
  reentry?: Reentry;
  goal?: string;
  steps?: readonly Step[];
  status?: 'draft' | 'active' | 'paused' | 'archived';
  approval?: 'not_required' | 'pending' | 'approved';
}

const exit: Step = { type: 'exit', id: 1 };

/**
 * Inserts a flow that has been activated, with the fields that entries read.
 * @returns its id
 */
export async function insertActiveFlow(
  db: Queryable,
  { accountId, brandId }: QueuedAccount,
  flow: ActiveFlow,
): Promise<number> {
  const {
    filters,
    reentry,
    goal = null,
    steps = [exit],
    status = 'active',
    approval = 'not_required',
  } = flow;
  const { rows } = await db.query<{ id: number }>(
    `with f as (
       insert into flows (account_id, brand_id, name, status, approval_state, goal, trigger_event, contact_list_id,
         segment_id, trigger_data, steps, activated_at, counted_from, audience_seen_at)
       values ($1, $2, 'Welcome', $3, $4, $5, $6, $7, $8, $9, $10, now(), now(), now()) returning id
     ), b as (
       insert into flow_brands (brand_id) values ($2) on conflict do nothing
     )
     insert into flow_versions (flow_id, n, goal, steps) select id, 1, $5, $10 from f returning flow_id as id`,
    [
      ...[accountId, brandId, status, approval, goal],
      ...[flow.event ?? null, flow.listId ?? null, flow.segmentId ?? null],
      JSON.stringify({ filters, reentry }),
      JSON.stringify(steps),
    ],
  );
  const id = rows[0]?.id ?? 0;
  await db.query(
    'update flows set version_id = (select v.id from flow_versions v where v.flow_id = $1) where id = $1',
    [id],
  );
  return id;
}

export interface EntryRow {
  flow_id: number;
  contact_id: number;
  cause: string;
  event: { id: number; name: string; data: Record<string, unknown>; created_at: string } | null;
  test: boolean;
  chain_depth: number;
}

/** The waiting entries, in order. */
export async function entriesOf(db: Queryable, flowId: number): Promise<EntryRow[]> {
  const { rows } = await db.query<EntryRow>(
    'select flow_id, contact_id, cause, event, test, chain_depth from flow_entries where flow_id = $1 order by id',
    [flowId],
  );
  return rows;
}

export interface RunRow {
  id: number;
  contact_id: number;
  cause: string;
  test: boolean;
  state: string;
}

export async function runsOf(db: Queryable, flowId: number): Promise<RunRow[]> {
  const { rows } = await db.query<RunRow>(
    'select id, contact_id, cause, test, state from flow_runs where flow_id = $1 order by id',
    [flowId],
  );
  return rows;
}

/** The counts of a flow, by name. */
export async function countsOf(db: Queryable, flowId: number): Promise<Record<string, number>> {
  const { rows } = await db.query<{ name: string; n: number }>(
    'select name, sum(change)::int as n from flow_count_changes where flow_id = $1 group by name',
    [flowId],
  );
  return Object.fromEntries(rows.map(({ name, n }) => [name, n]));
}
