/** What became of a step in a simulation, in words. */
import type { Schemas } from '../../../api/client.ts';

type Passed = Pick<
  Schemas['FlowSimulation']['path'][number],
  'type' | 'outcome' | 'detail' | 'entered_at' | 'left_at'
>;

/** Returns the outcome, and the time that it is about: a wait is over when the contact leaves it. */
export function simulatedText({ type, outcome, detail, entered_at: from, left_at: to }: Passed): {
  text: string;
  at: string;
} {
  if (type === 'wait' && outcome === 'done') return { text: 'waits until', at: to };
  const reason = typeof detail?.reason === 'string' ? ` (${detail.reason.replaceAll('_', ' ')})` : '';
  const isWait = type === 'wait' || type === 'wait_for_event';
  return { text: `${outcome.replaceAll('_', ' ')}${reason}`, at: isWait ? to : from };
}
