import { useId } from 'react';
import { useFilterNames } from '../../../../editors/filters/names.ts';
import { Field, TextInput } from '../../../../ui/field.tsx';

/** The name of an event, with the names that the brand has as suggestions. */
export function EventNameField({
  label,
  hint,
  value,
  onChange,
  error,
}: {
  label: string;
  hint?: string;
  value: string;
  onChange: (name: string) => void;
  error?: readonly string[] | undefined;
}) {
  const listId = useId();
  const { events } = useFilterNames();
  return (
    <>
      <Field label={label} hint={hint} error={error}>
        <TextInput list={listId} value={value} onChange={(event) => onChange(event.target.value)} />
      </Field>
      <datalist id={listId}>
        {events.map((name) => (
          <option key={name} value={name} />
        ))}
      </datalist>
    </>
  );
}
