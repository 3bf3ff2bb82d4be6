/** Why a campaign sends nothing now, and why it was stopped, in words with what to do. */
import type { Schemas } from '../../api/client.ts';

type WaitingReason = NonNullable<Schemas['CampaignProgress']['waiting_for']>['reason'];
type StopReason = Schemas['CampaignStop']['reason'];

export const WAITING_TEXTS: Record<WaitingReason, string> = {
  schedule: 'It begins at its time.',
  approval: 'An operator has to approve it before it is sent.',
  snapshot: 'Its recipients are being selected.',
  throttle: 'It may send no faster: see its maximum per minute, and the pace of its sending domain.',
  local_time: 'Its next recipients get it at the same time in their own time zone.',
  ab_winner: 'The winner of its A/B test is not known yet.',
  retries: 'Messages that were refused for now are tried again.',
  allowance: 'The allowance of the account is used up, or its sending domain is being warmed up.',
  account_paused: 'The account is paused. The campaign continues when the account is resumed.',
  domain_unverified: 'Its sending domain has lost its verification. Check the records of the domain.',
  wallet: 'The wallet is empty. Fill it, then resume the campaign.',
  spend_cap: 'The spend cap is reached. Raise it, then resume the campaign.',
  sandbox: 'The sandbox has no messages left this month. Verify a domain of your own.',
  provider: 'No provider accepts its mail at the moment.',
};

export const STOP_TEXTS: Record<StopReason, string> = {
  bounce_rate: 'Too many addresses do not exist. Look at the bounced recipients before you resume it.',
  complaint_rate: 'Too many recipients reported it as spam. Look at the audience before you resume it.',
  rejected: 'An operator rejected it.',
  sender_not_verified: 'Its sender is not verified any more. Check the domain, then resume it.',
  sandbox_limit_reached: 'The sandbox has no messages left this month. Verify a domain of your own.',
  spend_cap_reached: 'It costs more than the account may spend. Raise the spend cap, then resume it.',
  insufficient_funds: 'It costs more than the wallet has. Fill the wallet, then resume it.',
  audience_deleted: 'A list or segment of its audience was deleted.',
};

const IN_PROGRESS: readonly Schemas['Campaign']['status'][] = ['active'];

/** Whether figures of the campaign may change by themselves, so that a page should ask again. */
export const isUnderWay = (campaign: Pick<Schemas['Campaign'], 'status'> | undefined): boolean =>
  campaign !== undefined && IN_PROGRESS.includes(campaign.status);

/** Whether a campaign can be sent at another time, or at once: while it is paused, or waits for its time. */
export function mayBeMoved(
  campaign: Pick<Schemas['Campaign'], 'status' | 'scheduled_at' | 'data'>,
  now = Date.now(),
): boolean {
  if (isBegun(campaign)) return false;
  const { status, scheduled_at: at } = campaign;
  return status === 'paused' || (status === 'active' && at !== null && Date.parse(at) > now);
}

/** Whether the service has begun to write recipients; before that, a cancel makes it a draft again. */
export const isBegun = ({ status, data }: Pick<Schemas['Campaign'], 'status' | 'data'>): boolean =>
  status !== 'draft' && data.progress.audience_count > 0;
