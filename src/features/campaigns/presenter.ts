import { campaignCounts, type CampaignCounts, countsOfLastLook, NO_RECIPIENTS } from './campaign-counts.ts';
import type { LimitSettings } from '../../delivery/ledger/limits/authority.ts';
import type { Copied } from '../../platform/input/read-only.ts';
import type { Queryable } from '../../platform/db/queryable.ts';
import { presentContent, presentContents } from './content.ts';
import { filtersOf } from './audience.ts';
import type { CampaignRow } from './model.ts';
import { waitingOf } from './run/waiting.ts';
import type { Campaign, CampaignFields, CampaignProgress, CampaignSummary } from './schema.ts';

const iso = (time: Date | null) => time?.toISOString() ?? null;

/**
 * A key `filters` without effect has another name: shown as `filters`, it would take effect as soon as a client sends
 * the data back.
 */
function presentTriggerData(row: CampaignRow): Record<string, unknown> {
  const { filters, ...others } = row.trigger_data;
  if (filters === undefined) return others;
  const isInert = Array.isArray(filters) && filters.length === 0 ? false : filtersOf(row) === null;
  return isInert ? { ...others, inert_filters: filters } : row.trigger_data;
}

function presentTrigger(row: CampaignRow): CampaignFields['trigger'] {
  return {
    // A campaign has one trigger, which is part of its row.
    id: row.id,
    flow_id: null,
    segment_id: row.segment_id,
    contact_list_id: row.contact_list_id,
    triggered_count: row.triggered_count,
    event: row.trigger_event,
    data: presentTriggerData(row),
    last_triggered_at: iso(row.last_triggered_at),
    created_at: row.trigger_created_at.toISOString(),
    updated_at: row.trigger_updated_at.toISOString(),
  };
}

function presentFields(
  row: CampaignRow,
  counts: CampaignCounts,
  waiting: CampaignProgress['waiting_for'],
): CampaignFields {
  return {
    id: row.id,
    account_id: row.account_id,
    status: row.status,
    approval_state: row.approval_state,
    channel: row.channel,
    name: row.name,
    data: {
      ...row.data,
      options: row.options,
      progress: {
        audience_count: counts.audience,
        sent_count: counts.sent,
        failed_count: counts.failed,
        skipped_count: counts.skipped,
        unknown_count: counts.unknown,
        canceled_count: counts.canceled,
        remaining_count: counts.remaining,
        waiting_for: waiting,
      },
      outcome: row.outcome,
      stop: row.stop,
    },
    scheduled_at: iso(row.scheduled_at),
    sent_count: counts.sent,
    revision: row.revision,
    created_at: row.created_at.toISOString(),
    updated_at: row.updated_at.toISOString(),
    trigger: presentTrigger(row),
  };
}

/**
 * Presents campaigns without their content.
 * @param count reads the counts of campaigns with recipients; by default the stored ones
 */
export async function presentCampaigns(
  db: Queryable,
  rows: readonly CampaignRow[],
  settings: LimitSettings,
  count: typeof campaignCounts = countsOfLastLook,
): Promise<CampaignFields[]> {
  const begun = rows.filter(({ phase }) => phase !== 'draft' && phase !== 'waiting').map(({ id }) => id);
  const counted = begun.length > 0 ? await count(db, begun) : new Map<number, CampaignCounts>();
  const countsOf = ({ id }: CampaignRow) => counted.get(id) ?? NO_RECIPIENTS;
  const unfinished = rows.filter((row) => row.phase !== 'sending' || countsOf(row).remaining > 0);
  const waiting = await waitingOf(db, unfinished, { settings, asOf: new Date() });
  return rows.map((row) => {
    const found = waiting.get(row.id) ?? null;
    return presentFields(row, countsOf(row), found && { reason: found.reason, until: iso(found.until) });
  });
}

/**
 * Presents a list of campaigns of one brand, in the given order, with their stored counts.
 * @param summary whether bodies are left out
 */
export async function presentListed(
  db: Queryable,
  rows: readonly CampaignRow[],
  settings: LimitSettings,
  summary: boolean,
): Promise<CampaignSummary[]> {
  const contents = await presentContents(db, rows, summary);
  const shown = await presentCampaigns(db, rows, settings);
  return shown.map((fields, n) => ({ ...fields, ...(contents[n] as (typeof contents)[number]) }));
}

/** Presents a campaign with its content. */
export async function presentCampaign(
  db: Queryable,
  row: CampaignRow,
  settings: LimitSettings,
): Promise<Campaign> {
  const [fields] = await presentCampaigns(db, [row], settings, campaignCounts);
  return { ...(fields as CampaignFields), ...(await presentContent(db, row)) };
}

/** Refuses edits of what only `trigger_attributes` and `template_attributes` change. @throws AppError validation_error */
export async function requireCopy(db: Queryable, row: CampaignRow, copied: Copied): Promise<void> {
  if (copied.names.length === 0) return;
  const content = copied.names.some((name) => name !== 'trigger') ? await presentContent(db, row) : {};
  copied.requireUnchanged({ trigger: presentTrigger(row), ...content });
}
