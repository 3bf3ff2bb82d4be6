import { useState } from 'react';
import { Field, TextArea } from '../../../../ui/field.tsx';
import { parseJson } from '../../../../ui/json-text.ts';

const textOf = (value: unknown) => (value === undefined ? '' : JSON.stringify(value, null, 2));

/** A value as JSON. An empty text is no value; a text that is not JSON changes nothing yet. */
export function JsonField({
  label,
  hint,
  value,
  onChange,
  error = [],
}: {
  label: string;
  hint?: string;
  value: unknown;
  onChange: (value: unknown) => void;
  error?: readonly string[] | undefined;
}) {
  const [text, setText] = useState(() => textOf(value));
  const parsed = text.trim() === '' ? { value: undefined } : parseJson(text);
  const isCurrent = parsed.fault !== undefined || textOf(parsed.value) === textOf(value);
  return (
    <Field label={label} hint={hint} error={parsed.fault ?? error}>
      <TextArea
        className="mono"
        rows={6}
        spellCheck={false}
        value={isCurrent ? text : textOf(value)}
        onChange={({ target }) => {
          setText(target.value);
          const next = target.value.trim() === '' ? { value: undefined } : parseJson(target.value);
          if (next.fault === undefined) onChange(next.value);
        }}
      />
    </Field>
  );
}
