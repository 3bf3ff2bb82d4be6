/** Describes the state of a run in words for an operator, without personal data. */
import type { FlowRunState } from '../../../../workflows/flows/contract.ts';
import { awaitedEvent, branchesOf, type Step } from '../steps/index.ts';
import { findStep, nextOf, type RunRecord } from './interpreter.ts';
import type { LoadedRun, WaitsFor } from './load.ts';

const DAY_MS = 86_400_000;

const weekday = new Intl.DateTimeFormat('en-GB', { weekday: 'long', timeZone: 'UTC' });
const date = new Intl.DateTimeFormat('en-GB', {
  weekday: 'long',
  day: 'numeric',
  month: 'long',
  year: 'numeric',
  timeZone: 'UTC',
});
const clock = new Intl.DateTimeFormat('en-GB', { timeStyle: 'short', timeZone: 'UTC' });

/** Returns `Tuesday 09:00 UTC`, or the date if it is not within a week. */
export function timeText(time: Date, asOf: Date): string {
  const isNear = time.getTime() - asOf.getTime() < 6 * DAY_MS;
  const day = isNear ? weekday.format(time) : date.format(time).replace(',', '');
  return `${day} ${clock.format(time)} UTC`;
}

const stepText = (step: Step | null | undefined) => (step ? `step ${step.id}` : 'the end');

/** What follows the wait of a step. */
function thenText(steps: readonly Step[], step: Step): string {
  const next = nextOf(steps, step.id);
  if (awaitedEvent(step) === null) return `then ${stepText(next)}`;
  const [yes, no] = branchesOf(step).map((branch) => stepText(branch.steps[0] ?? next));
  return yes === no ? `then ${yes}` : `then ${yes}, or ${no} without it`;
}

function waitText(waitsFor: WaitsFor | null, record: RunRecord, steps: readonly Step[], asOf: Date): string {
  const { wait, stepId } = record;
  const step = stepId === null ? null : findStep(steps, stepId);
  if (waitsFor === 'resume')
    return `is held before ${stepText(step ?? steps[0])}, because the flow is paused`;
  if (wait === null || step === null) return `goes on with ${stepText(step ?? steps[0])}`;
  if (wait.for === 'webhook') return `calls the webhook of step ${step.id}`;
  const until = `waits until ${timeText(new Date(wait.until), asOf)}`;
  if (wait.for === 'quiet_hours') return `${until} for the end of the quiet hours, then step ${step.id}`;
  const event = wait.for === 'event' ? ` for ${wait.eventName}` : '';
  return `${until}${event}, ${thenText(steps, step)}`;
}

function endText(state: 'completed' | 'exited' | 'canceled', reason: string | null): string {
  if (state === 'completed') return 'has completed';
  return state === 'exited'
    ? `has ended early: ${reason ?? 'exit'}`
    : `was canceled: ${reason ?? 'canceled'}`;
}

/** The state of an active run. */
export function activeState(
  waitsFor: WaitsFor | null,
  record: RunRecord,
  steps: readonly Step[],
  asOf: Date,
): FlowRunState {
  return {
    state: 'active',
    reason: null,
    sentence: waitText(waitsFor, record, steps, asOf),
    stepId: record.stepId,
    steps: record.steps,
  };
}

/** The state of a run that has ended. */
export function endedState(
  { state, reason }: { state: Exclude<LoadedRun['state'], 'active'>; reason: string | null },
  steps: number,
): FlowRunState {
  return { state, reason, sentence: endText(state, reason), stepId: null, steps };
}
