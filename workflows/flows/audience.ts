import {
  condition,
  continueAsNew,
  defineSignal,
  proxyActivities,
  setCurrentDetails,
  setHandler,
  workflowInfo,
} from '@temporalio/workflow';
import {
  flowAudienceSignals,
  type FlowAudienceActivities,
  type FlowAudienceInput,
  type FlowAudienceStep,
} from './contract.ts';

/** Comparing many contacts takes long, so it goes to the queue on which it delays nothing short. */
const { matchAudience } = proxyActivities<FlowAudienceActivities>({
  taskQueue: 'bulk',
  startToCloseTimeout: '1 hour',
  heartbeatTimeout: '30s',
  retry: { initialInterval: '500ms', maximumInterval: '30s' },
});

const wake = defineSignal(flowAudienceSignals.wake);

/** A step adds about 10 events. */
const MAX_STEPS = 100;
/** An activity stays so long with a large audience; then others have their turn. */
const STAY_MS = 30_000;
/** A step is repeated at least this often. */
const MAX_WAIT_MS = 10 * 60_000;

function describe({ next, until, sentence }: FlowAudienceStep): string {
  return next === 'wait' && until !== null ? `${sentence}; compares again at ${until}` : sentence;
}

/**
 * Finds contacts who begin to match the segment of a flow, for as long as the flow takes them. What was compared is in
 * the database, so that a second run does no harm.
 * @returns the last step, for the engine's UI
 */
export async function flowAudience(input: FlowAudienceInput): Promise<FlowAudienceStep> {
  let woken = false;
  setHandler(wake, () => void (woken = true));
  for (let steps = 1; ; steps += 1) {
    woken = false;
    const step = await matchAudience(input.flowId, new Date().toISOString(), STAY_MS);
    setCurrentDetails(describe(step));
    // The flow may have been resumed meanwhile.
    if (step.next === 'done' && !woken) return step;
    if (step.next === 'wait') {
      const waitMs = step.until === null ? MAX_WAIT_MS : Date.parse(step.until) - Date.now();
      const summary = 'the next comparison with the segment';
      await condition(() => woken, Math.min(MAX_WAIT_MS, Math.max(1, waitMs)), { summary });
    }
    // The next run begins with a look at the flow, so no wake-up is lost.
    if (steps >= MAX_STEPS || workflowInfo().continueAsNewSuggested) {
      await continueAsNew<typeof flowAudience>(input);
    }
  }
}
