/** The forms of steps with branches. */
import { FilterBuilder } from '../../../../editors/filters/filter-builder.tsx';
import type { EarlierStep } from '../../../../editors/filters/filter-context.ts';
import { Button } from '../../../../ui/button.tsx';
import { Field, Select } from '../../../../ui/field.tsx';
import { NumberInput } from '../../../../ui/number-input.tsx';
import { keyOf, type StepKey } from '../../flow-layout.ts';
import type { FlowContent, Step } from '../model.ts';
import { stepsBefore } from '../references.ts';
import { nameOf } from '../texts.ts';
import { DurationField } from './duration-field.tsx';
import { EventNameField } from './event-name-field.tsx';
import { allErrors, errorsBelow, type StepFormProps } from './form.ts';

const MAX_BRANCHES = 10;

const earlierSteps = (content: FlowContent, step: Step): EarlierStep[] =>
  stepsBefore(content.steps, keyOf(step)).map((each) => ({
    key: keyOf(each),
    title: nameOf(each),
    type: each.type,
  }));

type BuilderFilters = Parameters<typeof FilterBuilder>[0]['filters'];

function StepFilters({ step, change, errors, content, label }: StepFormProps & { label: string }) {
  return (
    <fieldset className="filters-of-step">
      <legend>{label}</legend>
      <FilterBuilder
        label={label}
        filters={(step.filters ?? []) as BuilderFilters}
        onChange={(filters) => change({ filters })}
        scope={step.type === 'wait_for_event' ? 'received' : 'step'}
        steps={earlierSteps(content, step)}
        errors={errorsBelow(errors, 'filters')}
      />
    </fieldset>
  );
}

export function ConditionForm(props: StepFormProps) {
  return (
    <>
      <p className="muted">Contacts who match all filters when they reach this step take the branch “yes”.</p>
      <StepFilters {...props} label="Filters" />
    </>
  );
}

const FROM_HERE = '';
const ENTRY = 'entry';

export function WaitForEventForm(props: StepFormProps) {
  const { step, change, errors, content } = props;
  const { include_since: since } = step;
  const given = typeof since === 'object' ? `step ${since.step}` : (since ?? FROM_HERE);
  const before = stepsBefore(content.steps, keyOf(step)).map((each) => ({
    key: keyOf(each),
    label: `also events since ${nameOf(each)}`,
  }));
  const choose = (value: string) => {
    const chosen = before.find(({ key }) => `step ${key}` === value)?.key;
    const next: 'entry' | { step: StepKey } | undefined =
      chosen === undefined ? (value === ENTRY ? ENTRY : undefined) : { step: chosen };
    change({ include_since: next });
  };
  return (
    <>
      <EventNameField
        label="Event"
        hint="If it arrives in time, the contact takes the branch “in time”."
        value={step.event_name ?? ''}
        error={errors.event_name}
        onChange={(name) => change({ event_name: name || undefined })}
      />
      <DurationField
        label="At most"
        value={step.duration ?? 0}
        error={errors.duration}
        onChange={(seconds) => change({ duration: seconds })}
      />
      <Field label="Which events count" error={allErrors(errors, 'include_since')}>
        <Select
          value={given}
          options={[
            { value: FROM_HERE, label: 'events from now on' },
            { value: ENTRY, label: 'also events since the entry' },
            ...before.map(({ key, label }) => ({ value: `step ${key}`, label })),
          ]}
          onChange={(event) => choose(event.target.value)}
        />
      </Field>
      <StepFilters {...props} label="Only events and contacts that match" />
    </>
  );
}

export function SplitForm({ step, change, errors }: StepFormProps) {
  const branches = step.branches ?? [];
  const sum = branches.reduce((total, { weight }) => total + weight, 0);
  const even = () => {
    const share = Math.floor(100 / branches.length);
    const rest = 100 - share * branches.length;
    change({
      branches: branches.map((branch, index) => ({ ...branch, weight: share + (index < rest ? 1 : 0) })),
    });
  };
  const set = (next: typeof branches) => change({ branches: next });
  return (
    <>
      <p className="muted">A contact always takes the same branch.</p>
      {branches.map((branch, index) => (
        // Branches have no ids.
        <Field
          key={index}
          label={`Branch ${index + 1}, in percent`}
          error={errors[`branches.${index}.weight`]}
        >
          <div className="with-unit">
            <NumberInput
              min={0}
              max={100}
              value={branch.weight}
              onChange={(weight) => set(branches.with(index, { ...branch, weight: weight ?? 0 }))}
            />
            <Button
              kind="quiet"
              disabled={branches.length <= 2}
              aria-label={`Remove branch ${index + 1}`}
              onClick={() => set(branches.toSpliced(index, 1))}
            >
              ✕
            </Button>
          </div>
        </Field>
      ))}
      {sum !== 100 && (
        <p className="field-error" role="alert">
          The total is {sum} %. It must be 100 %.
        </p>
      )}
      <div className="actions">
        <Button
          disabled={branches.length >= MAX_BRANCHES}
          onClick={() => set([...branches, { weight: 0, steps: [] }])}
        >
          Add a branch
        </Button>
        <Button onClick={even}>Share evenly</Button>
      </div>
    </>
  );
}
