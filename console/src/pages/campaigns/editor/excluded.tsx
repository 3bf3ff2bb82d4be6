import { type Choice, labelOf } from '../../../api/choices.ts';
import { Field, Select } from '../../../ui/field.tsx';

/** Several lists or segments: each can be taken away, and others added. */
export function Excluded({
  label,
  choices,
  ids,
  errors,
  onChange,
}: {
  label: string;
  choices: readonly Choice[];
  ids: readonly number[];
  errors: readonly string[];
  onChange: (ids: number[]) => void;
}) {
  const nameOf = (id: number) => labelOf(choices, id);
  const others = choices.filter(({ value }) => !ids.includes(Number(value)));
  return (
    <div className="stack">
      <Field label={label} error={errors}>
        <Select
          value=""
          options={[{ value: '', label: ids.length === 0 ? 'None' : 'Add another' }, ...others]}
          onChange={(event) => event.target.value !== '' && onChange([...ids, Number(event.target.value)])}
        />
      </Field>
      {ids.length > 0 && (
        <ul className="plain chips" aria-label={`${label}, chosen`}>
          {ids.map((id) => (
            <li key={id} className="filter-chip">
              {nameOf(id)}
              <button
                type="button"
                aria-label={`Remove ${nameOf(id)}`}
                onClick={() => onChange(ids.filter((each) => each !== id))}
              >
                ✕
              </button>
            </li>
          ))}
        </ul>
      )}
    </div>
  );
}
