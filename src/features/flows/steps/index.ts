/**
 * The steps of a flow, as they are stored in `flows.steps` and, unchanged for ever, in `flow_versions.steps`. What
 * clients write is in `schema.ts`. Ids are unique in the flow and never used again.
 */

/** Filters as a client wrote them: they were parsed when the flow was saved, and are parsed again by each evaluation. */
export type Filters = readonly unknown[];

export interface EmailStep {
  type: 'email';
  id: number;
  /** The flow's own template with `action_id` = the step's id; its content is in `flow_contents`. */
  template_id: number;
}

export interface SmsStep {
  type: 'sms';
  id: number;
  template_id: number;
}

/** Until a local time, on any or certain days. */
export interface LocalTime {
  /** `HH:MM`. */
  time: string;
  /** 1 is Monday, 7 is Sunday; left out: any day. */
  weekdays?: readonly number[];
  /** An IANA name, or `contact`: that of the contact, else of the country, else of the brand, else UTC. */
  timezone?: string;
}

/** Until a date in the contact's data. */
export interface FieldTime {
  /** `data.<path>` or a column that is a time. */
  field: string;
  offset_seconds?: number;
  /** What happens if the time is missing or has passed; `continue` by default. */
  if_past?: 'continue' | 'exit';
}

export type WaitStep =
  { type: 'wait'; id: number; duration: number } | { type: 'wait'; id: number; until: LocalTime | FieldTime };

export interface ConditionStep {
  type: 'condition';
  id: number;
  filters: Filters;
  yes: readonly Step[];
  no: readonly Step[];
}

export interface WaitForEventStep {
  type: 'wait_for_event';
  id: number;
  event_name: string;
  /** Of the contact and, as `received.<path>`, of the event that arrives. */
  filters?: Filters;
  /** Seconds until the branch `no` is taken. */
  duration: number;
  /** From when earlier events count: since the entry, or since a step was left; left out: only events that arrive. */
  include_since?: 'entry' | { step: number };
  yes: readonly Step[];
  no: readonly Step[];
}

export interface EventStep {
  type: 'event';
  id: number;
  event_name: string;
  forward_event_data?: boolean;
  data?: Readonly<Record<string, unknown>>;
}

export interface UpdateContactStep {
  type: 'update_contact';
  id: number;
  /** Null removes a key. */
  data: Readonly<Record<string, unknown>>;
}

export interface ListStep {
  type: 'add_to_list' | 'remove_from_list';
  id: number;
  list_id: number;
}

export interface WebhookStep {
  type: 'webhook';
  id: number;
  url: string;
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  headers?: Readonly<Record<string, string>>;
  body?: unknown;
}

export interface SplitStep {
  type: 'split';
  id: number;
  /** Weights add up to 100. */
  branches: readonly { weight: number; steps: readonly Step[] }[];
}

export interface ExitStep {
  type: 'exit';
  id: number;
  reason?: string;
}

export type Step =
  | EmailStep
  | SmsStep
  | WaitStep
  | ConditionStep
  | WaitForEventStep
  | EventStep
  | UpdateContactStep
  | ListStep
  | WebhookStep
  | SplitStep
  | ExitStep;

export type StepType = Step['type'];

/** The branches of a step, by the name that a path has for them: `yes`, `no`, `branches.0.steps`. */
export function branchesOf(step: Step): readonly { name: string; steps: readonly Step[] }[] {
  switch (step.type) {
    case 'condition':
    case 'wait_for_event':
      return [
        { name: 'yes', steps: step.yes },
        { name: 'no', steps: step.no },
      ];
    case 'split':
      return step.branches.map(({ steps }, n) => ({ name: `branches.${n}.steps`, steps }));
    default:
      return [];
  }
}

/** All steps, each before those of its branches. */
export function allSteps(steps: readonly Step[]): Step[] {
  return steps.flatMap((step) => [step, ...branchesOf(step).flatMap((branch) => allSteps(branch.steps))]);
}
