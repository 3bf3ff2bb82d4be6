/** What `PATCH` does to a flow: fields, trigger, steps and status. */
import { isDeepStrictEqual } from 'node:util';
import type pg from 'pg';
import { AppError, Problems } from '../../errors.ts';
import type { Tenant } from '../../platform/auth/tenant.ts';
import { requireDraftOfTestKey } from '../../platform/auth/test-keys.ts';
import type { Queryable } from '../../platform/db/queryable.ts';
import type { Copied } from '../../platform/input/read-only.ts';
import type { IfMatch } from '../../platform/db/revisions.ts';
import type { Keyring } from '../../platform/secrets/keyring.ts';
import { forgetExisting } from './entry/existing.ts';
import { type CheckDeps, makePins, type Prepared, requireActivator } from './checks.ts';
import { type FlowRow, type FlowStatus, type FlowValues, isLive, updateFlow } from './model.ts';
import { presentFlow, presentSteps } from './presenter.ts';
import { addTriggerProblems } from './references.ts';
import type { ChangeFlowBody, TriggerBody } from './schema.ts';
import type { Step } from './steps/index.ts';
import { archiveFlow, flowTransitions, pauseFlow, repinFlow, resumeFlow } from './transitions.ts';
import { writeSteps } from './write-steps.ts';
import { activateLocked } from './activate.ts';
import { lockForRequest } from './find.ts';

const sources = {
  event: 'trigger_event',
  contact_list_id: 'contact_list_id',
  segment_id: 'segment_id',
} as const;

const sourceNames = ['event', 'contact_list_id', 'segment_id'] as const;

/** The trigger's columns after a request. An omitted field stays unchanged; one source replaces the others. */
export function mergeTrigger(given: TriggerBody): FlowValues {
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

/** Whether a column keeps its value. Steps are compared as clients see them, which is without their contents. */
function isUnchanged(row: FlowRow, [name, value]: [string, unknown]): boolean {
  if (name !== 'steps') return isDeepStrictEqual(row[name as keyof FlowValues], value);
  const noContents = new Map();
  return isDeepStrictEqual(presentSteps(row.steps, noContents), presentSteps(value as Step[], noContents));
}

/** Columns that take effect at once, without a new version or an approval. */
const unpinned: ReadonlySet<string> = new Set(['name', 'unknown'] satisfies (keyof FlowValues)[]);

interface Applied {
  row: FlowRow;
  /** Whether something changed that activation pins. */
  pinned: boolean;
}

type Changes = Pick<ChangeFlowBody, 'name' | 'goal' | 'unknown' | 'trigger' | 'steps'>;

/**
 * Applies the changes of a request to a locked flow, apart from its status. Values that the flow already has change
 * nothing.
 * @throws AppError validation_error
 */
export async function applyChanges(
  trx: Queryable,
  scope: Tenant,
  row: FlowRow,
  { name, goal, unknown, trigger, steps }: Changes,
  options: { isNew: boolean; keyring: Keyring },
): Promise<Applied> {
  const values: FlowValues = {};
  if (name !== undefined) values.name = name;
  if (goal !== undefined) values.goal = goal;
  if (unknown !== undefined) values.unknown = unknown;
  if (trigger) {
    Object.assign(values, mergeTrigger(trigger));
    const problems = new Problems();
    await addTriggerProblems(trx, scope, { ...row, ...values }, problems);
    problems.throwIfAny();
  }
  const merged = { ...row, ...values };
  const otherTrigger = triggerColumns.some((column) => merged[column] !== row[column]);
  // Contacts who already match the new segment do not enter.
  if (otherTrigger) {
    values.audience_seen_at = null;
    await forgetExisting(trx, row);
  }
  let contentsChanged = false;
  if (steps) {
    const { contentsChanged: others, ...written } = await writeSteps(trx, scope, row, steps, options);
    contentsChanged = others;
    Object.assign(values, written);
  }
  const changed = Object.fromEntries(Object.entries(values).filter((value) => !isUnchanged(row, value)));
  const names = Object.keys(changed);
  return {
    row: names.length > 0 || contentsChanged ? await updateFlow(trx, row.id, changed) : row,
    pinned: contentsChanged || names.some((name) => !unpinned.has(name)),
  };
}

function changeStatus(
  trx: pg.PoolClient,
  deps: CheckDeps,
  tenant: Tenant,
  row: FlowRow,
  status: FlowStatus | undefined,
  prepared: Prepared | null,
): Promise<FlowRow> {
  return flowTransitions.toStatus(row, status, {
    paused: () => pauseFlow(trx, row),
    archived: () => archiveFlow(trx, row),
    async active() {
      if (row.status !== 'paused') return prepared && activateLocked(trx, deps, tenant, row, prepared);
      await requireActivator(trx, tenant);
      return resumeFlow(trx, row);
    },
  });
}

/** What activation pins. */
const pinnedFields = ['steps', 'goal', 'trigger'] as const;

/** Whether a change may pin something, so that the brand must be read before its transaction. */
export function needsPreparation(
  row: Pick<FlowRow, 'status'> | null,
  { status, ...changes }: Partial<Pick<ChangeFlowBody, 'status' | (typeof pinnedFields)[number]>>,
): boolean {
  if (status === 'active' && row?.status !== 'paused') return true;
  return row !== null && isLive(row) && pinnedFields.some((field) => changes[field] !== undefined);
}

interface RequestedChange {
  body: ChangeFlowBody;
  copied: Copied;
  /** Null if {@link needsPreparation} returned false. */
  prepared: Prepared | null;
  ifMatch: IfMatch;
}

/**
 * Changes a flow. If it is active or paused, new runs follow the new steps, and new contents reach all runs.
 * @throws AppError not_found, precondition_failed, validation_error, invalid_transition, conflict and those of an activation
 */
export async function changeFlow(
  trx: pg.PoolClient,
  deps: CheckDeps,
  tenant: Tenant,
  id: number,
  { body, copied, prepared, ifMatch }: RequestedChange,
): Promise<FlowRow> {
  const { status, apply_to: applyTo, ...changes } = body;
  const locked = await lockForRequest(trx, tenant, id, ifMatch);
  for (const each of [locked.status, status]) requireDraftOfTestKey(tenant, each, 'flows');
  if (copied.names.length > 0) copied.requireUnchanged(await presentFlow(trx, locked));
  const isChange = Object.values(changes).some((value) => value !== undefined);
  if (isChange) flowTransitions.requireAllowed(locked, 'change');
  const applied = await applyChanges(trx, tenant, locked, changes, {
    isNew: false,
    keyring: deps.keyring,
  });
  let { row } = applied;
  // With `waiting`, runs move even if an earlier request has made the change.
  const moves = applyTo === 'waiting' && pinnedFields.some((field) => changes[field] !== undefined);
  if ((applied.pinned || moves) && isLive(row) && status !== 'archived') {
    // Another request has activated the flow since this one began.
    if (!prepared) throw new AppError('conflict', 'the flow has just been activated; try again');
    const account = await requireActivator(trx, tenant);
    const options = { account, move: applyTo === 'waiting' };
    row = await repinFlow(trx, row, await makePins(trx, deps, tenant, row, prepared, options));
  }
  return changeStatus(trx, deps, tenant, row, status, prepared);
}
