import { useState } from 'react';
import type { AudienceNames } from '../../../api/choices.ts';
import { FilterBuilder } from '../../../editors/filters/filter-builder.tsx';
import { Field, Select, TextInput } from '../../../ui/field.tsx';
import { DurationField } from './forms/duration-field.tsx';
import { NoneYet } from './forms/none-yet.tsx';
import { EventNameField } from './forms/event-name-field.tsx';
import { errorsBelow } from './forms/form.ts';
import type { FlowContent, FlowTrigger } from './model.ts';
import type { FieldErrors } from './problems.ts';

const DAY = 86_400;

type Source = 'event' | 'list' | 'segment';
type Reentry = NonNullable<FlowTrigger['data']['reentry']>;
type BuilderFilters = Parameters<typeof FilterBuilder>[0]['filters'];

const SOURCES: readonly { value: Source; label: string }[] = [
  { value: 'event', label: 'an event is tracked for them' },
  { value: 'list', label: 'they are added to a list' },
  { value: 'segment', label: 'they begin to match a segment' },
];

const UNKNOWN_CHOICES = [
  { value: 'leave', label: 'do not send it again' },
  { value: 'resend', label: 'send it again: it may arrive twice' },
] as const;

/** Returns null if the trigger names nothing yet. */
function sourceOf({ event, contact_list_id: list, segment_id: segment }: FlowTrigger): Source | null {
  if (event !== null) return 'event';
  if (list !== null) return 'list';
  return segment === null ? null : 'segment';
}

const NO_SOURCE = { event: null, contact_list_id: null, segment_id: null } as const;

/** A new flow does not begin with messages about fields that the user has not reached yet. */
const withoutMissing = ({ '': _missing, ...others }: FieldErrors): FieldErrors => others;

interface TriggerFormProps {
  content: FlowContent;
  change: (patch: Partial<FlowContent>, about: string) => void;
  errors: FieldErrors;
  names: AudienceNames;
}

/** The name of a flow, who enters, and when they leave it. */
export function TriggerForm({ content, change, errors, names }: TriggerFormProps) {
  const { name, goal, unknown = 'leave', trigger, steps } = content;
  const { data } = trigger;
  const set = (patch: Partial<FlowTrigger>) => change({ trigger: { ...trigger, ...patch } }, 'trigger');
  const setData = (patch: Partial<FlowTrigger['data']>) => {
    const next = Object.entries({ ...data, ...patch }).filter(([, value]) => value !== undefined);
    set({ data: Object.fromEntries(next) });
  };
  return (
    <>
      <Field label="Name">
        <TextInput
          value={name}
          maxLength={255}
          onChange={(event) => change({ name: event.target.value }, 'name')}
        />
      </Field>
      <SourceFields
        trigger={trigger}
        set={set}
        errors={steps.length === 0 ? withoutMissing(errors) : errors}
        names={names}
      />
      <ReentryFields trigger={trigger} setData={setData} errors={errors} />
      <EventNameField
        label="Goal"
        hint="An event that ends a run wherever it is. Leave it empty if there is none."
        value={goal ?? ''}
        onChange={(next) => change({ goal: next === '' ? null : next }, 'goal')}
      />
      <Field
        label="If it is unknown whether a message has left"
        hint="That happens if a process dies, or a connection is lost, while a message is handed over."
      >
        <Select
          value={unknown}
          options={UNKNOWN_CHOICES}
          onChange={(event) => change({ unknown: event.target.value as typeof unknown }, 'unknown')}
        />
      </Field>
      {(['filters', 'exit_filters'] as const).map((field) => (
        <fieldset key={field} className="filters-of-step">
          <legend>
            {field === 'filters' ? 'Only contacts who match' : 'Contacts leave as soon as they match'}
          </legend>
          <FilterBuilder
            label={field === 'filters' ? 'Who may enter' : 'Who leaves'}
            filters={(data[field] ?? []) as BuilderFilters}
            scope="trigger"
            errors={errorsBelow(errors, `data.${field}`)}
            onChange={(filters) => setData({ [field]: filters.length === 0 ? undefined : filters })}
          />
        </fieldset>
      ))}
    </>
  );
}

function SourceFields({
  trigger,
  set,
  errors,
  names,
}: Pick<TriggerFormProps, 'errors' | 'names'> & {
  trigger: FlowTrigger;
  set: (patch: Partial<FlowTrigger>) => void;
}) {
  // What is chosen but not yet named is not part of the trigger.
  const [chosen, setChosen] = useState<Source>('event');
  const source = sourceOf(trigger) ?? chosen;
  const options = (label: string, choices: AudienceNames['lists']) => [{ value: '', label }, ...choices];
  const idOf = (value: string) => Number(value) || null;
  return (
    <>
      <Field label="Contacts enter when" error={errors['']}>
        <Select
          value={source}
          options={SOURCES}
          onChange={(event) => {
            setChosen(event.target.value as Source);
            set(NO_SOURCE);
          }}
        />
      </Field>
      {source === 'event' && (
        <EventNameField
          label="Event"
          value={trigger.event ?? ''}
          error={errors.event}
          onChange={(event) => set({ ...NO_SOURCE, event: event === '' ? null : event })}
        />
      )}
      {source === 'list' && (
        <Field
          label="List"
          error={errors.contact_list_id}
          hint={names.lists.length === 0 && <NoneYet what="list" />}
        >
          <Select
            value={String(trigger.contact_list_id ?? '')}
            options={options('Choose a list', names.lists)}
            onChange={(event) => set({ ...NO_SOURCE, contact_list_id: idOf(event.target.value) })}
          />
        </Field>
      )}
      {source === 'segment' && (
        <Field
          label="Segment"
          error={errors.segment_id}
          hint={names.segments.length === 0 && <NoneYet what="segment" />}
        >
          <Select
            value={String(trigger.segment_id ?? '')}
            options={options('Choose a segment', names.segments)}
            onChange={(event) => set({ ...NO_SOURCE, segment_id: idOf(event.target.value) })}
          />
        </Field>
      )}
    </>
  );
}

function ReentryFields({
  trigger: { data },
  setData,
  errors,
}: Pick<TriggerFormProps, 'errors'> & {
  trigger: FlowTrigger;
  setData: (patch: { reentry: Reentry | undefined }) => void;
}) {
  const { reentry = 'once' } = data;
  const kind = typeof reentry === 'object' ? 'after' : reentry;
  return (
    <>
      <Field label="The same contact enters" error={errors['data.reentry']}>
        <Select
          value={kind}
          options={[
            { value: 'once', label: 'once' },
            { value: 'every_time', label: 'every time the event is tracked' },
            { value: 'after', label: 'again after a time' },
          ]}
          onChange={({ target: { value } }) =>
            setData({
              reentry: value === 'after' ? { after_seconds: DAY } : (value as 'once' | 'every_time'),
            })
          }
        />
      </Field>
      {typeof reentry === 'object' && (
        <DurationField
          label="Not again before"
          value={reentry.after_seconds}
          error={errors['data.reentry.after_seconds']}
          onChange={(seconds) => setData({ reentry: { after_seconds: seconds } })}
        />
      )}
    </>
  );
}
