import { useId, useState } from 'react';
import { labelOf } from '../../api/choices.ts';
import { Button } from '../../ui/button.tsx';
import { codeOfCountry, countryName } from '../../ui/countries.ts';
import { CountryList } from '../../ui/country-input.tsx';
import { Select, TextInput } from '../../ui/field.tsx';
import { isCountry } from './language.ts';
import type { Notes } from './name-choice.tsx';
import { useChoices } from './one-value.tsx';
import { asType, type ValueType } from './values.ts';

interface ManyProps {
  name: string;
  type: ValueType;
  values: unknown;
  onChange: (next: readonly unknown[]) => void;
  notes: Notes;
}

/** The values of `in` and `not_in`: each with a button that removes it, and an input for the next. */
export function ManyValues({ name, type, values, onChange, notes }: ManyProps) {
  const given: readonly unknown[] = Array.isArray(values) ? values : [];
  const { choices, toValue } = useChoices(name);
  const isChosen = type === 'choice' || type === 'id';
  const otherName = (value: unknown) =>
    (isCountry(name) ? countryName(String(value)) : null) ??
    (type === 'id' ? `${name} ${String(value)}` : String(value));
  const nameOf = (value: unknown) => labelOf(choices, value, otherName(value));
  const add = (more: readonly unknown[]) => onChange([...new Set([...given, ...more])]);
  return (
    <div className="filter-many">
      {given.map((value) => (
        <span className="filter-chip" key={`${typeof value} ${String(value)}`}>
          {nameOf(value)}
          <button
            type="button"
            aria-label={`Remove ${nameOf(value)}`}
            onClick={() => onChange(given.filter((each) => each !== value))}
          >
            ✕
          </button>
        </span>
      ))}
      {isChosen ? (
        <Select
          aria-label="Add a value"
          value=""
          options={[
            { value: '', label: 'Add…' },
            ...choices.filter(({ value }) => !given.some((each) => String(each) === value)),
          ]}
          onChange={({ target }) => target.value !== '' && add([toValue(target.value)])}
          {...notes}
        />
      ) : (
        <NextValue takesCountries={isCountry(name)} type={type} onAdd={add} notes={notes} />
      )}
    </div>
  );
}

/** Takes a value with Enter, with its button, or when the input loses the focus; pasted lines are a value each. */
function NextValue({
  takesCountries,
  type,
  onAdd,
  notes,
}: {
  takesCountries: boolean;
  type: ValueType;
  onAdd: (values: readonly unknown[]) => void;
  notes: Notes;
}) {
  const listId = useId();
  const [text, setText] = useState('');
  const valueOf = (line: string) => {
    if (type === 'boolean') return line === 'true';
    return takesCountries ? codeOfCountry(line) : asType(line, type);
  };
  const take = (lines: readonly string[]) => {
    const typed = lines.map((line) => line.trim()).filter((line) => line !== '');
    const values = typed.map(valueOf);
    const usable = values.filter((value) => value !== null);
    if (usable.length > 0) onAdd(usable);
    // A country that is not found can be corrected.
    setText(takesCountries ? typed.filter((_, index) => values[index] === null).join(', ') : '');
  };
  if (type === 'boolean') {
    return (
      <Select
        aria-label="Add a value"
        value=""
        options={[{ value: '', label: 'Add…' }, 'true', 'false']}
        onChange={({ target }) => take([target.value])}
        {...notes}
      />
    );
  }
  return (
    <>
      <TextInput
        aria-label="Add a value"
        className="filter-value"
        inputMode={type === 'number' ? 'decimal' : 'text'}
        value={text}
        list={takesCountries ? listId : undefined}
        onChange={(event) => setText(event.target.value)}
        onBlur={() => take([text])}
        onKeyDown={(event) => {
          if (event.key !== 'Enter') return;
          event.preventDefault();
          take([text]);
        }}
        onPaste={(event) => {
          const lines = event.clipboardData.getData('text').split(/\r?\n/);
          if (lines.length < 2) return;
          event.preventDefault();
          take(lines);
        }}
        {...notes}
      />
      {takesCountries && <CountryList id={listId} />}
      <Button onClick={() => take([text])} disabled={text.trim() === ''}>
        Add
      </Button>
    </>
  );
}
