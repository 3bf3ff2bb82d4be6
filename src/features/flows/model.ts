import type { BrandScope } from '../../platform/db/model.ts';
import { countRows, type Page, type RowCount, type SizedItem } from '../../platform/db/paging.ts';
import type { Queryable } from '../../platform/db/queryable.ts';
import { RAISE_REVISION } from '../../platform/db/revisions.ts';
import type { Step } from './steps/index.ts';
import { fromStored, toStored } from './steps/secret-headers.ts';
import type { Filters } from './steps/step.ts';

export const flowStatuses = ['draft', 'active', 'paused', 'archived'] as const;
export type FlowStatus = (typeof flowStatuses)[number];

export const approvalStates = ['not_required', 'pending', 'approved', 'rejected'] as const;
export type ApprovalState = (typeof approvalStates)[number];

export const stopReasons = ['bounce_rate', 'complaint_rate', 'rejected'] as const;

/** Why the service paused a flow. `rate` and `threshold` are null if the reason is not a rate. */
export interface FlowStop {
  reason: (typeof stopReasons)[number];
  rate: number | null;
  threshold: number | null;
  /** ISO 8601. */
  at: string;
}

/** When a contact who was in a flow may enter again. `every_time` is for events only. */
export type Reentry = 'once' | 'every_time' | { after_seconds: number };

/** `trigger.data`, as the client sets it. Fields left out are absent; without `reentry`, it is `once`. */
export interface TriggerData {
  filters?: Filters;
  exit_filters?: Filters;
  reentry?: Reentry;
}

/** The version of a template that a step sends. */
export interface PinnedContent {
  step_id: number;
  template_id: number;
  version_id: number;
}

/** What a flow will do once an operator has approved it. Until then, active runs follow what was approved before. */
export interface PendingFlow {
  /** A row of `flow_versions`. */
  version_id: number;
  contents: readonly PinnedContent[];
  /** Whether active runs move to the version, see `apply_to`. */
  move: boolean;
}

/** A row of `flows`. */
export interface FlowRow {
  id: number;
  account_id: number;
  brand_id: number;
  name: string;
  status: FlowStatus;
  approval_state: ApprovalState;
  /** The name of the event that ends a run. */
  goal: string | null;
  /** At most one of the three is given; a draft may have none. */
  trigger_event: string | null;
  contact_list_id: number | null;
  segment_id: number | null;
  trigger_data: TriggerData;
  /** The current steps. Runs follow the steps of their version. */
  steps: Step[];
  next_step_id: number;
  /** The version that new runs follow; null: none has been activated and, if required, approved. */
  version_id: number | null;
  /** What waits for approval; null if nothing does. */
  pending: PendingFlow | null;
  stop: FlowStop | null;
  counted_from: Date | null;
  sent_count: number;
  audience_seen_at: Date | null;
  activated_at: Date | null;
  paused_at: Date | null;
  archived_at: Date | null;
  engine_expected_by: Date | null;
  /** Raised by each change of the flow or its contents. */
  revision: number;
  created_at: Date;
  updated_at: Date;
}

/** SQL: the columns of a {@link FlowRow}. */
export const FLOW_COLUMNS = `id, account_id, brand_id, name, status, approval_state, goal, trigger_event, contact_list_id,
  segment_id, trigger_data, steps, next_step_id, version_id, pending, stop, counted_from, sent_count, audience_seen_at,
  activated_at, paused_at, archived_at, engine_expected_by, revision, created_at, updated_at`;

/** Reads a row as a statement returned it. */
export const readFlowRow = (row: FlowRow): FlowRow => ({ ...row, steps: fromStored(row.steps) });

const firstOf = ([row]: readonly FlowRow[]): FlowRow | null => (row ? readFlowRow(row) : null);

/** Whether the flow is active or paused: changes to it are pinned. */
export const isLive = ({ status }: Pick<FlowRow, 'status'>) => status === 'active' || status === 'paused';

/** For workflows, loops and operators, which work across tenants. @returns null if there is none */
export async function findFlowById(db: Queryable, id: number): Promise<FlowRow | null> {
  const { rows } = await db.query<FlowRow>(`select ${FLOW_COLUMNS} from flows where id = $1`, [id]);
  return firstOf(rows);
}

/** @returns null if the brand has no such flow */
export async function findFlow(
  db: Queryable,
  { accountId, brandId }: BrandScope,
  id: number,
): Promise<FlowRow | null> {
  const { rows } = await db.query<FlowRow>(
    `select ${FLOW_COLUMNS} from flows where id = $3 and account_id = $1 and brand_id = $2`,
    [accountId, brandId, id],
  );
  return firstOf(rows);
}

/** Reads and locks the row of a flow. @returns null if there is none */
export async function lockFlow(trx: Queryable, id: number): Promise<FlowRow | null> {
  const { rows } = await trx.query<FlowRow>(
    `select ${FLOW_COLUMNS} from flows where id = $1 for no key update`,
    [id],
  );
  return firstOf(rows);
}

