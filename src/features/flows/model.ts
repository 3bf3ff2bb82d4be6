import { fn, type ModelObject } from 'objection';
import { type BrandScope, TenantModel } from '../../platform/db/model.ts';
import { countRows, type Page, type RowCount, type SizedItem } from '../../platform/db/paging.ts';
import type { Queryable } from '../../platform/db/queryable.ts';
import { raisedRevision } from '../../platform/db/revisions.ts';
import type { Step } from './steps/index.ts';
import { fromStored, toStored } from './steps/secret-headers.ts';
import type { Filters } from './steps/step.ts';

export const flowStatuses = ['draft', 'active', 'paused', 'archived'] as const;
export type FlowStatus = (typeof flowStatuses)[number];

export const approvalStates = ['not_required', 'pending', 'approved', 'rejected'] as const;
export type ApprovalState = (typeof approvalStates)[number];

export const stopReasons = ['bounce_rate', 'complaint_rate', 'rejected'] as const;

/** What happens to messages whose outcome is unknown: they stay so, or are handed over again and may arrive twice. */
export const unknownChoices = ['leave', 'resend'] as const;
export type UnknownChoice = (typeof unknownChoices)[number];

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

class FlowModel extends TenantModel {
  static override readonly tableName = 'flows';
  static override readonly columns = [
    'id',
    'account_id',
    'brand_id',
    'name',
    'status',
    'approval_state',
    'goal',
    'unknown',
    'trigger_event',
    'contact_list_id',
    'segment_id',
    'trigger_data',
    'steps',
    'next_step_id',
    'version_id',
    'pending',
    'stop',
    'counted_from',
    'sent_count',
    'audience_seen_at',
    'activated_at',
    'paused_at',
    'archived_at',
    'engine_expected_by',
    'revision',
    'created_at',
    'updated_at',
  ];
  static override readonly jsonColumns = ['trigger_data', 'steps', 'pending', 'stop'];

  declare account_id: number;
  declare brand_id: number;
  declare name: string;
  declare status: FlowStatus;
  declare approval_state: ApprovalState;
  /** The name of the event that ends a run. */
  declare goal: string | null;
  declare unknown: UnknownChoice;
  /** At most one of the three is given; a draft may have none. */
  declare trigger_event: string | null;
  declare contact_list_id: number | null;
  declare segment_id: number | null;
  declare trigger_data: TriggerData;
  /** The current steps. Runs follow the steps of their version. */
  declare steps: Step[];
  declare next_step_id: number;
  /** The version that new runs follow; null: none has been activated and, if required, approved. */
  declare version_id: number | null;
  /** What waits for approval; null if nothing does. */
  declare pending: PendingFlow | null;
  declare stop: FlowStop | null;
  declare counted_from: Date | null;
  declare sent_count: number;
  declare audience_seen_at: Date | null;
  declare activated_at: Date | null;
  declare paused_at: Date | null;
  declare archived_at: Date | null;
  declare engine_expected_by: Date | null;
  /** Raised by each change of the flow or its contents. */
  declare revision: number;
  declare created_at: Date;
  declare updated_at: Date;
}

/** A row of `flows`. */
export type FlowRow = ModelObject<FlowModel>;

/** SQL: the columns of a {@link FlowRow}. */
export const FLOW_COLUMNS = FlowModel.columns.join(', ');

/** Reads a row as a statement returned it. */
export const readFlowRow = (row: FlowRow): FlowRow => ({ ...row, steps: fromStored(row.steps) });

const firstOf = ([row]: readonly FlowRow[]): FlowRow | null => (row ? readFlowRow(row) : null);

/** Whether the flow is active or paused: changes to it are pinned. */
export const isLive = ({ status }: Pick<FlowRow, 'status'>) => status === 'active' || status === 'paused';

/** For workflows, loops and operators, which work across tenants. @returns null if there is none */
export async function findFlowById(db: Queryable, id: number): Promise<FlowRow | null> {
  return firstOf(await FlowModel.on(db).where('id', id).select(FlowModel.columns));
}

/** @returns null if the brand has no such flow */
export async function findFlow(db: Queryable, scope: BrandScope, id: number): Promise<FlowRow | null> {
  const row = await FlowModel.findInBrand(db, scope, id);
  return row && readFlowRow(row);
}

/** Reads and locks the row of a flow. @returns null if there is none */
export async function lockFlow(trx: Queryable, id: number): Promise<FlowRow | null> {
  return firstOf(await FlowModel.on(trx).where('id', id).forNoKeyUpdate().select(FlowModel.columns));
}

/** The columns that a client sets. */
export type FlowValues = Partial<
  Pick<
    FlowRow,
    | 'name'
    | 'goal'
    | 'unknown'
    | 'trigger_event'
    | 'contact_list_id'
    | 'segment_id'
    | 'trigger_data'
    | 'steps'
    | 'next_step_id'
    | 'audience_seen_at'
  >
>;

/** The values as they are stored. */
const stored = <Values extends FlowValues>(values: Values): Values => ({
  ...values,
  ...(values.steps && { steps: toStored(values.steps) }),
});

export async function insertFlow(
  trx: Queryable,
  { accountId: account_id, brandId: brand_id }: BrandScope,
  values: FlowValues & Pick<FlowRow, 'name'>,
): Promise<FlowRow> {
  const row = await FlowModel.on(trx)
    .insert({ account_id, brand_id, ...stored(values) })
    .returning(FlowModel.columns);
  return readFlowRow(row);
}

/** Changes a locked flow. */
export async function updateFlow(trx: Queryable, id: number, values: FlowValues): Promise<FlowRow> {
  const [row] = await FlowModel.on(trx)
    .where('id', id)
    .patch({ ...stored(values), ...raisedRevision(), updated_at: fn.now() })
    .returning(FlowModel.columns);
  return readFlowRow(row as FlowRow);
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
