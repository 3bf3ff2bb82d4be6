import { useState, type ReactNode } from 'react';
import type { Schemas } from '../../api/client.ts';
import { Field, TextArea } from '../../ui/field.tsx';
import { isObject, parseJson } from '../../ui/json-text.ts';

export type Filter = Schemas['Filter'];

/** A step that comes before the filters in its flow. */
export interface EarlierStep {
  /** Its id; the `ref` of a step that is not yet saved. */
  key: number | string;
  title: string;
  type: string;
}

export interface FilterBuilderProps {
  label: string;
  filters: readonly Filter[];
  onChange: (next: Filter[]) => void;
  /**
   * What the filters may name: `trigger` adds `trigger.<path>`; `step` adds what steps before it got, too; `received`
   * adds `received.<path>` as well.
   */
  scope: 'segment' | 'trigger' | 'step' | 'received';
  steps?: readonly EarlierStep[];
  /** What the API refused, by paths from the filters, such as `0.value`. */
  errors?: Readonly<Record<string, readonly string[]>>;
}

/** Edits filters, all of which must match. */
export function FilterBuilder({ label, filters, onChange, errors = {} }: FilterBuilderProps): ReactNode {
  const [text, setText] = useState(() => JSON.stringify(filters, null, 2));
  const parsed = parseJson(text);
  const change = (next: string) => {
    setText(next);
    const { value, fault } = { value: null, ...parseJson(next) };
    if (fault === undefined && Array.isArray(value) && value.every(isObject))
      onChange(value as unknown as Filter[]);
  };
  return (
    <Field label={label} error={parsed.fault ?? Object.values(errors).flat()}>
      <TextArea rows={8} className="mono" value={text} onChange={(event) => change(event.target.value)} />
    </Field>
  );
}
