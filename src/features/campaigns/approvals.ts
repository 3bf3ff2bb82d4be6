/** What an operator does: looks at campaigns that wait for approval, and decides. */
import type { CampaignSummary } from './schema.ts';
import { AppError, notFound } from '../../errors.ts';
import type { Queryable } from '../../platform/db/queryable.ts';
import type { LimitSettings } from '../../delivery/limits/authority.ts';
import { CAMPAIGN_COLUMNS, type CampaignRow, findCampaignById } from './model.ts';
import { presentCampaigns } from './presenter.ts';
import { approveCampaign, rejectCampaign } from './transitions.ts';

const MAX_LISTED = 500;

/** A campaign as `carillon campaign` shows it. */
export type OperatorView = Pick<
  CampaignSummary,
  'id' | 'account_id' | 'name' | 'channel' | 'status' | 'approval_state' | 'scheduled_at' | 'data'
> & { brand_id: number; version_ids: number[] };

async function present(
  db: Queryable,
  rows: readonly CampaignRow[],
  settings: LimitSettings,
): Promise<OperatorView[]> {
  const shown = await presentCampaigns(db, rows, settings);
  return shown.map(
    ({ id, account_id, name, channel, status, approval_state, scheduled_at, data }, index) => ({
      ...{ id, account_id, name, channel, status, approval_state, scheduled_at, data },
      brand_id: rows[index]?.brand_id ?? 0,
      version_ids: rows[index]?.version_ids ?? [],
    }),
  );
}

/** Campaigns that wait for approval, oldest first. @param all also those that do not */
export async function listForOperator(
  db: Queryable,
  settings: LimitSettings,
  { all }: { all: boolean },
): Promise<OperatorView[]> {
  const { rows } = await db.query<CampaignRow>(
    `select ${CAMPAIGN_COLUMNS} from campaigns
     where removed_at is null and phase not in ('draft', 'done') and ($1 or approval_state = 'pending')
     order by id limit ${MAX_LISTED}`,
    [all],
  );
  return present(db, rows, settings);
}

/** @throws AppError not_found */
export async function showForOperator(
  db: Queryable,
  settings: LimitSettings,
  id: number,
): Promise<OperatorView & { subject: string | null; text: string | null }> {
  const row = await findCampaignById(db, id);
  if (!row) throw notFound('campaign');
  const [shown] = await present(db, [row], settings);
  const { rows } = await db.query<{ subject: string | null; text: string | null }>(
    'select subject, text from template_versions where id = $1',
    [row.version_ids[0] ?? 0],
  );
  return { ...(shown as OperatorView), subject: rows[0]?.subject ?? null, text: rows[0]?.text ?? null };
}

/**
 * Approves or rejects a campaign. Wake `outbox` after the commit.
 * @throws AppError not_found; invalid_transition if it does not wait for approval
 */
export async function decide(
  trx: Queryable,
  settings: LimitSettings,
  id: number,
  decision: 'approve' | 'reject',
): Promise<OperatorView> {
  const row = await findCampaignById(trx, id);
  if (!row) throw notFound('campaign');
  const changed = await (decision === 'approve' ? approveCampaign(trx, row) : rejectCampaign(trx, row));
  if (!changed) throw new AppError('invalid_transition', `campaign ${id} does not wait for approval`);
  const [shown] = await present(trx, [changed], settings);
  return shown as OperatorView;
}
