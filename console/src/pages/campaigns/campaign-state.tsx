import type { Schemas } from '../../api/client.ts';
import { Progress, Time } from '../../ui/details.tsx';
import { Notice } from '../../ui/notice.tsx';
import { shareText } from '../../ui/details.tsx';
import { STOP_TEXTS, WAITING_TEXTS } from './waiting.ts';

type Campaign = Pick<Schemas['Campaign'], 'status' | 'scheduled_at' | 'data'>;

/** How many recipients are done, no matter how their messages ended. */
export function CampaignProgress({ campaign }: { campaign: Pick<Schemas['Campaign'], 'name' | 'data'> }) {
  const { audience_count: audience, remaining_count: remaining } = campaign.data.progress;
  return <Progress done={audience - remaining} total={audience} label={`Progress of ${campaign.name}`} />;
}

/** Says what a campaign waits for, or why it was stopped. */
export function CampaignState({ campaign }: { campaign: Campaign }) {
  const { stop, progress } = campaign.data;
  const waiting = campaign.status === 'active' ? progress.waiting_for : null;
  return (
    <>
      {stop && campaign.status === 'paused' && (
        <Notice tone="bad" title={`Paused by the service: ${stop.reason.replaceAll('_', ' ')}`}>
          <p>{STOP_TEXTS[stop.reason]}</p>
          {stop.rate !== null && stop.threshold !== null && (
            <p>
              {shareText(stop.rate, 1)} of its messages; {shareText(stop.threshold, 1)} are allowed.
            </p>
          )}
          <p className="muted">
            <Time at={stop.at} />
          </p>
        </Notice>
      )}
      {waiting && (
        <Notice tone="busy" title={`Waiting: ${waiting.reason.replaceAll('_', ' ')}`}>
          <p>{WAITING_TEXTS[waiting.reason]}</p>
          {waiting.until !== null && (
            <p>
              Until <Time at={waiting.until} full /> (<Time at={waiting.until} />)
            </p>
          )}
        </Notice>
      )}
    </>
  );
}
