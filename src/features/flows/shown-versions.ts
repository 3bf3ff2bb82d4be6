/** The versions of a flow, as clients see them. */
import { z } from 'zod';
import { notFound } from '../../errors.ts';
import type { BrandScope } from '../../platform/db/model.ts';
import { countRows, idParam, type Page, pageQuery, type RowCount } from '../../platform/db/paging.ts';
import type { Queryable } from '../../platform/db/queryable.ts';
import { isStatementTimeout } from '../../platform/db/statement-limit.ts';
import type { HeavyReads } from '../../platform/processes/heavy-reads.ts';
import { findStepTemplates } from './content.ts';
import { requireFlow } from './find.ts';
import type { FlowRow } from './model.ts';
import { presentSteps, presentTrigger } from './presenter.ts';
import { flowSchema } from './schema.ts';
import type { Step } from './steps/index.ts';
import { fromStored } from './steps/secret-headers.ts';

const { goal, trigger, steps } = flowSchema.shape;

const summaryFields = {
  id: z.int(),
  flow_id: z.int(),
  number: z.int().min(1).meta({ description: 'Counts the versions of the flow.' }),
  state: z.enum(['current', 'pending', 'earlier']).meta({
    description:
      'Contacts who enter follow the `current` version. A `pending` one becomes the current one once an operator has ' +
      'approved it. Only runs under way follow an `earlier` one.',
  }),
  goal,
  trigger,
  active_run_count: z
    .int()
    .min(0)
    .nullable()
    .meta({ description: 'Active runs that follow the version now; null if they are too many to count.' }),
  created_at: z.iso.datetime(),
};

export const flowVersionSummary = z.object(summaryFields).meta({ id: 'FlowVersionSummary' });
export type FlowVersionSummary = z.input<typeof flowVersionSummary>;

export const flowVersionSchema = z
  .object({
    ...summaryFields,
    steps: steps.meta({
      description:
        'The steps of the version. Emails and SMS have their present contents, which all versions of a flow share.',
    }),
  })
  .meta({ id: 'FlowVersion' });
export type FlowVersionShown = z.input<typeof flowVersionSchema>;

export const listVersionsQuery = z.strictObject(pageQuery);
export const versionParams = z.strictObject({ id: idParam, number: idParam });

interface VersionRow {
  id: number;
  n: number;
  goal: string | null;
  /** Empty in versions from before triggers were stored. */
  trigger: Partial<Pick<FlowRow, 'trigger_event' | 'contact_list_id' | 'segment_id' | 'trigger_data'>>;
  created_at: Date;
}

const COLUMNS = 'v.id, v.n, v.goal, v.trigger, v.created_at';

/** The number of active runs by the ids of their versions. */
type RunCounts = ReadonlyMap<number, number>;

/** @returns null if it takes too long */
async function countActiveRuns(db: Queryable, flowId: number): Promise<RunCounts | null> {
  try {
    const { rows } = await db.query<{ version_id: number; count: number }>(
      `select version_id, count(*)::bigint as count from flow_runs
       where flow_id = $1 and state = 'active' and not test group by version_id`,
      [flowId],
    );
    return new Map(rows.map(({ version_id: id, count }) => [id, count]));
  } catch (error) {
    if (isStatementTimeout(error)) return null;
    throw error;
  }
}

function stateOf({ version_id: current, pending }: FlowRow, id: number): FlowVersionSummary['state'] {
  if (id === pending?.version_id) return 'pending';
  return id === current ? 'current' : 'earlier';
}

function present(flow: FlowRow, row: VersionRow, counts: RunCounts | null): FlowVersionSummary {
  const {
    trigger_event: event,
    contact_list_id: list,
    segment_id: segment,
    trigger_data: data,
  } = row.trigger;
  return {
    id: row.id,
    flow_id: flow.id,
    number: row.n,
    state: stateOf(flow, row.id),
    goal: row.goal,
    trigger: presentTrigger({
      trigger_event: event ?? null,
      contact_list_id: list ?? null,
      segment_id: segment ?? null,
      trigger_data: data ?? {},
    }),
    active_run_count: counts && (counts.get(row.id) ?? 0),
    created_at: row.created_at.toISOString(),
  };
}

const WHAT = 'versions of flows';

/**
 * Finds a page of the versions of a flow, newest first.
 * @throws AppError not_found; rate_limited; unavailable
 */
export function listVersions(
  reads: HeavyReads,
  scope: BrandScope,
  flowId: number,
  page: Page,
): Promise<{ versions: FlowVersionSummary[]; count: RowCount }> {
  return reads.run({ accountId: scope.accountId, what: WHAT }, async (db) => {
    const flow = await requireFlow(db, scope, flowId);
    const source = 'flow_versions v where v.flow_id = $1';
    const below = page.after === null ? '' : `and v.id < ${page.after}`;
    const { rows } = await db.query<VersionRow>(
      `select ${COLUMNS} from ${source} ${below} order by v.id desc limit ${page.limit} offset ${page.offset}`,
      [flowId],
    );
    const count = await countRows(db, source, [flowId]);
    const counts = await countActiveRuns(db, flowId);
    return { versions: rows.map((row) => present(flow, row, counts)), count };
  });
}

/**
 * Finds a version of a flow with its steps.
 * @throws AppError not_found; rate_limited; unavailable
 */
export function getVersion(
  reads: HeavyReads,
  scope: BrandScope,
  flowId: number,
  number: number,
): Promise<FlowVersionShown> {
  return reads.run({ accountId: scope.accountId, what: WHAT }, async (db) => {
    const flow = await requireFlow(db, scope, flowId);
    const { rows } = await db.query<VersionRow & { steps: Step[] }>(
      `select ${COLUMNS}, v.steps from flow_versions v where v.flow_id = $1 and v.n = $2::bigint`,
      [flowId, number],
    );
    const row = rows[0];
    if (!row) throw notFound('flow version');
    const steps = fromStored(row.steps);
    const templates = await findStepTemplates(db, scope, steps);
    const counts = await countActiveRuns(db, flowId);
    return { ...present(flow, row, counts), steps: presentSteps(steps, templates) };
  });
}
