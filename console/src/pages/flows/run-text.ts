/** Where a run is, in words. */
import type { Schemas } from '../../api/client.ts';
import { countText } from '../../ui/numbers.ts';

type Run = Schemas['FlowRunSummary'];

export const WAITS_FOR: Record<NonNullable<Run['waits_for']>, string> = {
  time: 'its time',
  event: 'an event',
  webhook: 'the response to its request',
  quiet_hours: 'the end of the quiet hours',
  resume: 'the flow to be resumed',
};

/** `, after 3 failures`; empty if its step has not failed. */
const failuresText = (failures: number) =>
  failures === 0 ? '' : `, after ${countText(failures)} ${failures === 1 ? 'failure' : 'failures'}`;

/** Returns what an active run waits for, or why a run ended. */
export function runText({
  state,
  reason,
  waits_for: waitsFor,
  failures,
  retry_at: retryAt,
}: Pick<Run, 'state' | 'reason' | 'waits_for' | 'failures' | 'retry_at'>): string {
  if (state !== 'active') return (reason ?? '').replaceAll('_', ' ');
  if (retryAt !== null) return `waits to try its step again${failuresText(failures)}`;
  return waitsFor === null ? 'on its way' : `waits for ${WAITS_FOR[waitsFor]}${failuresText(failures)}`;
}
