/** Where a run is, in words. */
import type { Schemas } from '../../api/client.ts';

type Run = Schemas['FlowRunSummary'];

export const WAITS_FOR: Record<NonNullable<Run['waits_for']>, string> = {
  time: 'its time',
  event: 'an event',
  webhook: 'the response to its request',
  quiet_hours: 'the end of the quiet hours',
  resume: 'the flow to be resumed',
};

/** Returns what an active run waits for, or why a run ended. */
export function runText({ state, reason, waits_for: waitsFor }: Run): string {
  if (state !== 'active') return (reason ?? '').replaceAll('_', ' ');
  return waitsFor === null ? 'on its way' : `waits for ${WAITS_FOR[waitsFor]}`;
}
