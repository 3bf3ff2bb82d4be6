import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { api, call, type Schemas } from '../../api/client.ts';
import { ProblemList } from '../../pages/templates/preview-panel.tsx';
import { useContactChoice } from '../../ui/contact-choice.tsx';
import { Facts } from '../../ui/facts.tsx';
import { Field, TextArea } from '../../ui/field.tsx';
import { QueryView } from '../../ui/query-view.tsx';
import { useSettled } from '../../ui/settled.ts';
import type { ContentEditorProps } from './content.ts';
import { priceText, sizeHint, sizeText } from './sms-size.ts';

/** Samples for names that only this place has: the last part of the name. */
const samplesOf = ({ value, names = [] }: Pick<ContentEditorProps, 'value' | 'names'>) => ({
  ...Object.fromEntries(names.map((name) => [name, name.split('.').at(-1)])),
  ...value.variables,
});

/** Writes the text of an SMS, and shows what a contact gets, how many segments it takes, and its price. */
export function SmsEditor({ value, onChange, footer, names = [], errors = {} }: ContentEditorProps) {
  const { contactId, field } = useContactChoice('As this contact gets it');
  const body = value.body ?? '';
  const asked = useSettled({
    channel: 'sms' as const,
    footer,
    body,
    variables: samplesOf({ value, names }),
    ...(contactId === null ? {} : { contact_id: contactId }),
  });
  return (
    <div className="stack">
      <Field label="Text" hint="May contain values, such as {{ contact.first_name }}." error={errors.body}>
        <TextArea
          rows={6}
          value={body}
          onChange={(event) => onChange({ ...value, body: event.target.value })}
        />
      </Field>
      {field}
      {asked.body.trim() !== '' && <Rendered asked={asked} />}
    </div>
  );
}

type Asked = Schemas['UnsavedContent'] & { variables: Record<string, unknown>; contact_id?: number };

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
          <ProblemList problems={problems} />
        </>
      )}
    </QueryView>
  );
}

function Size({ sms, isForContact }: { sms: Schemas['SmsSize']; isForContact: boolean }) {
  const hint = sizeHint(sms);
  return (
    <div role="status">
      <Facts
        items={[
          ['Length', sizeText(sms)],
          ['Price of a message', priceText(sms, isForContact)],
        ]}
      />
      {hint !== null && <p className="hint">{hint}</p>}
    </div>
  );
}
