/** What requests do to flows. */
import type pg from 'pg';
import { AppError, invalid, notFound, Problems } from '../../errors.ts';
import type { Tenant } from '../../platform/auth/tenant.ts';
import { requireDraftOfTestKey } from '../../platform/auth/test-keys.ts';
import type { BrandScope } from '../../platform/db/model.ts';
import type { Page, RowCount, SizedItem } from '../../platform/db/paging.ts';
import { inTransaction, type Queryable } from '../../platform/db/queryable.ts';
import { copiedName, copyTemplate, createCompiledContents, listedBytesSql } from '../templates/service.ts';
import { enterExisting, forgetExisting } from './entry/existing.ts';
import { type CheckDeps, makePins, type Outside, requireActivator, requireFlows } from './checks.ts';
import {
  countFlows,
  findFlow,
  findFlows,
  type FlowRow,
  type FlowStatus,
  type FlowValues,
  insertFlow,
  isLive,
  lockFlow,
  readFlows,
  updateFlow,
} from './model.ts';
import { presentFlow, presentFlows } from './presenter.ts';
import { addTriggerProblems } from './references.ts';
import type {
  ActivateFlowBody,
  ChangeFlowBody,
  CreateFlowBody,
  DuplicateFlowBody,
  Flow,
  FlowSummary,
  ListFlowsQuery,
  ResumeFlowBody,
  TriggerBody,
} from './schema.ts';
import { mapBranches, sendingSteps, type Step } from './steps/index.ts';
import {
  activateFlow,
  archiveFlow,
  flowTransitions,
  openBrand,
  pauseFlow,
  repinFlow,
  resumeFlow,
} from './transitions.ts';
import { writeSteps } from './write-steps.ts';

/** The list of flows is returned whole. */
const MAX_FLOWS = 1_000;

/** @throws AppError not_found */
export async function requireFlow(db: Queryable, scope: BrandScope, id: number): Promise<FlowRow> {
  const row = await findFlow(db, scope, id);
  if (!row) throw notFound('flow');
  return row;
}

/** @throws AppError not_found */
async function lock(trx: Queryable, scope: BrandScope, id: number): Promise<FlowRow> {
  await requireFlow(trx, scope, id);
  const row = await lockFlow(trx, id);
  if (!row) throw notFound('flow');
  return row;
}

/** @throws AppError not_found */
export async function getFlow(db: Queryable, scope: BrandScope, id: number): Promise<Flow> {
  return presentFlow(db, await requireFlow(db, scope, id));
}

/** Finds the flows of a page, newest first, with how large they are. */
export async function findListed(
  db: Queryable,
  scope: BrandScope,
  query: ListFlowsQuery,
  page: Page,
): Promise<{ items: SizedItem[]; count: RowCount }> {
  // A body is shown with its step and with its template.
  return findFlows(db, scope, query, page, listedBytesSql(query.summary ? 0 : 2));
}

/** Presents flows of a page. */
export async function presentPage(
  db: Queryable,
  scope: BrandScope,
  ids: readonly number[],
  summary: boolean,
): Promise<FlowSummary[]> {
  return presentFlows(db, scope, await readFlows(db, scope, ids), summary);
}

const sources = {
  event: 'trigger_event',
  contact_list_id: 'contact_list_id',
  segment_id: 'segment_id',
} as const;
const sourceNames = ['event', 'contact_list_id', 'segment_id'] as const;

/** The trigger's columns after a request. A field left out stays as it is; one source replaces the others. */
function mergeTrigger(given: TriggerBody): FlowValues {
  const values: FlowValues = {};
  const chosen = sourceNames.find((name) => (given[name] ?? null) !== null);
  for (const name of sourceNames) {
    const value = given[name];
    const isReplaced = chosen !== undefined && chosen !== name;
    if (value === undefined && !isReplaced) continue;
    Object.assign(values, { [sources[name]]: isReplaced ? null : value });
  }
  if (given.data !== undefined) values.trigger_data = given.data ?? {};
  return values;
}

const triggerColumns = ['trigger_event', 'contact_list_id', 'segment_id'] as const;

interface Applied {
  row: FlowRow;
  /** Something that activation fixes. */
  pinned: boolean;
}

type Changes = Pick<ChangeFlowBody, 'name' | 'goal' | 'trigger' | 'steps'>;

