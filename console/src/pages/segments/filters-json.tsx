import { useState } from 'react';
import { Field, TextArea } from '../../ui/field.tsx';
import { isObject, parseJson } from '../../ui/json-text.ts';
import type { Filters } from './preview.ts';

const NOT_FILTERS = 'This must be a JSON array of filters.';

/** The API checks the filters themselves; here they only have to be a list of objects. */
function parseFilters(text: string): { filters: Filters; fault: null } | { filters: null; fault: string } {
  const parsed = parseJson(text);
  if (parsed.fault !== undefined) return { filters: null, fault: parsed.fault };
  const { value } = parsed;
  const isList = Array.isArray(value) && value.every(isObject);
  return isList
    ? { filters: value as unknown as Filters, fault: null }
    : { filters: null, fault: NOT_FILTERS };
}

/** Filters as the API takes them. What is not JSON changes nothing. */
export function FiltersJson({
  filters,
  onChange,
  errors,
}: {
  filters: Filters;
  onChange: (next: Filters) => void;
  errors: Readonly<Record<string, readonly string[]>>;
}) {
  const given = JSON.stringify(filters);
  // What is typed, and the filters it is about; others came from outside, such as by an undo.
  const [own, setOwn] = useState({ text: '', of: '' });
  const text = own.of === given ? own.text : JSON.stringify(filters, null, 2);
  const { fault } = parseFilters(text);
  const refused = Object.entries(errors).map(([path, texts]) =>
    `${path}: ${texts.join(' ')}`.replace(/^: /, ''),
  );
  return (
    <Field
      label="Filters as JSON"
      hint={
        <>
          As <a href="/docs">the API</a> takes them. A contact must match all of them.
        </>
      }
      error={fault === null ? refused : fault}
    >
      <TextArea
        rows={16}
        spellCheck={false}
        className="mono"
        value={text}
        onChange={({ target }) => {
          const parsed = parseFilters(target.value);
          setOwn({ text: target.value, of: parsed.filters ? JSON.stringify(parsed.filters) : given });
          if (parsed.filters) onChange(parsed.filters);
        }}
      />
    </Field>
  );
}
