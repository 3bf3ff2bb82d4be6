import { useAudienceNames } from '../../../api/audience.ts';
import { unsavedOf, useChecked } from '../../../editors/content/checked.ts';
import type { Content } from '../../../editors/content/content.ts';
import { DetailList } from '../../../ui/details.tsx';
import { Notice } from '../../../ui/notice.tsx';
import type { Campaign } from '../campaign-frame.tsx';
import { AudienceCount } from './audience-part.tsx';
import { audienceText, senderText } from './audience-text.ts';
import type { EditedCampaign } from './content.ts';

/** What is about to be sent, and to which recipients. @param props.sender null: the provider decides, or it is not known */
export function SendSummary({
  content: { trigger_attributes: audience, template_attributes: letter, data },
  channel,
  sender,
}: {
  content: EditedCampaign;
  channel: Campaign['channel'];
  sender: string | null;
}) {
  const names = useAudienceNames();
  const variants = data.options.ab?.variants.length ?? 0;
  const what = channel === 'email' ? letter.subject : letter.body;
  const warnings = useWarnings(letter, channel);
  return (
    <>
      <DetailList
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
      {warnings.length > 0 && (
        <Notice
          tone="warn"
          title={`${warnings.length} ${warnings.length === 1 ? 'thing' : 'things'} could be better`}
        >
          {[...new Set(warnings.map(({ text }) => text))].slice(0, SHOWN).join(' ')}
        </Notice>
      )}
    </>
  );
}

const SHOWN = 3;
const NO_ERRORS = {};

/** What the editor of the letter warns of, such as links that lead nowhere: a send does not refuse it. */
function useWarnings(value: Content, channel: Campaign['channel']) {
  const problems = useChecked(unsavedOf({ value, channel, footer: 'marketing' }), NO_ERRORS);
  return problems.filter(({ isError }) => !isError);
}
