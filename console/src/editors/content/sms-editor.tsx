import { Field, TextArea } from '../../ui/field.tsx';

export interface SmsEditorProps {
  value: { body?: string | null } & Record<string, unknown>;
  onChange: (next: SmsEditorProps['value']) => void;
  channel: 'email' | 'sms';
  footer: 'none' | 'marketing';
  /** Names that only this place has, such as those of an event in a flow. */
  names?: readonly string[];
  /** What the API refused, by the field's path. */
  errors?: Record<string, readonly string[]>;
}

/** Writes the text of an SMS. */
export function SmsEditor({ value, onChange, errors }: SmsEditorProps) {
  return (
    <Field label="Text" error={errors?.body}>
      <TextArea
        value={value.body ?? ''}
        onChange={(event) => onChange({ ...value, body: event.target.value })}
      />
    </Field>
  );
}
