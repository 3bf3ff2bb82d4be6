/** The activation of a flow: what it reads before its transaction, and what it does in it. */
import type pg from 'pg';
import type { Tenant } from '../../platform/auth/tenant.ts';
import { inTransaction } from '../../platform/db/queryable.ts';
import { createCompiledContents } from '../templates/service.ts';
import { type CheckDeps, makePins, type Prepared, requireActivator } from './checks.ts';
import type { FlowRow } from './model.ts';
import { activateFlow, flowTransitions, openBrand } from './transitions.ts';

/** Activates a locked flow whose changes are applied. */
export async function activateLocked(
  trx: pg.PoolClient,
  deps: CheckDeps,
  tenant: Tenant,
  row: FlowRow,
  prepared: Prepared,
): Promise<FlowRow> {
  const account = await requireActivator(trx, tenant);
  flowTransitions.requireAllowed(row, 'activate');
  const pins = await makePins(trx, deps, tenant, row, prepared, { account, move: false });
  const activated = await activateFlow(trx, row, pins);
  if (!activated) throw flowTransitions.refusal(row, 'activate');
  return activated;
}

/** Reads what an activation or a change of an active flow needs, before its transaction. @throws AppError forbidden */
export async function prepareRequest({ pool, templates }: CheckDeps, tenant: Tenant): Promise<Prepared> {
  // Refused before the brand's events are read.
  await requireActivator(pool, tenant);
  const [brand] = await Promise.all([
    templates.brandOf(tenant),
    inTransaction(pool, (trx) => openBrand(trx, tenant.brandId)),
  ]);
  return { brand, compiled: createCompiledContents(templates.contents) };
}
