/** Checks a campaign with changes that are not saved as a send would, and stores nothing. */
import { AppError, checkProblems, type ValidationErrors } from '../../errors.ts';
import type { Tenant } from '../../platform/auth/tenant.ts';
import { inPreparedTransaction } from '../../platform/db/queryable.ts';
import type { Copied } from '../../platform/input/read-only.ts';
import { type AccountRules, needsApproval } from '../accounts/service.ts';
import { applyChanges } from './apply.ts';
import { type CheckDeps, makePins, ownFields, type Prepared, requireSender } from './checks.ts';
import { lockForRequest, requireCampaign } from './find.ts';
import { requireCopy } from './presenter.ts';
import type { CampaignCheck, CheckCampaignBody } from './schema.ts';
import { prepareRequest } from './send.ts';
import { senderText } from './sender.ts';
import { campaignTransitions } from './transitions.ts';

/** Ends the transaction of a check that finds nothing, so that it is rolled back. */
class Passed extends Error {}

interface Attempt {
  body: CheckCampaignBody;
  prepared: Prepared;
  account: AccountRules;
  /** Receives the sender of the campaign, which is known whether or not a send would be refused. */
  onSender: (sender: string | null) => void;
}

/** Does what a send does before it changes the campaign's state. @throws Passed, or what a send throws */
function tryToSend(
  deps: CheckDeps,
  tenant: Tenant,
  id: number,
  { body, prepared, account, onSender }: Attempt,
): Promise<never> {
  return inPreparedTransaction(deps.pool, async (trx) => {
    const locked = await lockForRequest(trx, tenant, id, null);
    campaignTransitions.requireAllowed(locked, 'send');
    const { row } = await applyChanges(trx, tenant, { ...locked, status: 'draft', phase: 'draft' }, body);
    const given = body.scheduled_at === undefined ? row.scheduled_at : body.scheduled_at;
    const scheduledAt = given === null ? null : new Date(given);
    onSender(await senderText(trx, deps.sender, tenant, row.channel, await ownFields(trx, row)));
    await makePins(trx, deps, tenant, row, prepared, { scheduledAt, account, asOf: new Date() });
    throw new Passed();
  });
}

/** @returns what a send says of fields; empty if it would send */
async function findErrors(work: Promise<never>): Promise<ValidationErrors> {
  try {
    return await work;
  } catch (error) {
    if (error instanceof Passed) return {};
    if (error instanceof AppError && Object.keys(error.validationErrors).length > 0) {
      return error.validationErrors;
    }
    throw error;
  }
}

/**
 * Finds everything for which a send of the campaign with the given changes would be refused.
 * @throws AppError not_found, validation_error (fields that a PATCH would refuse), forbidden, test_key, invalid_transition, unavailable
 */
export async function checkCampaign(
  deps: CheckDeps,
  tenant: Tenant,
  id: number,
  body: CheckCampaignBody,
  copied: Copied,
): Promise<CampaignCheck> {
  const before = await requireCampaign(deps.pool, tenant, id);
  campaignTransitions.requireAllowed(before, 'send');
  await requireCopy(deps.pool, before, copied);
  const account = await requireSender(deps.pool, tenant);
  const prepared = (await prepareRequest(deps, tenant, before, { ...body, status: 'active' })) as Prepared;
  let sender: string | null = null;
  const onSender = (found: string | null) => {
    sender = found;
  };
  const errors = await findErrors(tryToSend(deps, tenant, id, { body, prepared, account, onSender }));
  return {
    problems: checkProblems(errors),
    errors,
    sender,
    needs_approval: needsApproval(account, deps.approvalTiers),
  };
}
