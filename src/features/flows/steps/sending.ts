/** What steps that send have in common. */
import type { Channel } from '../../../delivery/terms/message.ts';
import type { StepDecision, StepResult } from '../run/interpreter.ts';
import { type Acting, actAndGoOn, type StoredStep, type StepVisit } from './step.ts';

export interface SendingStep extends StoredStep {
  /** The flow's own template whose `action_id` is the step's id; `flow_contents` has the pinned version. */
  template_id: number;
}

/** Queues a message once the brand's quiet hours are over. */
export async function sendAfterQuietHours(step: StoredStep, at: StepVisit): Promise<StepDecision> {
  const { context } = at;
  const until = await context.quietUntil();
  if (until && until > context.asOf) return { wait: { for: 'quiet_hours', until: until.toISOString() } };
  return actAndGoOn(step, at);
}

/** Queues the message of a step. */
export function writeMessage(channel: Channel) {
  return ({ id }: SendingStep, { run, send, holdLocks }: Acting): Promise<StepResult | { exit: string }> => {
    // Test messages are counted under a lock for which other test messages of the account wait.
    if (run.test) holdLocks();
    return send({ id, channel });
  };
}
