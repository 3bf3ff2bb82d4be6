/** New flows: from a request, and as a copy. */
import type pg from 'pg';
import { invalid } from '../../errors.ts';
import type { Tenant } from '../../platform/auth/tenant.ts';
import type { BrandScope } from '../../platform/db/model.ts';
import type { Queryable } from '../../platform/db/queryable.ts';
import { copiedName, copyTemplate } from '../templates/service.ts';
import { type CheckDeps, type Prepared, requireFlows } from './checks.ts';
import { countFlows, type FlowRow, insertFlow, updateFlow } from './model.ts';
import type { CreateFlowBody, DuplicateFlowBody } from './schema.ts';
import { mapBranches, sendingSteps, type Step } from './steps/index.ts';
import { activateLocked } from './activate.ts';
import { applyChanges } from './change.ts';
import { requireFlow } from './find.ts';

/** Maximum number of flows that are not archived in a brand, because the list of flows is returned whole. */
const MAX_FLOWS = 1_000;

/** @throws AppError validation_error if the brand has as many flows as it can have */
async function requireRoom(trx: Queryable, scope: BrandScope): Promise<void> {
  if ((await countFlows(trx, scope)) < MAX_FLOWS) return;
  const message = `cannot be added: the brand has ${MAX_FLOWS} flows that are not archived, the most it can have`;
  throw invalid({ name: [message] });
}

/** Creates a flow, and activates it if the request asks for that. @throws AppError validation_error, forbidden … */
export async function createFlow(
  trx: pg.PoolClient,
  deps: CheckDeps,
  tenant: Tenant,
  { status, name, ...changes }: CreateFlowBody,
  prepared: Prepared | null,
): Promise<FlowRow> {
  await requireFlows(trx, tenant);
  await requireRoom(trx, tenant);
  const inserted = await insertFlow(trx, tenant, { name });
  const { row } = await applyChanges(trx, tenant, inserted, changes, {
    isNew: true,
    keyring: deps.keyring,
  });
  return status === 'active' && prepared ? activateLocked(trx, deps, tenant, row, prepared) : row;
}

/** Returns the steps with the templates of the copy. @param ids the templates of the copy, by the ids of their steps */
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
  const { goal, unknown, trigger_event, contact_list_id, segment_id, trigger_data, next_step_id } = row;
  const copy = await insertFlow(trx, tenant, {
    name: name ?? copiedName(row.name),
    goal,
    unknown,
    trigger_event,
    contact_list_id,
    segment_id,
    trigger_data,
    next_step_id,
  });
  const ids = new Map<number, number>();
  for (const step of sendingSteps(row.steps)) {
    const owner = { flowId: copy.id, actionId: step.id };
    ids.set(step.id, (await copyTemplate(trx, tenant, step.template_id, owner)).id);
  }
  return updateFlow(trx, copy.id, { steps: withTemplates(row.steps, ids) });
}
