import { Select } from '../../ui/field.tsx';
import { isObject } from '../../ui/json-text.ts';
import { PERIOD_UNITS, type Filter } from './language.ts';
import type { Notes } from './name-choice.tsx';
import { NumberValue } from './one-value.tsx';
import { usePlace } from './place.ts';

interface ValueProps {
  value: unknown;
  onChange: (value: unknown) => void;
  notes: Notes;
}

const USUAL_PERIOD = { count: 30, unit: 'days' };
const fieldsOf = (value: unknown): Record<string, unknown> => (isObject(value) ? value : {});
/** A filter has a period of whole units only. */
const wholeOf = (value: unknown) => (typeof value === 'number' && Number.isInteger(value) ? value : null);

/** A period: `{"count": 30, "unit": "days"}`. */
export function PeriodEditor({ value, onChange, notes }: ValueProps) {
  const period = isObject(value) ? value : { ...USUAL_PERIOD, count: null };
  return (
    <>
      <NumberValue
        label="Count"
        value={period.count}
        min={1}
        onChange={(count) => onChange({ ...period, count: wholeOf(count) })}
        notes={notes}
      />
      <Select
        aria-label="Unit"
        className="input filter-unit"
        value={String(period.unit)}
        options={PERIOD_UNITS}
        onChange={(event) => onChange({ ...period, unit: event.target.value })}
        {...notes}
      />
    </>
  );
}

/** How often something was done, and since when; for opens and clicks in a flow, also with which email. */
export function DeedEditor({
  filter,
  onChange,
  notes,
}: {
  filter: Filter;
  onChange: (value: unknown) => void;
  notes: Notes;
}) {
  const value = fieldsOf(filter.value);
  const { within, ...rest } = value;
  const { at_least: times = 1, ...once } = value;
  const isEver = within === undefined || within === null;
  return (
    <>
      <EmailChoice filter={filter} value={value} onChange={onChange} />
      {!('step' in value) && (
        <>
          <NumberValue
            label="Times, at least"
            value={times}
            min={1}
            // Null counts as once; it lets people clear the input before they type.
            onChange={(next) => onChange(next === 1 ? once : { ...value, at_least: wholeOf(next) })}
            notes={notes}
          />
          <span>{times === null || times === 1 ? 'time or more' : 'times or more'}</span>
        </>
      )}
      <Select
        aria-label="When"
        className="input filter-type"
        value={isEver ? 'ever' : 'within'}
        options={[
          { value: 'ever', label: 'ever' },
          { value: 'within', label: 'in the last' },
        ]}
        onChange={(event) =>
          onChange(event.target.value === 'ever' ? rest : { ...rest, within: USUAL_PERIOD })
        }
        {...notes}
      />
      {!isEver && (
        <PeriodEditor
          value={within}
          onChange={(period) => onChange({ ...rest, within: period })}
          notes={notes}
        />
      )}
    </>
  );
}

const ANY_EMAIL = '';

/** In a flow, opens and clicks can be those of the email of an earlier step. */
function EmailChoice({
  filter,
  value,
  onChange,
}: {
  filter: Filter;
  value: Record<string, unknown>;
  onChange: (value: unknown) => void;
}) {
  const { scope, steps } = usePlace();
  const emails = steps.filter(({ type }) => type === 'email');
  const given = 'step' in value ? String(value.step) : ANY_EMAIL;
  const takesStep = filter.name === 'email_opened' || filter.name === 'email_clicked';
  const hasSteps = scope === 'step' || scope === 'received';
  if (!takesStep || (given === ANY_EMAIL && (!hasSteps || emails.length === 0))) return null;
  const isKnown = given === ANY_EMAIL || emails.some(({ key }) => String(key) === given);
  const choose = (chosen: string) => {
    const { step: _, at_least: __, ...rest } = value;
    const step = emails.find(({ key }) => String(key) === chosen)?.key;
    onChange(step === undefined ? rest : { step, ...rest });
  };
  return (
    <Select
      aria-label="Which email"
      value={given}
      options={[
        { value: ANY_EMAIL, label: 'any email' },
        ...(isKnown ? [] : [{ value: given, label: `the email of step ${given}, which is not before this` }]),
        ...emails.map(({ key, title }) => ({ value: String(key), label: title })),
      ]}
      onChange={(event) => choose(event.target.value)}
    />
  );
}
