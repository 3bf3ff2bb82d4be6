import { useState } from 'react';
import { Select } from '../../ui/field.tsx';
import { ActivityEditor, PeriodEditor } from './activity-editor.tsx';
import { stemOf, type Filter, type NameKind } from './language.ts';
import { ManyValues } from './many-values.tsx';
import type { Notes } from './name-choice.tsx';
import { useFilterNames } from './names.ts';
import { OneValue } from './one-value.tsx';
import { asType, shapeOf, typeOfAll, type ValueType } from './values.ts';

const TYPE_LABELS: Record<ValueType, string> = {
  text: 'text',
  number: 'number',
  boolean: 'true or false',
  date: 'date',
  time: 'date and time',
  choice: 'choice',
  id: 'id',
};

interface EditorProps {
  filter: Filter;
  kind: NameKind;
  onChange: (next: Filter) => void;
  notes: Notes;
}

/** The inputs for the value of a filter; none if its predicate takes no value. */
export function ValueEditor({ filter, kind, onChange, notes }: EditorProps) {
  const { form, types } = shapeOf(kind, filter.predicate);
  const change = (value: unknown) => onChange({ ...filter, value });
  if (form === 'none') return null;
  if (form === 'period') return <PeriodEditor value={filter.value} onChange={change} notes={notes} />;
  if (form === 'activity') return <ActivityEditor filter={filter} onChange={change} notes={notes} />;
  return <TypedValues filter={filter} form={form} types={types} onChange={change} notes={notes} />;
}

/** Returns the type that values of a name have most likely, among those that fit. */
function useLikelyType(name: string, types: readonly ValueType[]): ValueType | undefined {
  const { data } = useFilterNames();
  const ofData: readonly ValueType[] = data.find(({ path }) => name === `data.${path}`)?.types ?? [];
  const known = name === `${stemOf(name)}status` && name.startsWith('step.') ? ['number'] : ofData;
  return types.find((type) => known.includes(type));
}

/** One, two or many values of one type, which can be chosen where a name takes several. */
function TypedValues({
  filter,
  form,
  types,
  onChange,
  notes,
}: {
  filter: Filter;
  form: 'one' | 'two' | 'many';
  types: readonly ValueType[];
  onChange: (value: unknown) => void;
  notes: Notes;
}) {
  const { name, value } = filter;
  const likely = useLikelyType(name, types);
  const [chosen, setChosen] = useState<ValueType | null>(null);
  const given: readonly unknown[] = Array.isArray(value) ? value : [value];
  const wanted = chosen !== null && types.includes(chosen) ? chosen : likely;
  const type = typeOfAll(given, types) ?? wanted ?? types[0] ?? 'text';
  const retype = (next: ValueType) => {
    setChosen(next);
    const converted = given.map((each) => asType(each, next));
    if (form === 'one') onChange(converted[0]);
    else onChange(form === 'many' ? converted.filter((each) => each !== null) : converted);
  };
  const [low, high] = given;
  return (
    <>
      {types.length > 1 && (
        <Select
          aria-label="Type"
          className="input filter-type"
          value={type}
          options={types.map((each) => ({ value: each, label: TYPE_LABELS[each] }))}
          onChange={(event) => retype(event.target.value as ValueType)}
        />
      )}
      {form === 'one' && (
        <OneValue label="Value" name={name} type={type} value={value} onChange={onChange} notes={notes} />
      )}
      {form === 'many' && (
        <ManyValues name={name} type={type} values={value} onChange={onChange} notes={notes} />
      )}
      {form === 'two' && (
        <>
          <OneValue
            label="From"
            name={name}
            type={type}
            value={low}
            onChange={(next) => onChange([next, high ?? null])}
            notes={notes}
          />
          <span>and</span>
          <OneValue
            label="To"
            name={name}
            type={type}
            value={high}
            onChange={(next) => onChange([low ?? null, next])}
            notes={notes}
          />
        </>
      )}
    </>
  );
}
