/** The operator's side of approvals: lists the campaigns that wait, shows one, and approves or rejects it. */
import type { CampaignFields } from './schema.ts';
import { notFound } from '../../errors.ts';
import { decideApproval, type Decision } from '../../platform/db/approvals.ts';
import type { Queryable } from '../../platform/db/queryable.ts';
import type { LimitSettings } from '../../delivery/ledger/limits/authority.ts';
import { CAMPAIGN_COLUMNS, type CampaignRow, findCampaignById } from './model.ts';
import { presentCampaigns } from './presenter.ts';
import { approveCampaign, rejectCampaign } from './transitions.ts';

const MAX_LISTED = 500;

/** A campaign as `carillon campaign` shows it. */
export type OperatorView = Pick<
  CampaignFields,
  'id' | 'account_id' | 'name' | 'channel' | 'status' | 'approval_state' | 'scheduled_at' | 'data'
> & { brand_id: number; version_ids: number[] };

/** What one variant of a campaign sends. */
export interface OperatorContent {
  version_id: number;
  subject: string | null;
  preheader: string | null;
  html: string | null;
  text: string | null;
}

async function presentOperatorCampaign(
  db: Queryable,
  rows: readonly CampaignRow[],
  settings: LimitSettings,
): Promise<OperatorView[]> {
  const shown = await presentCampaigns(db, rows, settings);
  return shown.map(
    ({ id, account_id, name, channel, status, approval_state, scheduled_at, data }, index) => ({
      id,
      account_id,
      name,
      channel,
      status,
      approval_state,
      scheduled_at,
      data,
      brand_id: rows[index]?.brand_id ?? 0,
      version_ids: rows[index]?.version_ids ?? [],
    }),
  );
}

/** Campaigns that wait for approval, oldest first. @param all includes those that do not wait */
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
  return presentOperatorCampaign(db, rows, settings);
}

/** @throws AppError not_found */
export async function showForOperator(
  db: Queryable,
  settings: LimitSettings,
  id: number,
): Promise<OperatorView & { contents: OperatorContent[] }> {
  const row = await findCampaignById(db, id);
  if (!row) throw notFound('campaign');
  const [shown] = await presentOperatorCampaign(db, [row], settings);
  const { rows: contents } = await db.query<OperatorContent>(
    `select v.id as version_id, v.subject, v.preheader, v.html, v.text
     from unnest($1::bigint[]) with ordinality as i (id, n) join template_versions v on v.id = i.id order by i.n`,
    [row.version_ids],
  );
  return { ...(shown as OperatorView), contents };
}

/**
 * Approves or rejects a campaign. Wake `outbox` after the commit.
 * @param decision an approval names the versions that the operator has seen, by variant
 * @throws AppError not_found; invalid_transition if it does not wait for approval; conflict if its versions have
 *   changed
 */
export async function decide(
  trx: Queryable,
  settings: LimitSettings,
  id: number,
  decision: Decision,
): Promise<OperatorView> {
  const row = await findCampaignById(trx, id);
  if (!row) throw notFound('campaign');
  const changed = await decideApproval<CampaignRow>(decision, {
    noun: 'campaign',
    id,
    approve: (check) => approveCampaign(trx, row, check),
    reject: () => rejectCampaign(trx, row),
    versionsOf: (locked) => locked.version_ids,
  });
  const [shown] = await presentOperatorCampaign(trx, [changed], settings);
  return shown as OperatorView;
}
