import { useListChoices, useSegmentChoices } from '../../../api/audience.ts';
import { Facts } from '../../../ui/facts.tsx';
import type { Campaign } from '../campaign-frame.tsx';
import { AudienceCount } from './audience-part.tsx';
import { audienceText, senderText } from './audience-text.ts';
import type { DeskContent } from './content.ts';

/** What is about to be sent, and to whom, in words. @param props.sender null: the provider decides, or it is not known */
export function SendSummary({
  content: { trigger_attributes: audience, template_attributes: letter, data },
  channel,
  sender,
}: {
  content: DeskContent;
  channel: Campaign['channel'];
  sender: string | null;
}) {
  const names = { lists: useListChoices(), segments: useSegmentChoices() };
  const variants = data.options.ab?.variants.length ?? 0;
  const what = channel === 'email' ? letter.subject : letter.body;
  return (
    <Facts
      items={[
        [
          'To',
          <div key="to">
            <AudienceCount audience={audience} channel={channel} />
            <span>{audienceText(audience, names)}</span>
          </div>,
        ],
        ['From', sender === null ? null : senderText(sender)],
        [channel === 'email' ? 'Subject' : 'Text', what],
        ...(variants === 0 ? [] : [['A/B test', `${variants} variants`] as const]),
      ]}
    />
  );
}
