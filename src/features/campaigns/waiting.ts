/** Why nothing of an active campaign is sent now. */
import type { LimitSettings } from '../../delivery/limits/authority.ts';
import { readCapacity } from '../../delivery/limits/capacity.ts';
import type { CampaignCounts } from '../../delivery/campaign-counts.ts';
import type { Queryable } from '../../platform/db/queryable.ts';
import type { CampaignRow } from './model.ts';
import type { CampaignProgress, WaitingReason } from './schema.ts';

type WaitingFor = CampaignProgress['waiting_for'];

const waiting = (reason: WaitingReason, until: Date | null = null): WaitingFor => ({
  reason,
  until: until?.toISOString() ?? null,
});

/** What the open blocks and the retries of a campaign wait for. */
interface Open {
  /** Blocks that a sender has, or could take now. */
  claimed: number;
  due: number;
  hold_reason: string | null;
  /** The first block that is due later, and whether a block waits for a decision. */
  next_due_at: Date | null;
  undecided: boolean;
  retries: number;
  next_retry_at: Date | null;
}

async function readOpen(db: Queryable, campaignId: number): Promise<Open> {
  const { rows } = await db.query<Open>(
    `select b.*, r.* from (
       select count(*) filter (where owner is not null) as claimed,
         count(*) filter (where owner is null and due_at <= now()) as due,
         min(hold_reason) filter (where owner is null and due_at <= now()) as hold_reason,
         min(due_at) filter (where owner is null and due_at > now() and due_at < 'infinity') as next_due_at,
         coalesce(bool_or(due_at = 'infinity'), false) as undecided
       from campaign_blocks where campaign_id = $1 and closed_at is null) b,
     (select count(*) as retries, min(due_at) filter (where due_at < 'infinity') as next_retry_at
       from (select due_at from send_queue where campaign_id = $1 limit 10000) q) r`,
    [campaignId],
  );
  return rows[0] as Open;
}

function ofSchedule(row: CampaignRow): WaitingFor {
  if (row.approval_state === 'pending') return waiting('approval');
  if (row.begin_at && row.begin_at.getTime() > Date.now()) return waiting('schedule', row.begin_at);
  return waiting('snapshot');
}

/** Blocks that wait for their time. */
function ofDueTimes({ options }: CampaignRow, open: Open): WaitingFor {
  if (open.next_due_at) {
    return waiting(options.send_at_local_time ? 'local_time' : 'throttle', open.next_due_at);
  }
  return open.undecided && options.ab ? waiting('ab_winner') : null;
}

/** Reads why nothing of a campaign is sent now. @returns null if it is sent, or is not active */
export async function waitingFor(
  db: Queryable,
  row: CampaignRow,
  counts: Pick<CampaignCounts, 'remaining'>,
  settings: LimitSettings,
): Promise<WaitingFor> {
  if (row.status !== 'active') return null;
  if (row.phase === 'waiting' || row.approval_state === 'pending') return ofSchedule(row);
  if (row.phase === 'snapshot' && row.next_block === 0) return waiting('snapshot');
  if (counts.remaining === 0) return null;
  const open = await readOpen(db, row.id);
  if (open.claimed > 0) return null;
  if (open.due > 0) {
    const { figures } = await readCapacity(db, row.account_id, settings);
    if (figures.allowance.remaining <= 0) return waiting('allowance', figures.allowance.resetsAt);
    return open.hold_reason === 'provider_unavailable' ? waiting('provider') : null;
  }
  if (row.phase === 'snapshot') return waiting('snapshot');
  return ofDueTimes(row, open) ?? (open.retries > 0 ? waiting('retries', open.next_retry_at) : null);
}
