import { useEffect, useState } from 'react';
import { api, call } from '../../../api/client.ts';
import { DraftBar } from '../../../editors/draft/draft-bar.tsx';
import { useDraft } from '../../../editors/draft/use-draft.ts';
import { useAction } from '../../../ui/action.ts';
import { DetailList, Time } from '../../../ui/details.tsx';
import { Field, TextInput } from '../../../ui/field.tsx';
import { isPast, PAST_TEXT } from '../../../ui/local-time.ts';
import { Notice } from '../../../ui/notice.tsx';
import type { Campaign } from '../campaign-frame.tsx';
import type { UnpublishedChanges } from '../unpublished-changes.ts';
import { AudienceCount, AudiencePart } from './audience-part.tsx';
import { type FieldErrors, useCheck, withoutIncomplete, withoutMissing } from './check.ts';
import { editedCampaignOf, patchOf, type EditedCampaign, type Stage } from './content.ts';
import { LetterPart } from './letter-part.tsx';
import { campaignForm } from './read-draft.ts';
import { SendPart } from './send-part.tsx';
import { SendingPart } from './sending-part.tsx';

const publishedOf = (campaign: Campaign) => ({
  content: editedCampaignOf(campaign),
  etag: `"${campaign.revision}"`,
  at: campaign.updated_at,
});

/** Edits a campaign: its audience, its content, when it is sent, and what is still missing. */
export function CampaignEditor({
  campaign,
  stage,
  onChanges,
}: {
  campaign: Campaign;
  stage: Stage;
  /** Receives whether there are changes that are not saved as the campaign; null when the editor is closed. */
  onChanges: (changes: UnpublishedChanges | null) => void;
}) {
  const { id, channel } = campaign;
  const draft = useDraft({ kind: 'campaigns', id }, publishedOf(campaign), campaignForm);
  const { content } = draft;
  const changes = draft.state === 'published' ? 'none' : 'some';
  useEffect(() => {
    onChanges(changes);
    return () => onChanges(null);
  }, [changes, onChanges]);
  const checked = useCheck(id, content, stage);
  // A new time each time, so that a time that has passed meanwhile is shown at its field.
  const [askedAt, setAskedAt] = useState<number | null>(null);
  const publish = useAction({
    work: (status: 'active' | null) =>
      draft.publish(
        async (sent, etag) =>
          publishedOf(
            await call(() =>
              api.PATCH('/v1/my/campaigns/{id}', {
                params: { path: { id }, header: { 'If-Match': etag } },
                body: { ...patchOf(sent, stage), ...(status === null ? {} : { status }) },
              }),
            ),
          ),
        content,
      ),
    done: (_, status) => doneText(status, content.scheduled_at),
    refresh: ['campaigns'],
    fields: [],
  });
  const refused: FieldErrors = checked.isCurrent ? {} : publish.errors;
  const late: FieldErrors =
    stage !== 'begun' && isPast(content.scheduled_at) ? { scheduled_at: [PAST_TEXT] } : {};
  const all = withoutIncomplete({ ...refused, ...checked.errors, ...late }, content);
  const errors = askedAt !== null ? all : withoutMissing(all);
  const change = (part: Partial<EditedCampaign>) => draft.change((before) => ({ ...before, ...part }));
  return (
    <>
      <DraftBar
        draft={draft}
        publishLabel="Save"
        publishedText="Everything is saved."
        busy={publish.busy}
        onPublish={() => publish.run(null)}
        showVersion={(version) => <Version content={version} channel={channel} />}
      />
      {publish.fault !== null && (
        <Notice tone="bad" title="The campaign was not changed">
          {publish.fault}
        </Notice>
      )}
      <Field label="Name" hint="Recipients do not see it." error={all.name}>
        <TextInput value={content.name} onChange={(event) => change({ name: event.target.value })} />
      </Field>
      {stage !== 'begun' && (
        <AudiencePart
          audience={content.trigger_attributes}
          {...{ channel, errors }}
          onChange={(audience) => change({ trigger_attributes: audience })}
        />
      )}
      <LetterPart
        letter={content.template_attributes}
        {...{ channel, errors }}
        sender={checked.sender}
        isSenderFixed={stage === 'begun'}
        onChange={(letter) => change({ template_attributes: letter })}
      />
      {stage !== 'begun' && <SendingPart {...{ content, channel, errors, change }} />}
      {stage !== 'begun' && (
        <SendPart
          {...{ campaign, draft, checked }}
          errors={all}
          busy={publish.busy}
          onAsked={() => setAskedAt(Date.now())}
          onSend={stage === 'draft' ? () => publish.run('active') : null}
        />
      )}
    </>
  );
}

function doneText(status: 'active' | null, at: string | null): string {
  if (status === null) return 'The campaign is saved.';
  return at !== null && Date.parse(at) > Date.now()
    ? 'The campaign is scheduled.'
    : 'The campaign is being sent.';
}

/** One of two versions that someone has to choose from. */
function Version({ content, channel }: { content: EditedCampaign; channel: Campaign['channel'] }) {
  const { name, scheduled_at: at, template_attributes: letter, trigger_attributes: audience } = content;
  return (
    <>
      <DetailList
        items={[
          ['Name', name],
          ['Subject', letter.subject],
          ['Begins at', at && <Time key="at" at={at} full />],
          ['Sections', letter.design?.sections.length],
          ['Text', letter.body],
        ]}
      />
      <AudienceCount audience={audience} channel={channel} />
    </>
  );
}
