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

/** Comparing many contacts takes long, so it has its own queue and does not delay short work. */
const { matchAudience } = proxyActivities<FlowAudienceActivities>({
  taskQueue: 'bulk',
  startToCloseTimeout: '1 hour',
  heartbeatTimeout: '30s',
  retry: { initialInterval: '500ms', maximumInterval: '30s' },
});

const wake = defineSignal(flowAudienceSignals.wake);

/** A step adds about 10 events. */
const MAX_STEPS = 100;
/** How long an activity works on a large audience before others have their turn, in ms. */
const STAY_MS = 30_000;
/** Longest wait between two steps, in ms. */
const MAX_WAIT_MS = 10 * 60_000;

function describe({ next, until, sentence }: FlowAudienceStep): string {
  return next === 'wait' && until !== null ? `${sentence}; compares again at ${until}` : sentence;
}

/**
 * Finds contacts who begin to match the segment of a flow, for as long as they can enter it. The database records what
 * was compared, so a second run is harmless.
 * @returns the last step, for the engine's UI
 */
export async function flowAudience(input: FlowAudienceInput): Promise<FlowAudienceStep> {
  let woken = false;
  setHandler(wake, () => void (woken = true));
  for (let steps = 1; ; steps += 1) {
    woken = false;
    const step = await matchAudience(input.flowId, new Date().toISOString(), STAY_MS);
    setCurrentDetails(describe(step));
    // The flow may have been resumed in the meantime.
    if (step.next === 'done' && !woken) return step;
    if (step.next === 'wait') {
      const waitMs = step.until === null ? MAX_WAIT_MS : Date.parse(step.until) - Date.now();
      const summary = 'the next comparison with the segment';
      await condition(() => woken, Math.min(MAX_WAIT_MS, Math.max(1, waitMs)), { summary });
    }
    // The next run begins by reading the flow, so no wake-up is lost.
    if (steps >= MAX_STEPS || workflowInfo().continueAsNewSuggested) {
      await continueAsNew<typeof flowAudience>(input);
    }
  }
}