/** Applies what a request changes of a locked flow, apart from its status. @throws AppError validation_error */
async function applyChanges(
  trx: Queryable,
  scope: BrandScope,
  row: FlowRow,
  { name, goal, trigger, steps }: Changes,
  { isNew }: { isNew: boolean },
): Promise<Applied> {
  const values: FlowValues = {};
  if (name !== undefined) values.name = name;
  if (goal !== undefined) values.goal = goal;
  if (trigger) {
    Object.assign(values, mergeTrigger(trigger));
    const problems = new Problems();
    await addTriggerProblems(trx, scope, { ...row, ...values }, problems);
    problems.throwIfAny();
  }
  const merged = { ...row, ...values };
  const otherTrigger = triggerColumns.some((column) => merged[column] !== row[column]);
  // Contacts who match another segment already do not enter.
  if (otherTrigger) {
    values.audience_seen_at = null;
    await forgetExisting(trx, row);
  }
  if (steps) Object.assign(values, await writeSteps(trx, scope, row, steps, { isNew }));
  const pinned = steps !== undefined || goal !== undefined || trigger !== undefined;
  const isChanged = Object.keys(values).length > 0;
  return {
    row: isChanged ? await updateFlow(trx, row.id, values) : row,
    pinned,
  };
}

/** Activates a locked flow whose changes are applied. */
async function activateLocked(
  trx: pg.PoolClient,
  deps: CheckDeps,
  tenant: Tenant,
  row: FlowRow,
  outside: Outside,
): Promise<FlowRow> {
  const account = await requireActivator(trx, tenant);
  flowTransitions.requireAllowed(row, 'activate');
  const pins = await makePins(trx, deps, tenant, row, outside, { account, move: false });
  const activated = await activateFlow(trx, row, pins);
  if (!activated) throw flowTransitions.refusal(row, 'activate');
  return activated;
}

/** Creates a flow, and activates it if the request says so. @throws AppError validation_error, forbidden … */
export async function createFlow(
  trx: pg.PoolClient,
  deps: CheckDeps,
  tenant: Tenant,
  { status, name, ...changes }: CreateFlowBody,
  outside: Outside | null,
): Promise<FlowRow> {
  await requireFlows(trx, tenant);
  await requireRoom(trx, tenant);
  const inserted = await insertFlow(trx, tenant, { name });
  const { row } = await applyChanges(trx, tenant, inserted, changes, { isNew: true });
  return status === 'active' && outside ? activateLocked(trx, deps, tenant, row, outside) : row;
}

/** @throws AppError validation_error if the brand has as many flows as it can have */
async function requireRoom(trx: Queryable, scope: BrandScope): Promise<void> {
  if ((await countFlows(trx, scope)) < MAX_FLOWS) return;
  const message = `cannot be added: the brand has ${MAX_FLOWS} flows that are not archived, the most it can have`;
  throw invalid({ name: [message] });
}

function changeStatus(
  trx: pg.PoolClient,
  deps: CheckDeps,
  tenant: Tenant,
  row: FlowRow,
  status: FlowStatus | undefined,
  outside: Outside | null,
): Promise<FlowRow> {
  return flowTransitions.toStatus(row, status, {
    paused: () => pauseFlow(trx, row),
    archived: () => archiveFlow(trx, row),
    async active() {
      if (row.status !== 'paused') return outside && activateLocked(trx, deps, tenant, row, outside);
      await requireActivator(trx, tenant);
      return resumeFlow(trx, row);
    },
  });
}

/** Reads what an activation or a change of an active flow needs, before its transaction. @throws AppError forbidden */
export async function prepareRequest({ pool, templates }: CheckDeps, tenant: Tenant): Promise<Outside> {
  // Refused before events of the brand are looked at.
  await requireActivator(pool, tenant);
  const [brand] = await Promise.all([
    templates.brandOf(tenant),
    inTransaction(pool, (trx) => openBrand(trx, tenant.brandId)),
  ]);
  return { brand, compiled: createCompiledContents(templates.contents) };
}

/** Whether a change pins something, so that the brand must be read before its transaction. */
export function needsOutside(
  row: Pick<FlowRow, 'status'> | null,
  { status, steps, goal, trigger }: Partial<Pick<ChangeFlowBody, 'status' | 'steps' | 'goal' | 'trigger'>>,
): boolean {
  if (status === 'active' && row?.status !== 'paused') return true;
  return row !== null && isLive(row) && [steps, goal, trigger].some((value) => value !== undefined);
}

/**
 * Changes a flow. Of one that is active or paused, new runs follow the new steps, and contents reach all runs.
 * @param outside null if {@link needsOutside} says so
 * @throws AppError not_found, validation_error, invalid_transition, conflict and those of an activation
 */
