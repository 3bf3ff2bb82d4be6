import { useId, useState } from 'react';
import { Checkbox, Field, Select, TextInput } from '../../../../ui/field.tsx';
import { useFilterNames } from '../../../../editors/filters/names.ts';
import { COLUMNS } from '../../../../editors/filters/language.ts';
import { DurationField } from './duration-field.tsx';
import type { StepFormProps } from './form.ts';

const DAY = 86_400;
const WEEKDAYS = ['Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday', 'Sunday'];

type Kind = 'duration' | 'time' | 'field';
type Until = Readonly<Record<string, unknown>>;

const KINDS: readonly { value: Kind; label: string }[] = [
  { value: 'duration', label: 'For a time' },
  { value: 'time', label: 'Until a time of day' },
  { value: 'field', label: 'Until a date of the contact' },
];

const START: Record<Kind, { duration?: number | undefined; until?: Record<string, unknown> | undefined }> = {
  duration: { duration: DAY, until: undefined },
  time: { duration: undefined, until: { time: '09:00', timezone: 'contact' } },
  field: { duration: undefined, until: { field: '', offset_seconds: 0 } },
};

const kindOf = (until: Until | undefined): Kind =>
  until === undefined ? 'duration' : 'field' in until ? 'field' : 'time';

export function WaitForm(props: StepFormProps) {
  const { step, change, errors } = props;
  const { until, duration = 0 } = step;
  const kind = kindOf(until);
  return (
    <>
      <Field label="Wait" error={errors.until}>
        <Select
          value={kind}
          options={KINDS}
          onChange={(event) => change(START[event.target.value as Kind])}
        />
      </Field>
      {kind === 'duration' && (
        <DurationField
          label="How long"
          value={duration}
          error={errors.duration}
          onChange={(seconds) => change({ duration: seconds })}
        />
      )}
      {until && kind === 'time' && <TimeOfDay {...props} until={until} />}
      {until && kind === 'field' && <DateOfContact {...props} until={until} />}
    </>
  );
}

type UntilProps = StepFormProps & { until: Until };

/** Changes one of the fields of `until`; undefined removes it. */
const changed = (until: Until, field: string, value: unknown): Record<string, unknown> =>
  Object.fromEntries(Object.entries({ ...until, [field]: value }).filter(([, each]) => each !== undefined));

function TimeOfDay({ until, change, errors }: UntilProps) {
  const set = (field: string, value: unknown) => change({ until: changed(until, field, value) });
  const days = Array.isArray(until.weekdays) ? until.weekdays.map(Number) : [];
  const toggle = (day: number) => {
    const next = days.includes(day)
      ? days.filter((each) => each !== day)
      : [...days, day].sort((a, b) => a - b);
    set('weekdays', next.length === 0 ? undefined : next);
  };
  const zone = typeof until.timezone === 'string' ? until.timezone : 'contact';
  return (
    <>
      <Field label="Time" error={errors['until.time']}>
        <TextInput
          type="time"
          value={typeof until.time === 'string' ? until.time : ''}
          onChange={(event) => set('time', event.target.value)}
        />
      </Field>
      <fieldset className="weekdays">
        <legend>On these days; on any day if none is chosen</legend>
        {WEEKDAYS.map((name, index) => (
          <Checkbox
            key={name}
            label={name}
            checked={days.includes(index + 1)}
            onChange={() => toggle(index + 1)}
          />
        ))}
      </fieldset>
      <Field label="Time zone" error={errors['until.timezone']}>
        <Select
          value={zone}
          options={[
            { value: 'contact', label: 'the time zone of the contact' },
            ...zones(zone).map((name) => ({ value: name, label: name })),
          ]}
          onChange={(event) => set('timezone', event.target.value)}
        />
      </Field>
    </>
  );
}

/** @param given is offered, too, in case the browser does not know it */
const zones = (given: string): string[] =>
  [...new Set([...Intl.supportedValuesOf('timeZone'), 'UTC', given])]
    .filter((name) => name !== 'contact')
    .sort();

const TIME_COLUMNS = Object.keys(COLUMNS).filter((name) => COLUMNS[name] === 'time');

function DateOfContact({ until, change, errors }: UntilProps) {
  const listId = useId();
  const { data } = useFilterNames();
  const dates = data
    .filter(({ types }) => types.includes('date') || types.includes('time'))
    .map(({ path }) => `data.${path}`);
  const set = (field: string, value: unknown) => change({ until: changed(until, field, value) });
  const offset = typeof until.offset_seconds === 'number' ? until.offset_seconds : 0;
  const [side, setSide] = useState(1);
  const sign = offset === 0 ? side : Math.sign(offset);
  return (
    <>
      <Field
        label="Date"
        hint="A key of the contact's data, such as data.trial_ends_at, or a column that has a time."
        error={errors['until.field']}
      >
        <TextInput
          list={listId}
          value={typeof until.field === 'string' ? until.field : ''}
          onChange={(event) => set('field', event.target.value)}
        />
      </Field>
      <datalist id={listId}>
        {[...dates, ...TIME_COLUMNS].map((name) => (
          <option key={name} value={name} />
        ))}
      </datalist>
      <DurationField
        label="Earlier or later by"
        value={Math.abs(offset)}
        error={errors['until.offset_seconds']}
        onChange={(seconds) => set('offset_seconds', sign * seconds)}
      />
      <Field label="Before or after the date">
        <Select
          value={sign < 0 ? 'before' : 'after'}
          options={[
            { value: 'before', label: 'before the date' },
            { value: 'after', label: 'after the date' },
          ]}
          onChange={(event) => {
            const next = event.target.value === 'before' ? -1 : 1;
            setSide(next);
            set('offset_seconds', next * Math.abs(offset));
          }}
        />
      </Field>
      <Field label="If there is no date, or it has passed" error={errors['until.if_past']}>
        <Select
          value={until.if_past === 'exit' ? 'exit' : 'continue'}
          options={[
            { value: 'continue', label: 'go on at once' },
            { value: 'exit', label: 'leave the flow' },
          ]}
          onChange={(event) => set('if_past', event.target.value)}
        />
      </Field>
      <Field
        label="If the value is not a date"
        hint="Such as 12-04-2022, which is a day in April or in December."
        error={errors['until.if_unreadable']}
      >
        <Select
          value={until.if_unreadable === 'continue' ? 'continue' : 'exit'}
          options={[
            { value: 'exit', label: 'leave the flow' },
            { value: 'continue', label: 'go on at once' },
          ]}
          onChange={(event) => set('if_unreadable', event.target.value)}
        />
      </Field>
    </>
  );
}
