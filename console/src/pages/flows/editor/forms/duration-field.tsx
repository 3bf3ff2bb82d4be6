import { useId, useState } from 'react';
import { Field, Select } from '../../../../ui/field.tsx';
import { NumberInput } from '../../../../ui/number-input.tsx';

const UNITS = [
  { value: '1', label: 'seconds' },
  { value: '60', label: 'minutes' },
  { value: '3600', label: 'hours' },
  { value: '86400', label: 'days' },
  { value: '604800', label: 'weeks' },
] as const;

const LARGEST_FIRST = UNITS.map(({ value }) => Number(value)).toReversed();
const HOUR = 3_600;

/** The largest unit that divides the period evenly. */
const unitOf = (seconds: number): number =>
  seconds === 0 ? HOUR : (LARGEST_FIRST.find((size) => size <= seconds && seconds % size === 0) ?? 1);

/** A period in seconds, as a number of units. */
export function DurationField({
  label,
  value,
  onChange,
  error,
}: {
  label: string;
  value: number;
  onChange: (seconds: number) => void;
  error?: readonly string[] | undefined;
}) {
  const unitId = useId();
  const [unit, setUnit] = useState(() => unitOf(value));
  // Undoing may bring back a period that has no whole number of the unit.
  const shownUnit = value % unit === 0 ? unit : unitOf(value);
  return (
    <Field label={label} error={error}>
      <div className="with-unit">
        <NumberInput
          min={0}
          value={value === 0 ? null : value / shownUnit}
          onChange={(count) => onChange(Math.round((count ?? 0) * shownUnit))}
        />
        <Select
          id={unitId}
          aria-label={`${label}: unit`}
          value={String(shownUnit)}
          options={UNITS}
          onChange={(event) => {
            const next = Number(event.target.value);
            setUnit(next);
            onChange(Math.round((value / shownUnit) * next));
          }}
        />
      </div>
    </Field>
  );
}
