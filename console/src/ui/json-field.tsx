import { useState } from 'react';
import { Field, TextArea } from './field.tsx';
import { parseJson } from './json-text.ts';

const textOf = (value: unknown) => (value === undefined ? '' : JSON.stringify(value, null, 2));

/**
 * A value as JSON. A text that is not JSON changes nothing yet, and a form around it does not submit.
 * @param props.empty what an empty text means; by default no value
 * @param props.refuses says why a value cannot be used; null if it can
 */
export function JsonField({
  label,
  hint,
  value,
  onChange,
  empty,
  refuses = () => null,
  error = [],
}: {
  label: string;
  hint?: string;
  value: unknown;
  onChange: (value: unknown) => void;
  empty?: unknown;
  refuses?: (value: unknown) => string | null;
  error?: readonly string[] | undefined;
}) {
  const [text, setText] = useState(() => textOf(value));
  const read = (typed: string): { value: unknown; fault?: undefined } | { fault: string } => {
    const parsed = typed.trim() === '' ? { value: empty } : parseJson(typed);
    const refusal = 'value' in parsed ? refuses(parsed.value) : null;
    return refusal === null ? parsed : { fault: refusal };
  };
  const typed = read(text);
  const isCurrent = typed.fault !== undefined || textOf(typed.value) === textOf(value);
  return (
    <Field label={label} hint={hint} error={typed.fault ?? error}>
      <TextArea
        className="mono"
        rows={6}
        spellCheck={false}
        value={isCurrent ? text : textOf(value)}
        ref={(area) => area?.setCustomValidity(typed.fault ?? '')}
        onChange={({ target }) => {
          setText(target.value);
          const next = read(target.value);
          if (next.fault === undefined) onChange(next.value);
        }}
      />
    </Field>
  );
}
