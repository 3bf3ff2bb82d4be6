/** What a step does, in words. */
import { type AudienceNames, labelOf } from '../../api/choices.ts';
import type { Schemas } from '../../api/client.ts';
import { filtersText } from '../../ui/filter-text.ts';
import { branchesOf } from './flow-layout.ts';

export type FlowStep = Schemas['FlowStep'];

/** Filters of flows are those of segments, with some more names. Their description leaves the predicate open. */
type Filters = readonly { name: string; predicate: string; value?: unknown }[];

const TITLES: Record<FlowStep['type'], string> = {
  email: 'Email',
  sms: 'SMS',
  wait: 'Wait',
  condition: 'Condition',
  wait_for_event: 'Wait for an event',
  event: 'Track an event',
  update_contact: 'Update the contact',
  add_to_list: 'Add to a list',
  remove_from_list: 'Remove from a list',
  webhook: 'Webhook',
  split: 'Split',
  exit: 'Exit',
};

export const stepTitle = (step: Pick<FlowStep, 'type'>): string => TITLES[step.type];

const UNITS = [
  ['day', 86_400],
  ['hour', 3_600],
  ['minute', 60],
  ['second', 1],
] as const;

/** Returns a period as `1 day 2 hours`, in at most two units. */
export function periodText(seconds: number): string {
  let rest = seconds;
  const parts = UNITS.flatMap(([unit, size]) => {
    const count = Math.floor(rest / size);
    rest -= count * size;
    return count === 0 ? [] : [`${count} ${unit}${count === 1 ? '' : 's'}`];
  });
  return parts.slice(0, 2).join(' ') || '0 seconds';
}

const valueText = (value: unknown): string =>
  typeof value === 'string' ? `“${value}”` : JSON.stringify(value);

export const conditionsText = (filters: Filters | undefined, names: AudienceNames): string =>
  filtersText((filters ?? []) as readonly Schemas['Filter'][], names);

const WEEKDAYS = ['Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat', 'Sun'];

function untilText(until: Record<string, unknown>): string {
  if (typeof until.field === 'string') {
    const offset = typeof until.offset_seconds === 'number' ? until.offset_seconds : 0;
    if (offset === 0) return `until ${until.field}`;
    return `until ${periodText(Math.abs(offset))} ${offset < 0 ? 'before' : 'after'} ${until.field}`;
  }
  const days = Array.isArray(until.weekdays)
    ? until.weekdays.map((day) => WEEKDAYS[Number(day) - 1] ?? String(day)).join(', ')
    : '';
  return [`until ${String(until.time)}`, days].filter(Boolean).join(', ');
}

/** Returns the one line that a step's box shows below its title. */
export function stepSummary(step: FlowStep, names: AudienceNames): string {
  switch (step.type) {
    case 'email':
      return step.subject || 'no subject';
    case 'sms':
      return typeof step.body === 'string' ? step.body : 'no text';
    case 'wait':
      return step.until ? untilText(step.until) : periodText(step.duration ?? 0);
    case 'condition':
      return conditionsText(step.filters, names);
    case 'wait_for_event':
      return `${step.event_name ?? ''} within ${periodText(step.duration ?? 0)}`;
    case 'event':
      return step.event_name ?? '';
    case 'update_contact':
      return Object.entries(step.data ?? {})
        .map(([key, value]) => (value === null ? `remove ${key}` : `${key}: ${valueText(value)}`))
        .join(', ');
    case 'add_to_list':
    case 'remove_from_list':
      return labelOf(names.lists, step.list_id ?? '');
    case 'webhook':
      return `${step.method ?? 'POST'} ${step.url ?? ''}`;
    case 'split':
      return (step.branches ?? []).map(({ weight }) => `${weight} %`).join(' · ');
    case 'exit':
      return step.reason ?? 'exit';
  }
}

/** Returns who enters a flow, in words. */
export function triggerText(trigger: Schemas['FlowTrigger'], names: AudienceNames): string {
  const { event, contact_list_id: listId, segment_id: segmentId } = trigger;
  if (event !== null) return `Event ${event}`;
  if (listId !== null) return `Added to the list ${labelOf(names.lists, listId)}`;
  if (segmentId !== null) return `Begins to match the segment ${labelOf(names.segments, segmentId)}`;
  return 'By request only';
}

/** Returns how often a contact may enter, in words. */
export function reentryText(reentry: Schemas['FlowTrigger']['data']['reentry']): string {
  if (typeof reentry === 'object') return `Again after ${periodText(reentry.after_seconds)}`;
  return reentry === 'every_time' ? 'Every time' : 'Once';
}

/** Returns a step of a flow by its id, from any branch; null if there is none. */
export function findStep(steps: readonly FlowStep[], id: number): FlowStep | null {
  for (const step of steps) {
    if (step.id === id) return step;
    for (const branch of branchesOf(step)) {
      const found = findStep(branch.steps, id);
      if (found) return found;
    }
  }
  return null;
}

/** Returns the number of steps in all branches. */
export const countSteps = (steps: readonly FlowStep[]): number =>
  steps.reduce(
    (count, step) => branchesOf(step).reduce((inner, branch) => inner + countSteps(branch.steps), count + 1),
    0,
  );
