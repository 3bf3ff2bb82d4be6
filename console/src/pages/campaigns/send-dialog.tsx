import { useState, type SubmitEvent } from 'react';
import { api, call } from '../../api/client.ts';
import { useAction } from '../../ui/action.ts';
import { Button } from '../../ui/button.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { Field, Select, TextInput } from '../../ui/field.tsx';
import { formText } from '../../ui/form.ts';
import { isPast, localText, PAST_TEXT, timeOf } from '../../ui/local-time.ts';
import { Notice } from '../../ui/notice.tsx';
import type { Campaign } from './campaign-frame.tsx';
import { useCheck } from './editor/check.ts';
import { editedCampaignOf } from './editor/content.ts';
import { SendSummary } from './editor/send-summary.tsx';

/** A change since the campaign was loaded stops the send, whether by someone else or by the same send before. */
const tagOf = ({ revision }: Pick<Campaign, 'revision'>) => ({ 'If-Match': `"${revision}"` });

/** Moves a campaign that waits to another time; without one, sends it at once. */
function sendAt(campaign: Campaign, scheduledAt: string | null): Promise<Campaign> {
  const params = { path: { id: campaign.id }, header: tagOf(campaign) };
  return call(() =>
    scheduledAt === null
      ? api.POST('/v1/my/campaigns/{id}/send', { params })
      : api.PATCH('/v1/my/campaigns/{id}', { params, body: { scheduled_at: scheduledAt } }),
  );
}

/** Asks when to send a campaign that waits, and shows everything that the check of the send finds. */
export function SendDialog({ campaign, onClose }: { campaign: Campaign; onClose: () => void }) {
  const [when, setWhen] = useState(campaign.scheduled_at === null ? 'now' : 'later');
  const [isLate, setLate] = useState(false);
  const content = editedCampaignOf(campaign);
  const { sender } = useCheck(campaign.id, content, 'waiting');
  const action = useAction({
    work: (scheduledAt: string | null) => sendAt(campaign, scheduledAt),
    done: (_, scheduledAt) =>
      scheduledAt === null ? 'The campaign is being sent.' : 'The campaign is scheduled.',
    refresh: ['campaigns'],
    fields: ['scheduled_at'],
    onDone: onClose,
  });
  const submit = (event: SubmitEvent<HTMLFormElement>) => {
    event.preventDefault();
    const at = timeOf(formText(new FormData(event.currentTarget), 'scheduled_at'));
    setLate(isPast(at));
    if (!isPast(at)) action.run(at);
  };
  return (
    <Dialog open onClose={onClose} title={`Send “${campaign.name}”`}>
      <form onSubmit={submit}>
        <SendSummary content={content} channel={campaign.channel} sender={sender} />
        <Field label="When">
          <Select
            value={when}
            onChange={(event) => setWhen(event.target.value)}
            options={[
              { value: 'now', label: 'Now' },
              { value: 'later', label: 'At a time' },
            ]}
          />
        </Field>
        {when === 'later' && (
          <Field
            label="Time"
            hint="In your own time zone."
            error={isLate ? PAST_TEXT : action.errorOf('scheduled_at')}
          >
            <TextInput
              name="scheduled_at"
              type="datetime-local"
              defaultValue={localText(campaign.scheduled_at)}
              required
            />
          </Field>
        )}
        {action.fault !== null && (
          <Notice tone="bad" title="The campaign was not sent">
            {action.fault}
          </Notice>
        )}
        <div className="actions">
          <Button type="submit" kind="primary" busy={action.busy}>
            {when === 'now' ? 'Send now' : 'Schedule'}
          </Button>
          <Button onClick={onClose}>Close</Button>
        </div>
      </form>
    </Dialog>
  );
}
