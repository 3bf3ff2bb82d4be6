import { useCampaignChoices } from '../../api/audience.ts';
import { Select } from '../../ui/field.tsx';
import { isObject } from '../../ui/json-text.ts';
import { ENGAGEMENTS, PERIOD_UNITS, type Filter } from './language.ts';
import type { Notes } from './name-choice.tsx';
import { NumberValue } from './one-value.tsx';
import { type EarlierStep, useFilterContext } from './filter-context.ts';

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

/** How often something was done, and since when; for emails, also with which. */
export function ActivityEditor({
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
      <EmailChoice {...{ filter, value, onChange, notes }} />
      {!('step' in value || 'campaign_id' in value) && (
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

interface EmailOption {
  value: string;
  label: string;
  /** The fields of the filter's value that name the email. */
  named: Record<string, unknown>;
}

const ANY_EMAIL: EmailOption = { value: '', label: 'any email', named: {} };
const campaignOption = (id: number, label: string): EmailOption => ({
  ...{ value: `campaign ${id}`, label: `campaign ${label}` },
  named: { campaign_id: id },
});
const stepOption = (step: EarlierStep['key'], label: string): EmailOption => ({
  ...{ value: `step ${step}`, label },
  named: { step },
});

/** The emails that a filter can be about: those of campaigns, and in a flow those of earlier steps. */
function useEmailOptions(name: string): EmailOption[] {
  const { scope, steps } = useFilterContext();
  const campaigns = useCampaignChoices().map(({ value, label }) => campaignOption(Number(value), label));
  const takesStep = name !== 'email_sent' && (scope === 'step' || scope === 'received');
  const emails = takesStep ? steps.filter(({ type }) => type === 'email') : [];
  return [ANY_EMAIL, ...emails.map(({ key, title }) => stepOption(key, title)), ...campaigns];
}

/** The option of a filter; an extra one if what it names cannot be chosen. */
function givenOption(options: readonly EmailOption[], { step, campaign_id: id }: Record<string, unknown>) {
  const given =
    typeof step === 'number' || typeof step === 'string'
      ? stepOption(step, `the email of step ${step}, which does not come before this step`)
      : typeof id === 'number'
        ? campaignOption(id, String(id))
        : ANY_EMAIL;
  return options.find(({ value }) => value === given.value) ?? given;
}

/** Filters about emails can be about that of one campaign or, in a flow, that of an earlier step. */
function EmailChoice({ filter, value, onChange, notes }: ValueProps & { filter: Filter }) {
  const options = useEmailOptions(filter.name);
  const fields = fieldsOf(value);
  const given = givenOption(options, fields);
  if (!ENGAGEMENTS.some((each) => each === filter.name)) return null;
  if (options.length === 1 && given === ANY_EMAIL) return null;
  const choose = (chosen: string) => {
    const { step: _, campaign_id: __, at_least: ___, ...rest } = fields;
    onChange({ ...options.find((option) => option.value === chosen)?.named, ...rest });
  };
  return (
    <Select
      aria-label="Which email"
      value={given.value}
      options={options.includes(given) ? options : [...options, given]}
      onChange={(event) => choose(event.target.value)}
      {...notes}
    />
  );
}