/** The columns that a client sets. */
export type FlowValues = Partial<
  Pick<
    FlowRow,
    | 'name'
    | 'goal'
    | 'trigger_event'
    | 'contact_list_id'
    | 'segment_id'
    | 'trigger_data'
    | 'steps'
    | 'next_step_id'
    | 'audience_seen_at'
  >
>;

const jsonNames: readonly string[] = ['trigger_data', 'steps'];

function assigned(values: FlowValues): { names: string[]; values: unknown[] } {
  const stored = { ...values, ...(values.steps && { steps: toStored(values.steps) }) };
  const given = Object.entries(stored).filter(([, value]) => value !== undefined);
  return {
    names: given.map(([name]) => name),
    values: given.map(([name, value]) => (jsonNames.includes(name) ? JSON.stringify(value) : value)),
  };
}

export async function insertFlow(
  trx: Queryable,
  { accountId, brandId }: BrandScope,
  values: FlowValues & Pick<FlowRow, 'name'>,
): Promise<FlowRow> {
  const given = assigned(values);
  const { rows } = await trx.query<FlowRow>(
    `insert into flows (account_id, brand_id, ${given.names.join(', ')})
     values ($1, $2, ${given.names.map((_, index) => `$${index + 3}`).join(', ')}) returning ${FLOW_COLUMNS}`,
    [accountId, brandId, ...given.values],
  );
  return readFlowRow(rows[0] as FlowRow);
}

/** Changes a locked flow. */
export async function updateFlow(trx: Queryable, id: number, values: FlowValues): Promise<FlowRow> {
  const given = assigned(values);
  const set = given.names.map((name, index) => `${name} = $${index + 2}, `).join('');
  const { rows } = await trx.query<FlowRow>(
    `update flows set ${set} ${RAISE_REVISION}, updated_at = now() where id = $1 returning ${FLOW_COLUMNS}`,
    [id, ...given.values],
  );
  return readFlowRow(rows[0] as FlowRow);
}

export interface FlowFilters {
  status?: FlowStatus | undefined;
  name?: string | undefined;
  created_after?: string | undefined;
  created_before?: string | undefined;
}

/** Counts the flows of a brand that are not archived, and blocks additions by others until the transaction ends. */
export async function countFlows(trx: Queryable, { accountId, brandId }: BrandScope): Promise<number> {
  await trx.query('select 1 from brands where id = $1 and account_id = $2 for no key update', [
    brandId,
    accountId,
  ]);
  const { rows } = await trx.query<{ count: number }>(
    `select count(*) from flows where account_id = $1 and brand_id = $2 and status <> 'archived'`,
    [accountId, brandId],
  );
  return rows[0]?.count ?? 0;
}

/**
 * Finds the ids and sizes of a page of flows, newest first, without archived ones unless the request asks for them.
 * @param templateBytes SQL: the bytes that a step's template `t` takes in the list
 */
export async function findFlows(
  db: Queryable,
  { accountId, brandId }: BrandScope,
  filters: FlowFilters,
  page: Page,
  templateBytes: string,
): Promise<{ items: SizedItem[]; count: RowCount }> {
  const values: unknown[] = [accountId, brandId];
  const given = [
    ['status =', filters.status],
    ['name =', filters.name],
    ['created_at >', filters.created_after],
    ['created_at <', filters.created_before],
  ] as const;
  const conditions = given.flatMap(([test, value]) =>
    value === undefined ? [] : [`and f.${test} $${values.push(value)}`],
  );
  if (filters.status === undefined) conditions.push(`and f.status <> 'archived'`);
  const source = `flows f where f.account_id = $1 and f.brand_id = $2 ${conditions.join(' ')}`;
  const below = page.after === null ? '' : `and f.id < ${page.after}`;
  const [{ rows: items }, count] = await Promise.all([
    db.query<SizedItem>(
      `select f.id, f.steps_bytes + octet_length(f.trigger_data::text) + coalesce((
         select sum(${templateBytes}) from templates t where t.flow_id = f.id and t.removed_at is null), 0) as bytes
       from ${source} ${below} order by f.id desc limit ${page.limit} offset ${page.offset}`,
      values,
    ),
    countRows(db, source, values),
  ]);
  return { items, count };
}

/** Reads flows of a page, newest first. */
export async function readFlows(
  db: Queryable,
  { accountId, brandId }: BrandScope,
  ids: readonly number[],
): Promise<FlowRow[]> {
  const { rows } = await db.query<FlowRow>(
    `select ${FLOW_COLUMNS} from flows where account_id = $1 and brand_id = $2 and id = any($3) order by id desc`,
    [accountId, brandId, ids],
  );
  return rows.map(readFlowRow);
}
