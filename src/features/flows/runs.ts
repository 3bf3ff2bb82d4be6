/** The runs of flows, as clients see and cancel them. */
import type { MessageStatus } from '../../delivery/terms/message.ts';
import { flowCohortWorkflowId, flowRunWorkflowId } from '../../../workflows/flows/contract.ts';
import { AppError, notFound } from '../../errors.ts';
import type { Tenant } from '../../platform/auth/tenant.ts';
import type { BrandScope } from '../../platform/db/model.ts';
import { countRows, type Page, type RowCount } from '../../platform/db/paging.ts';
import type { Queryable } from '../../platform/db/queryable.ts';
import type { ChannelKind } from '../contacts/schema.ts';
import { presentContacts } from '../contacts/service.ts';
import { endRuns } from './run/ends.ts';
import type { CauseEvent, RunStateName, WaitsFor } from './run/load.ts';
import type { FlowRun, ListRunsQuery, PathStep, RunSummary } from './runs-schema.ts';

/** A flow has at most 200 steps, but a run that moved between versions may have taken more. */
const MAX_PATH = 1_000;

interface RunRow {
  id: number;
  flow_id: number;
  contact_id: number;
  version: number | null;
  state: RunStateName;
  reason: string | null;
  step_id: number | null;
  waits_for: WaitsFor | null;
  due_at: Date | null;
  failures: number;
  retry_at: Date | null;
  cohort: { number: number; size: number } | null;
  cause: string;
  test: boolean;
  created_at: Date;
  updated_at: Date;
  ended_at: Date | null;
}

const COLUMNS = `r.id, r.flow_id, r.contact_id,
  (select v.n from flow_versions v where v.id = r.version_id) as version, r.state, r.reason, r.step_id, r.waits_for, r.due_at, r.cause, r.test,
  case r.state when 'active' then r.failures + r.call_failures else 0 end as failures,
  case r.state when 'active' then coalesce(r.retry_at, case r.waits_for when 'webhook' then r.call_at end) end as retry_at,
  (select json_build_object('number', c.n, 'size', c.size) from flow_cohorts c where c.id = r.cohort_id) as cohort,
  r.created_at, r.updated_at, r.ended_at`;

/** What started a run, by the first letter of `flow_runs.cause`. */
const causes: Readonly<Record<string, RunSummary['cause']>> = {
  e: 'event',
  t: 'event',
  l: 'list',
  s: 'segment',
};

const iso = (time: Date | null) => time?.toISOString() ?? null;

const workflowIdOf = ({ flow_id: flowId, contact_id: contactId, cause, cohort }: RunRow): string =>
  cohort ? flowCohortWorkflowId(flowId, cohort.number) : flowRunWorkflowId(flowId, contactId, cause);

type RunContact = NonNullable<RunSummary['contact']>;

function presentRun(row: RunRow, contact: RunContact | undefined): RunSummary {
  return {
    id: row.id,
    flow_id: row.flow_id,
    contact_id: row.contact_id,
    contact: contact ?? null,
    version: row.version,
    state: row.state,
    reason: row.reason,
    step_id: row.step_id,
    waits_for: row.waits_for,
    due_at: iso(row.due_at),
    failures: row.failures,
    retry_at: iso(row.retry_at),
    workflow_id: workflowIdOf(row),
    cohort: row.cohort,
    cause: causes[row.cause.charAt(0)] ?? 'request',
    test: row.test,
    created_at: row.created_at.toISOString(),
    updated_at: row.updated_at.toISOString(),
    ended_at: iso(row.ended_at),
  };
}

/** Presents runs with their contacts, which are read together. */
async function presentRuns(db: Queryable, brandId: number, rows: readonly RunRow[]): Promise<RunSummary[]> {
  const ids = [...new Set(rows.map((row) => row.contact_id))];
  const contacts = new Map<number, RunContact>();
  for (const { id, first_name, last_name, channels } of await presentContacts(db, brandId, ids)) {
    const address = (kind: ChannelKind) => channels.find((channel) => channel.kind === kind)?.value ?? null;
    contacts.set(id, { first_name, last_name, email: address('email'), phone: address('phone') });
  }
  return rows.map((row) => presentRun(row, contacts.get(row.contact_id)));
}

/** @throws AppError not_found */
async function requireFlow(db: Queryable, { accountId, brandId }: BrandScope, id: number): Promise<void> {
  const { rowCount } = await db.query(
    'select 1 from flows where id = $1 and account_id = $2 and brand_id = $3',
    [id, accountId, brandId],
  );
  if (!rowCount) throw notFound('flow');
}

