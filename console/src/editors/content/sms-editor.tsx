import { Field, TextArea } from '../../ui/field.tsx';
import type { ContentEditorProps } from './content.ts';

/** Writes the text of an SMS. */
export function SmsEditor({ value, onChange, errors }: ContentEditorProps) {
  return (
    <Field label="Text" error={errors?.body}>
      <TextArea
        value={value.body ?? ''}
        onChange={(event) => onChange({ ...value, body: event.target.value })}
      />
    </Field>
  );
}
