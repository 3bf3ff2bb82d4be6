import { useEffect, useRef, useState, type SubmitEvent } from 'react';
import { api, call, type Schemas } from '../../../api/client.ts';
import { useAction } from '../../../ui/action.ts';
import { Button } from '../../../ui/button.tsx';
import { useContactChoice } from '../../../ui/contact-choice.tsx';
import { Card, Time } from '../../../ui/details.tsx';
import { DataFields } from '../../../ui/data-fields.tsx';
import { Field, Select, TextInput } from '../../../ui/field.tsx';
import { formText } from '../../../ui/form.ts';
import { Notice } from '../../../ui/notice.tsx';
import { keyOf } from '../flow-layout.ts';
import { simulatedPath, type TakenPath } from '../taken-path.ts';
import {
  answersOf,
  choicesOf,
  NOTHING,
  secondsOf,
  type Assumed,
  type Assumptions,
  type MadeUpEvent,
} from './assumptions.ts';
import { requestOf } from './content.ts';
import { allSteps, findStep, stepAtPath, type FlowContent, type Step } from './model.ts';
import { simulatedText } from './simulated-text.ts';
import { fullNameOf } from './texts.ts';

type Simulation = Schemas['FlowSimulation'];

/** A simulation of a flow as it was then. */
export interface Simulated {
  content: FlowContent;
  simulation: Simulation;
}

/** Returns the path to draw; undefined if there is none, or the steps have changed since. */
export function wayIn({ steps }: FlowContent, simulated: Simulated | null): TakenPath | undefined {
  if (simulated?.content.steps !== steps) return undefined;
  return simulatedPath(simulated.simulation, (position) => stepAtPath(steps, position)?.key ?? null);
}

const HINT = 'Type a name or an address, or its beginning. Nothing is sent to it, and nothing is stored.';

/** Where a contact would go, with made-up events. Steps that are not published take part. */
export function SimulatePanel({
  flowId,
  content,
  simulated,
  onSimulated,
}: {
  flowId: number;
  content: FlowContent;
  simulated: Simulated | null;
  onSimulated: (simulated: Simulated) => void;
}) {
  const { contactId, field } = useContactChoice('Contact', HINT);
  const [assumptions, setAssumptions] = useState<Assumptions>({});
  const [event, setEvent] = useState<Record<string, unknown>>({});
  const action = useAction({
    work: (form: FormData) => simulate(flowId, content, contactId ?? 0, { form, event, assumptions }),
    refresh: [],
    fields: [],
    onDone: (simulation) => onSimulated({ content, simulation }),
  });
  const outcome = useRef<HTMLDivElement>(null);
  useEffect(() => {
    // It is below a long form, in a panel that scrolls.
    if (action.result) outcome.current?.focus();
  }, [action.result]);
  const submit = (submitted: SubmitEvent<HTMLFormElement>) => {
    submitted.preventDefault();
    action.run(new FormData(submitted.currentTarget));
  };
  const assumable = allSteps(content.steps).filter(({ step }) => choicesOf(step).length > 0);
  return (
    <Card title="Simulate">
      <form onSubmit={submit}>
        {field}
        {content.trigger.event !== null && (
          <DataFields label="Data of the event" value={event} onChange={setEvent} />
        )}
        <Field label="Enters at" hint="If it is empty: now.">
          <TextInput type="datetime-local" name="at" />
        </Field>
        {content.goal !== null && (
          <Field label="Reaches the goal after, in minutes" hint="If it is empty: never.">
            <TextInput type="number" name="goal" min="0" />
          </Field>
        )}
        {assumable.map(({ step }) => (
          <Assumption
            key={keyOf(step)}
            step={step}
            assumed={assumptions[keyOf(step)] ?? NOTHING}
            onChange={(assumed) => setAssumptions({ ...assumptions, [keyOf(step)]: assumed })}
          />
        ))}
        {action.fault !== null && <Notice tone="bad">{action.fault}</Notice>}
        <div className="actions">
          <Button type="submit" kind="primary" busy={action.busy} disabled={contactId === null}>
            Simulate
          </Button>
        </div>
      </form>
      {simulated && simulated.content.steps !== content.steps && (
        <Notice tone="warn">
          <p>The steps have changed since. Simulate again to see the path in the graph.</p>
        </Notice>
      )}
      <div ref={outcome} tabIndex={-1}>
        {simulated && <Outcome {...simulated} />}
      </div>
    </Card>
  );
}

interface Typed {
  form: FormData;
  event: Record<string, unknown>;
  assumptions: Assumptions;
}

function simulate(
  flowId: number,
  content: FlowContent,
  contactId: number,
  { form, event, assumptions }: Typed,
): Promise<Simulation> {
  const at = formText(form, 'at');
  const goal = formText(form, 'goal');
  const isEvent = content.trigger.event !== null;
  return call(() =>
    api.POST('/v1/my/flows/simulate', {
      body: {
        ...{ flow_id: flowId, ...requestOf(content), contact_id: contactId },
        ...(isEvent ? { event_data: event } : {}),
        ...(at === '' ? {} : { at: new Date(at).toISOString() }),
        answers: {
          steps: answersOf(content, assumptions),
          ...(content.goal === null || goal === '' ? {} : { goal: { after_seconds: secondsOf(goal) } }),
        },
      },
    }),
  );
}

function Assumption({
  step,
  assumed,
  onChange,
}: {
  step: Step;
  assumed: Assumed;
  onChange: (next: Assumed) => void;
}) {
  const { choice, event } = assumed;
  const change = (patch: Partial<MadeUpEvent>) => onChange({ choice, event: { ...event, ...patch } });
  return (
    <>
      <Field label={fullNameOf(step)}>
        <Select
          value={choice}
          options={choicesOf(step)}
          onChange={({ target: { value } }) => onChange({ choice: value, event })}
        />
      </Field>
      {choice === 'event' && (
        <>
          <Field label="It arrives after, in minutes">
            <TextInput
              type="number"
              min="0"
              value={event.minutes}
              onChange={({ target: { value } }) => change({ minutes: value })}
            />
          </Field>
          <DataFields label="Its data" value={event.data} onChange={(data) => change({ data })} />
        </>
      )}
    </>
  );
}

const END_TEXTS: Record<Simulation['ends']['state'], string> = {
  active: 'It still waits after many years.',
  completed: 'It completes all steps.',
  exited: 'It leaves the flow:',
};

/** The path in words, below the form; the graph shows it, too. */
function Outcome({ content, simulation }: Simulated) {
  const { passes_filters: enters, path, ends } = simulation;
  if (!enters) {
    return (
      <Notice tone="warn" title="This contact does not enter">
        <p>It does not match the filters of the trigger.</p>
      </Notice>
    );
  }
  const nameAt = (position: string) => {
    const at = stepAtPath(content.steps, position);
    const step = at && findStep(content.steps, at.key)?.step;
    return step ? fullNameOf(step) : position;
  };
  return (
    <div role="status">
      <ol className="simulated">
        {path.map((passed) => {
          const { text, at } = simulatedText(passed);
          return (
            <li key={passed.step_id}>
              {nameAt(passed.position)}: {text}{' '}
              <span className="muted">
                <Time at={at} full />
              </span>
            </li>
          );
        })}
      </ol>
      <p>
        {END_TEXTS[ends.state]} {ends.state === 'exited' && ends.reason.replaceAll('_', ' ')}{' '}
        <span className="muted">
          <Time at={ends.at} full />
        </span>
      </p>
    </div>
  );
}