export async function changeFlow(
  trx: pg.PoolClient,
  deps: CheckDeps,
  tenant: Tenant,
  id: number,
  body: ChangeFlowBody,
  outside: Outside | null,
): Promise<FlowRow> {
  const { status, apply_to: applyTo, ...changes } = body;
  const locked = await lock(trx, tenant, id);
  for (const each of [locked.status, status]) requireDraftOfTestKey(tenant, each, 'flows');
  const isChange = Object.values(changes).some((value) => value !== undefined);
  if (isChange) flowTransitions.requireAllowed(locked, 'change');
  const applied = await applyChanges(trx, tenant, locked, changes, { isNew: false });
  let { row } = applied;
  if (applied.pinned && isLive(row) && status !== 'archived') {
    // Another request has activated it since this one began.
    if (!outside) throw new AppError('conflict', 'the flow has just been activated; try again');
    const account = await requireActivator(trx, tenant);
    const options = { account, move: applyTo === 'waiting' };
    row = await repinFlow(trx, row, await makePins(trx, deps, tenant, row, outside, options));
  }
  return changeStatus(trx, deps, tenant, row, status, outside);
}

/** @throws AppError not_found, invalid_transition; validation_error that names everything that is wrong */
export async function activate(
  trx: pg.PoolClient,
  deps: CheckDeps,
  tenant: Tenant,
  id: number,
  { enter_existing: entersExisting }: ActivateFlowBody,
  outside: Outside,
): Promise<FlowRow> {
  const row = await activateLocked(trx, deps, tenant, await lock(trx, tenant, id), outside);
  if (!entersExisting) return row;
  if (row.trigger_event !== null) {
    throw invalid({ enter_existing: ['is for flows with a list or a segment: nobody is in an event'] });
  }
  await enterExisting(trx, row);
  return row;
}

/** @throws AppError not_found, invalid_transition */
export async function pause(trx: Queryable, tenant: Tenant, id: number): Promise<FlowRow> {
  const row = await lock(trx, tenant, id);
  const paused = await pauseFlow(trx, row);
  if (!paused) throw flowTransitions.refusal(row, 'pause');
  return paused;
}

/** @throws AppError not_found, invalid_transition, forbidden */
export async function resume(
  trx: Queryable,
  tenant: Tenant,
  id: number,
  { overdue }: ResumeFlowBody,
): Promise<FlowRow> {
  const row = await requireFlow(trx, tenant, id);
  await requireActivator(trx, tenant);
  const resumed = await resumeFlow(trx, row, { overdue });
  if (!resumed) throw flowTransitions.refusal(await requireFlow(trx, tenant, id), 'resume');
  return resumed;
}

/** Archives a flow. One that is archived stays so. @throws AppError not_found */
export async function archive(trx: Queryable, tenant: Tenant, id: number): Promise<FlowRow> {
  const row = await lock(trx, tenant, id);
  return (await archiveFlow(trx, row)) ?? row;
}

/** Steps that name other templates. @param ids of templates, by the ids of steps */
function withTemplates(steps: readonly Step[], ids: ReadonlyMap<number, number>): Step[] {
  return steps.map((step) => {
    const templateId = ids.get(step.id);
    return {
      ...step,
      ...(templateId !== undefined && { template_id: templateId }),
      ...mapBranches(step, (inner) => withTemplates(inner, ids)),
    };
  });
}

/** Copies a flow as a draft, with its contents. The steps keep their ids. @throws AppError not_found, forbidden */
export async function duplicateFlow(
  trx: Queryable,
  tenant: Tenant,
  id: number,
  { name }: DuplicateFlowBody,
): Promise<FlowRow> {
  await requireFlows(trx, tenant);
  const row = await requireFlow(trx, tenant, id);
  await requireRoom(trx, tenant);
  const { goal, trigger_event, contact_list_id, segment_id, trigger_data, next_step_id } = row;
  const copy = await insertFlow(trx, tenant, {
    name: name ?? copiedName(row.name),
    ...{ goal, trigger_event, contact_list_id, segment_id, trigger_data, next_step_id },
  });
  const ids = new Map<number, number>();
  for (const step of sendingSteps(row.steps)) {
    const owner = { flowId: copy.id, actionId: step.id };
    ids.set(step.id, (await copyTemplate(trx, tenant, step.template_id, owner)).id);
  }
  return updateFlow(trx, copy.id, { steps: withTemplates(row.steps, ids) });
}
