import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { api, call, type Schemas } from '../../api/client.ts';
import { ProblemList } from '../../pages/templates/preview-panel.tsx';
import { useContactChoice } from '../../ui/contact-choice.tsx';
import { DetailList } from '../../ui/details.tsx';
import { QueryView } from '../../ui/query-view.tsx';
import { useSettled } from '../../ui/settled.ts';
import { type Unsaved, unsavedOf } from './checked.ts';
import type { ContentEditorProps } from './content.ts';
import { LiquidInput } from './liquid-input.tsx';
import { namesOf } from './liquid-value.ts';
import { SendUnsavedTest } from './send-test.tsx';
import { priceText, sizeHint, sizeText } from './sms-size.ts';

/** Writes the text of an SMS, and shows what a contact gets, how many segments it takes, and its price. */
export function SmsEditor(props: ContentEditorProps) {
  const { value, onChange, footer, names, errors = {} } = props;
  const { contactId, field } = useContactChoice('Show it for this contact');
  const body = value.body ?? '';
  const unsaved = useSettled(unsavedOf(props));
  return (
    <div className="stack">
      <LiquidInput
        label="Text"
        rows={6}
        names={namesOf({ footer, names, variables: value.variables })}
        value={body}
        error={errors.body}
        onChange={(next) => onChange({ ...value, body: next })}
      />
      {field}
      {(unsaved.body ?? '').trim() !== '' && (
        <Rendered asked={{ ...unsaved, ...(contactId === null ? {} : { contact_id: contactId }) }} />
      )}
      <div className="actions">
        <SendUnsavedTest value={value} unsaved={unsaved} contactId={contactId} />
      </div>
    </div>
  );
}

type Asked = Unsaved & { contact_id?: number };

/** The text as it is sent. */
function Rendered({ asked }: { asked: Asked }) {
  const query = useQuery({
    queryKey: ['content-render', asked],
    placeholderData: keepPreviousData,
    gcTime: 0,
    queryFn: ({ signal }) => call(() => api.POST('/v1/my/templates/render', { body: asked, signal })),
  });
  return (
    <QueryView query={query}>
      {({ text, sms, problems }) => (
        <>
          {text !== null && <p className="sms-text">{text}</p>}
          {sms && <Size sms={sms} isForContact={asked.contact_id !== undefined} />}
          <ProblemList problems={problems} design={null} />
        </>
      )}
    </QueryView>
  );
}

function Size({ sms, isForContact }: { sms: Schemas['SmsSize']; isForContact: boolean }) {
  const hint = sizeHint(sms);
  return (
    <div role="status">
      <DetailList
        items={[
          ['Length', sizeText(sms)],
          ['Price of a message', priceText(sms, isForContact)],
        ]}
      />
      {hint !== null && <p className="hint">{hint}</p>}
    </div>
  );
}
