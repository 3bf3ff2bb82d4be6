/** What a simulation assumes about the world: events that arrive, opens, and answers to requests. */
import type { Schemas } from '../../../api/client.ts';
import { keyOf } from '../flow-layout.ts';
import { allSteps, type FlowContent, type Step } from './model.ts';

type Answer = NonNullable<NonNullable<Schemas['SimulateFlow']['answers']>['steps']>[string];

export interface Choice {
  value: string;
  label: string;
}

const CHOICES: Partial<Record<Step['type'], readonly Choice[]>> = {
  email: [
    { value: '', label: 'Nobody opens it' },
    { value: 'opened', label: 'It is opened' },
    { value: 'clicked', label: 'A link in it is clicked' },
  ],
  condition: [
    { value: '', label: 'As the contact is' },
    { value: 'yes', label: 'Yes' },
    { value: 'no', label: 'No' },
  ],
  wait_for_event: [
    { value: '', label: 'No event arrives' },
    { value: 'yes', label: 'A matching event arrives' },
    { value: 'event', label: 'This event arrives' },
  ],
  webhook: [
    { value: '', label: 'It responds with 200' },
    { value: '404', label: 'It responds with 404' },
    { value: '500', label: 'It responds with 500' },
  ],
};

/** What can be assumed about a step; nothing about most types. */
export const choicesOf = ({ type }: Pick<Step, 'type'>): readonly Choice[] => CHOICES[type] ?? [];

/** An event that a step waits for, as it was typed. */
export interface MadeUpEvent {
  minutes: string;
  data: Record<string, unknown>;
}

export interface Assumed {
  choice: string;
  event: MadeUpEvent;
}

/** By the keys of the steps. */
export type Assumptions = Readonly<Record<string, Assumed>>;

export const NOTHING: Assumed = { choice: '', event: { minutes: '60', data: {} } };

const MINUTE = 60;

export const secondsOf = (minutes: string): number => Math.round(Number(minutes) * MINUTE);

function answerOf({ choice, event }: Assumed): Answer {
  if (choice === 'yes' || choice === 'no') return choice;
  if (choice === 'opened') return { opened: true };
  if (choice === 'clicked') return { opened: true, clicked: true };
  if (choice !== 'event') return { status: Number(choice) };
  return { after_seconds: secondsOf(event.minutes), data: event.data };
}

/** Returns what the API is to assume about the steps that the flow still has. */
export function answersOf({ steps }: FlowContent, assumptions: Assumptions): Record<string, Answer> {
  const all = allSteps(steps).flatMap(({ step }) => {
    const assumed = assumptions[keyOf(step)];
    const isChosen = assumed && choicesOf(step).some(({ value }) => value !== '' && value === assumed.choice);
    return isChosen ? [[String(keyOf(step)), answerOf(assumed)] as const] : [];
  });
  return Object.fromEntries(all);
}
