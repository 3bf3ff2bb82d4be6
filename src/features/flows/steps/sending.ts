/** What steps that send have in common. */
import type { Channel } from '../../../delivery/message.ts';
import type { Move, StepResult } from '../run/interpreter.ts';
import { type Acting, actAndGoOn, type StoredStep, type Place } from './step.ts';

export interface SendingStep extends StoredStep {
  /** The flow's own template with `action_id` = the step's id; its content is in `flow_contents`. */
  template_id: number;
}

/** Writes a message, after the quiet hours of the brand. */
export async function sendAfterQuietHours(step: StoredStep, at: Place): Promise<Move> {
  const { context } = at;
  const until = await context.quietUntil();
  if (until && until > context.asOf) return { wait: { for: 'quiet_hours', until: until.toISOString() } };
  return actAndGoOn(step, at);
}

/** Writes the message of a step. */
export function writeMessage(channel: Channel) {
  return ({ id }: SendingStep, { run, send, holdLocks }: Acting): Promise<StepResult | { exit: string }> => {
    // Other test messages of the account wait for the lock under which they are counted.
    if (run.test) holdLocks();
    return send({ id, channel });
  };
}
