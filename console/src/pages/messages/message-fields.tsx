import type { Schemas } from '../../api/client.ts';
import { useBrand } from '../../shell/brand.ts';
import type { FileOfMessage } from '../../ui/attached-files.ts';
import { Field, Select, TextArea, TextInput } from '../../ui/field.tsx';
import { isObject, parseJson } from '../../ui/json-text.ts';
import { localText, timeOf } from '../../ui/local-time.ts';
import { RecipientFields, recipientsIn, type TypedRecipients } from './recipient-fields.tsx';

export type Body = Schemas['EmailMessage'] | Schemas['SmsMessage'];

/** A message as it is typed. */
export interface Draft extends TypedRecipients {
  channel: Body['channel'];
  subject: string;
  text: string;
  /** ISO 8601; empty for at once. */
  sendAt: string;
}

const CHANNELS = [
  { value: 'email', label: 'Email' },
  { value: 'sms', label: 'SMS' },
];

/** Returns the request that sends the message. */
export function bodyOf(draft: Draft, attachments: FileOfMessage[]): Body {
  const { channel, to, subject, text, sendAt } = draft;
  const time = sendAt === '' ? {} : { scheduled_at: sendAt };
  if (channel === 'sms') return { channel, to, body: text, ...time };
  return {
    channel,
    ...recipientsIn(draft),
    subject,
    body: text,
    ...time,
    ...(attachments.length > 0 && { attachments }),
  };
}

/** @param text the JSON of a draft that an earlier visit has left. @returns `given` without one */
export function leftDraft(text: string | undefined, given: Draft): Draft {
  const parsed = parseJson(text ?? '');
  if (!('value' in parsed) || !isObject(parsed.value)) return given;
  const left = { ...given, ...parsed.value };
  const { channel, to, cc, bcc, subject, sendAt } = left;
  const isText = [to, cc, bcc, subject, left.text, sendAt].every((each) => typeof each === 'string');
  return isText && CHANNELS.some(({ value }) => value === channel) ? left : given;
}

/** All of a message but its files. */
export function MessageFields({
  draft,
  errors,
  onChange,
}: {
  draft: Draft;
  /** What the API says of the fields. */
  errors: Readonly<Record<string, readonly string[]>>;
  onChange: (changes: Partial<Draft>) => void;
}) {
  const { user } = useBrand().signedIn;
  const isEmail = draft.channel === 'email';
  return (
    <>
      <Field label="Channel">
        <Select
          value={draft.channel}
          options={CHANNELS}
          onChange={({ target }) =>
            onChange(
              target.value === 'sms'
                ? { channel: 'sms', to: user.mobile }
                : { channel: 'email', to: user.email },
            )
          }
        />
      </Field>
      {isEmail ? (
        <RecipientFields typed={draft} errors={errors} onChange={onChange} />
      ) : (
        <Field label="To" error={errors.to}>
          <TextInput value={draft.to} required onChange={({ target }) => onChange({ to: target.value })} />
        </Field>
      )}
      {isEmail && (
        <Field label="Subject" error={errors.subject}>
          <TextInput value={draft.subject} onChange={({ target }) => onChange({ subject: target.value })} />
        </Field>
      )}
      <Field label="Text" error={errors.body}>
        <TextArea value={draft.text} onChange={({ target }) => onChange({ text: target.value })} />
      </Field>
    </>
  );
}

/** When the message leaves. */
export const SendAtField = ({
  draft: { sendAt },
  error,
  onChange,
}: {
  draft: Draft;
  error: string | readonly string[] | undefined;
  onChange: (changes: Partial<Draft>) => void;
}) => (
  <Field
    label="Send at"
    hint="In your own time zone, at most 30 days ahead. If it is empty, the message leaves at once."
    error={error}
  >
    <TextInput
      type="datetime-local"
      value={localText(sendAt || null)}
      onChange={({ target }) => onChange({ sendAt: timeOf(target.value) ?? '' })}
    />
  </Field>
);