/** Finds a page of the runs of a flow, newest first. @throws AppError not_found */
export async function listRuns(
  db: Queryable,
  scope: BrandScope,
  flowId: number,
  { contact_id, state, step_id, version, cohort, created_after, created_before }: ListRunsQuery,
  page: Page,
): Promise<{ runs: RunSummary[]; count: RowCount }> {
  await requireFlow(db, scope, flowId);
  const values: unknown[] = [flowId];
  const given = [
    ['contact_id =', contact_id],
    ['state =', state],
    ['step_id =', step_id],
    ['created_at >', created_after],
    ['created_at <', created_before],
  ] as const;
  const conditions = given.flatMap(([test, value]) =>
    value === undefined ? [] : [`and r.${test} $${values.push(value)}`],
  );
  if (version !== undefined) {
    const n = `$${values.push(version)}::bigint`;
    conditions.push(
      `and r.version_id = (select v.id from flow_versions v where v.flow_id = $1 and v.n = ${n})`,
    );
  }
  if (cohort !== undefined) {
    const n = `$${values.push(cohort)}::bigint`;
    conditions.push(
      `and r.cohort_id = (select c.id from flow_cohorts c where c.flow_id = $1 and c.n = ${n})`,
    );
  }
  // Written as a literal, so that the planner can use the partial index of active runs.
  if (step_id !== undefined) conditions.push(`and r.state = 'active'`);
  const source = `flow_runs r where r.flow_id = $1 ${conditions.join(' ')}`;
  const below = page.after === null ? '' : `and r.id < ${page.after}`;
  const { rows } = await db.query<RunRow>(
    `select ${COLUMNS} from ${source} ${below} order by r.id desc limit ${page.limit} offset ${page.offset}`,
    values,
  );
  return { runs: await presentRuns(db, scope.brandId, rows), count: await countRows(db, source, values) };
}

interface PathRow {
  step_id: number;
  type: string;
  outcome: string | null;
  detail: Record<string, unknown> | null;
  event_id: number | null;
  message_id: number | null;
  status: MessageStatus | null;
  failure: { code: string; message: string } | null;
  attempt_count: number | null;
  unknown_at: Date | null;
  entered_at: Date;
  left_at: Date | null;
}

const presentStep = (row: PathRow): PathStep => ({
  step_id: row.step_id,
  type: row.type,
  outcome: row.outcome,
  detail: row.detail,
  message:
    row.message_id === null || row.status === null
      ? null
      : {
          ...{ id: row.message_id, status: row.status, failure: row.failure },
          ...{ attempt_count: row.attempt_count ?? 0, unknown_at: iso(row.unknown_at) },
        },
  event_id: row.event_id,
  entered_at: row.entered_at.toISOString(),
  left_at: iso(row.left_at),
});

/** Reads the steps that a run has taken. The response to a webhook step is shown once the run has left the step. */
async function readPath(db: Queryable, runId: number): Promise<PathStep[]> {
  const { rows } = await db.query<PathRow>(
    `select s.step_id, s.type, s.outcome, s.detail, s.event_id, s.message_id, m.status, m.failure, m.attempt_count,
       m.unknown_at, s.entered_at, s.left_at
     from flow_run_steps s left join messages m on m.id = s.message_id
     where s.run_id = $1 and s.left_at is not null order by s.n limit ${MAX_PATH}`,
    [runId],
  );
  return rows.map(presentStep);
}

/** @throws AppError not_found */
export async function getRun(
  db: Queryable,
  { accountId, brandId }: BrandScope,
  id: number,
): Promise<FlowRun> {
  const { rows } = await db.query<RunRow & { event: CauseEvent | null }>(
    `select ${COLUMNS}, r.event from flow_runs r where r.id = $1 and r.account_id = $2 and r.brand_id = $3`,
    [id, accountId, brandId],
  );
  const row = rows[0];
  const [run] = await presentRuns(db, brandId, rows);
  if (!row || !run) throw notFound('flow run');
  const event = row.event && { id: row.event.id, name: row.event.name };
  return { ...run, event, path: await readPath(db, id) };
}

/**
 * Ends a run. Its queued messages are still sent. Wake `outbox` after the commit.
 * @throws AppError not_found; invalid_transition if it has ended
 */
export async function cancelRun(trx: Queryable, tenant: Tenant, id: number): Promise<FlowRun> {
  await getRun(trx, tenant, id);
  const end = { state: 'canceled', reason: 'canceled' } as const;
  const ended = await endRuns(trx, [id], end, { asOf: new Date(), priority: 1 });
  if (ended === 0) throw new AppError('invalid_transition', 'the run has ended');
  return getRun(trx, tenant, id);
}
