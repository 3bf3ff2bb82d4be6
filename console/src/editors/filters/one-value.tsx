import { useAudienceNames } from '../../api/audience.ts';
import type { Choice } from '../../api/choices.ts';
import { CountryInput } from '../../ui/country-input.tsx';
import { Select, TextInput } from '../../ui/field.tsx';
import { NumberInput } from '../../ui/number-input.tsx';
import { isCountry, STATUSES } from './language.ts';
import type { Notes } from './name-choice.tsx';
import { textOf, type ValueType } from './values.ts';

interface InputProps {
  label: string;
  value: unknown;
  /** @param next null if nothing usable is typed */
  onChange: (next: unknown) => void;
  notes: Notes;
}

/** One value of a filter, typed or chosen. */
export function OneValue({ name, type, ...input }: InputProps & { name: string; type: ValueType }) {
  const { label, value, onChange, notes } = input;
  switch (type) {
    case 'number':
      return <NumberValue {...input} />;
    case 'time':
      return <TimeValue {...input} />;
    case 'boolean':
      return <BooleanValue {...input} />;
    case 'choice':
    case 'id':
      return <ChosenValue name={name} {...input} />;
    default:
      if (isCountry(name)) return <CountryValue {...input} />;
      return (
        <TextInput
          aria-label={label}
          className="filter-value"
          type={type === 'date' ? 'date' : 'text'}
          value={typeof value === 'string' ? value : ''}
          onChange={(event) => onChange(event.target.value === '' ? null : event.target.value)}
          {...notes}
        />
      );
  }
}

const CountryValue = ({ label, value, onChange, notes }: InputProps) => (
  <CountryInput
    aria-label={label}
    className="filter-value"
    placeholder="Germany, or DE"
    value={typeof value === 'string' ? value : ''}
    onChange={(code) => onChange(code === '' ? null : code)}
    {...notes}
  />
);

export function NumberValue({ label, value, onChange, notes, min }: InputProps & { min?: number }) {
  return (
    <NumberInput
      aria-label={label}
      className="filter-number"
      min={min}
      value={typeof value === 'number' ? value : null}
      onChange={onChange}
      {...notes}
    />
  );
}

/** @returns a moment in the form of an input, in the zone of the viewer */
function localText(value: unknown): string {
  const at = typeof value === 'string' ? new Date(value) : null;
  if (!at || Number.isNaN(at.getTime())) return '';
  const local = new Date(at.getTime() - at.getTimezoneOffset() * 60_000);
  return local.toISOString().slice(0, 'YYYY-MM-DDTHH:MM'.length);
}

function TimeValue({ label, value, onChange, notes }: InputProps) {
  return (
    <TextInput
      aria-label={label}
      className="filter-value"
      type="datetime-local"
      value={localText(value)}
      onChange={({ target }) => onChange(target.value === '' ? null : new Date(target.value).toISOString())}
      {...notes}
    />
  );
}

function BooleanValue({ label, value, onChange, notes }: InputProps) {
  return (
    <Select
      aria-label={label}
      value={typeof value === 'boolean' ? String(value) : ''}
      options={[{ value: '', label: 'Choose…' }, 'true', 'false']}
      onChange={({ target }) => onChange(target.value === '' ? null : target.value === 'true')}
      {...notes}
    />
  );
}

/** Returns what a name takes if that is a fixed set. Ids are numbers in filters. */
export function useChoices(name: string): {
  choices: readonly Choice[];
  toValue: (chosen: string) => unknown;
} {
  const { lists, segments } = useAudienceNames();
  const statuses = (STATUSES[name] ?? []).map((status) => ({
    value: status,
    label: status.replaceAll('_', ' '),
  }));
  if (name === 'list') return { choices: lists, toValue: Number };
  return name === 'segment' ? { choices: segments, toValue: Number } : { choices: statuses, toValue: String };
}

function ChosenValue({ name, label, value, onChange, notes }: InputProps & { name: string }) {
  const { choices, toValue } = useChoices(name);
  const given = textOf(value);
  const isKnown = given === '' || choices.some((choice) => choice.value === given);
  return (
    <Select
      aria-label={label}
      value={given}
      options={[
        { value: '', label: 'Choose…' },
        ...(isKnown ? [] : [{ value: given, label: `${name} ${given}` }]),
        ...choices,
      ]}
      onChange={({ target }) => onChange(target.value === '' ? null : toValue(target.value))}
      {...notes}
    />
  );
}
