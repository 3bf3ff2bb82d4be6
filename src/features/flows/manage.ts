/** What requests do to flows. */
import type pg from 'pg';
import { invalid } from '../../errors.ts';
import type { Tenant } from '../../platform/auth/tenant.ts';
import type { Queryable } from '../../platform/db/queryable.ts';
import type { IfMatch } from '../../platform/db/revisions.ts';
import { enterExisting } from './entry/existing.ts';
import { type CheckDeps, type Prepared, requireActivator } from './checks.ts';
import type { FlowRow } from './model.ts';
import type { ActivateFlowBody, ResumeFlowBody } from './schema.ts';
import { archiveFlow, flowTransitions, pauseFlow, resumeFlow } from './transitions.ts';
import { activateLocked } from './activate.ts';
import { lockForRequest } from './find.ts';

export { prepareRequest } from './activate.ts';
export { changeFlow, needsPreparation } from './change.ts';
export { createFlow, duplicateFlow } from './create.ts';
export { findListed, getFlow, presentPage, requireFlow } from './find.ts';

interface RequestedActivation {
  body: ActivateFlowBody;
  prepared: Prepared;
  ifMatch: IfMatch;
}

/** @throws AppError not_found, precondition_failed, invalid_transition; validation_error that lists every problem */
export async function activate(
  trx: pg.PoolClient,
  deps: CheckDeps,
  tenant: Tenant,
  id: number,
  { body: { enter_existing: entersExisting }, prepared, ifMatch }: RequestedActivation,
): Promise<FlowRow> {
  const locked = await lockForRequest(trx, tenant, id, ifMatch);
  const row = await activateLocked(trx, deps, tenant, locked, prepared);
  if (!entersExisting) return row;
  if (row.trigger_event !== null) {
    throw invalid({ enter_existing: ['is allowed only for flows whose trigger is a list or a segment'] });
  }
  await enterExisting(trx, row);
  return row;
}

/** @throws AppError not_found, precondition_failed, invalid_transition */
export async function pause(
  trx: Queryable,
  tenant: Tenant,
  id: number,
  _body: object,
  ifMatch: IfMatch,
): Promise<FlowRow> {
  const row = await lockForRequest(trx, tenant, id, ifMatch);
  const paused = await pauseFlow(trx, row);
  if (!paused) throw flowTransitions.refusal(row, 'pause');
  return paused;
}

/** @throws AppError not_found, precondition_failed, invalid_transition, forbidden */
export async function resume(
  trx: Queryable,
  tenant: Tenant,
  id: number,
  { overdue }: ResumeFlowBody,
  ifMatch: IfMatch,
): Promise<FlowRow> {
  const row = await lockForRequest(trx, tenant, id, ifMatch);
  await requireActivator(trx, tenant);
  const resumed = await resumeFlow(trx, row, { overdue });
  if (!resumed) throw flowTransitions.refusal(row, 'resume');
  return resumed;
}

/** Archives a flow. An archived flow stays archived. @throws AppError not_found, precondition_failed */
export async function archive(
  trx: Queryable,
  tenant: Tenant,
  id: number,
  ifMatch: IfMatch,
): Promise<FlowRow> {
  const row = await lockForRequest(trx, tenant, id, ifMatch);
  return (await archiveFlow(trx, row)) ?? row;
}
