import { Field, TextArea, TextInput } from '../../ui/field.tsx';
import type { ContentEditorProps } from './content.ts';

/** Edits an email. */
export function LetterEditor({ value, onChange, errors = {} }: ContentEditorProps) {
  return (
    <div className="stack">
      <Field label="Subject" error={errors.subject}>
        <TextInput
          value={value.subject ?? ''}
          onChange={(event) => onChange({ ...value, subject: event.target.value })}
        />
      </Field>
      <Field label="Preheader" hint="Mail programs show it beside the subject." error={errors.preheader}>
        <TextInput
          value={value.preheader ?? ''}
          onChange={(event) => onChange({ ...value, preheader: event.target.value })}
        />
      </Field>
      <Field label="Body" hint="HTML, MJML or plain text. May contain Liquid." error={errors.body}>
        <TextArea
          className="mono"
          rows={16}
          spellCheck={false}
          value={value.body ?? ''}
          onChange={(event) => onChange({ ...value, body: event.target.value })}
        />
      </Field>
    </div>
  );
}
