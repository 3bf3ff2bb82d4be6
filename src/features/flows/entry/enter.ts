import { AppError, invalid, notFound } from '../../../errors.ts';
import { isTestCaller, type Tenant } from '../../../platform/auth/tenant.ts';
import type { Queryable } from '../../../platform/db/queryable.ts';
import { findFlow } from '../model.ts';
import { flowTransitions } from '../transitions.ts';
import { addEntries } from './entries.ts';

/** `not_found`: the brand has no such contact. */
export interface EnterResult {
  contact_id: number;
  status: 'accepted' | 'not_found';
}

/** Returns the results for the contacts, in the order in which they were first named. */
export async function enterResults(
  db: Queryable,
  { brandId }: Pick<Tenant, 'brandId'>,
  contactIds: readonly number[],
): Promise<EnterResult[]> {
  const { rows } = await db.query<{ id: number }>(
    'select id from contacts where brand_id = $1 and id = any($2)',
    [brandId, contactIds],
  );
  const existing = new Set(rows.map(({ id }) => id));
  return [...new Set(contactIds)].map((id) => ({
    contact_id: id,
    status: existing.has(id) ? 'accepted' : 'not_found',
  }));
}

/**
 * Lets contacts enter an active flow if its filters and its re-entry rule allow it. A test key starts test runs.
 * @returns the number of the request, which is the cause of its entries, and the result for each contact
 * @throws AppError not_found, validation_error, invalid_transition
 */
export async function enterFlow(
  trx: Queryable,
  tenant: Tenant,
  flowId: number,
  contactIds: readonly number[],
): Promise<{ requestId: number; results: EnterResult[] }> {
  const flow = await findFlow(trx, tenant, flowId);
  if (!flow) throw notFound('flow');
  if (contactIds.length === 0) throw invalid({ contact_ids: ['must not be empty'] });
  if (!flowTransitions.isAllowed('enter', flow)) {
    const state = flow.status === 'active' ? 'waits for approval' : `is ${flow.status}`;
    throw new AppError('invalid_transition', `the flow ${state}; contacts can enter active flows only`);
  }
  const results = await enterResults(trx, tenant, contactIds);
  const { rows } = await trx.query<{ id: number }>(`select nextval('flow_causes') as id`);
  const requestId = rows[0]?.id ?? 0;
  const accepted = results.filter(({ status }) => status === 'accepted').map((each) => each.contact_id);
  await addEntries(trx, flow, accepted, `m${requestId}`, isTestCaller(tenant.actor));
  return { requestId, results };
}
