import {
  allHandlersFinished,
  condition,
  continueAsNew,
  defineQuery,
  defineSignal,
  proxyActivities,
  setCurrentDetails,
  setHandler,
  workflowInfo,
} from '@temporalio/workflow';
import {
  campaignQueries,
  campaignSignals,
  campaignWaitMs,
  type CampaignActivities,
  type CampaignInput,
  type CampaignState,
  type CampaignStep,
  type OperatorSignal,
} from './contract.ts';
import { describeCampaign } from './details.ts';

/** Retries while the database is unavailable. */
const retry = { initialInterval: '500ms', maximumInterval: '10s' } as const;

/** Operators wait for these. If a worker is killed, its heartbeats stop, and another takes over within 15 s. */
const { lookAtCampaign, changeCampaign } = proxyActivities<CampaignActivities>({
  startToCloseTimeout: '5 minutes',
  heartbeatTimeout: '12s',
  retry,
});
/** Long pieces of work have their own queue, so that they do not delay short ones. */
const { snapshotCampaign, watchCampaign, finishCampaign } = proxyActivities<CampaignActivities>({
  taskQueue: 'bulk',
  startToCloseTimeout: '1 hour',
  heartbeatTimeout: '30s',
  retry,
});

const wake = defineSignal(campaignSignals.wake);
const stateQuery = defineQuery<CampaignState | null>(campaignQueries.state);

/** A step adds about 12 events. */
const MAX_STEPS = 400;
/** Outcomes of batches that are under way at a cancellation arrive within seconds, or after a recovery. */
const LOOK_AGAIN_MS = 1_000;
/**
 * The first activities are short, so that the details are fresh; later ones may run for as long as the campaign already
 * has.
 */
const FIRST_STAY_MS = 5_000;
const MAX_STAY_MS = 600_000;

interface Run {
  campaignId: number;
  state: CampaignState | null;
  /** Whether a signal has arrived since the row was last read. */
  woken: boolean;
}

const now = () => new Date().toISOString();

function startRun({ campaignId }: CampaignInput): Run {
  const run: Run = { campaignId, state: null, woken: false };
  setHandler(wake, () => void (run.woken = true));
  for (const name of ['pause', 'resume', 'cancel'] as const satisfies OperatorSignal[]) {
    setHandler(defineSignal(campaignSignals[name]), async () => {
      await changeCampaign(campaignId, name, now());
      run.woken = true;
    });
  }
  setHandler(stateQuery, () => run.state);
  return run;
}

async function look(run: Run): Promise<CampaignStep> {
  run.woken = false;
  return lookAtCampaign(run.campaignId, now());
}

/** Takes the step that follows from the last one. */
async function follow(run: Run, { next, state }: CampaignStep, stayMs: number): Promise<CampaignStep> {
  const { campaignId } = run;
  switch (next) {
    case 'snapshot':
      return snapshotCampaign(campaignId, now(), stayMs);
    case 'watch':
      return watchCampaign(campaignId, now(), stayMs);
    case 'finish': {
      const step = await finishCampaign(campaignId, now());
      if (step.next === 'finish') await condition(() => run.woken, LOOK_AGAIN_MS);
      return step;
    }
    default:
      await condition(() => run.woken, campaignWaitMs(state, Date.now()), {
        summary: state.waitingFor ?? 'the next look',
      });
      return look(run);
  }
}

/**
 * Sends one campaign: waits for its time and approval, has its recipients written, watches while senders send, and
 * completes it. The database records what is done, and each step reads the row again, so a second run is harmless.
 * @returns the final state with its counts, for the engine's UI
 */
export async function campaign(input: CampaignInput): Promise<CampaignState> {
  const run = startRun(input);
  const startedAt = Date.now();
  let step = await look(run);
  for (let steps = 1; ; steps += 1) {
    run.state = step.state;
    setCurrentDetails(describeCampaign(step.state));
    if (step.next === 'done') {
      await condition(allHandlersFinished, '1 minute');
      // A campaign that had become a draft may have been sent again.
      if (!run.woken) return step.state;
      step = await look(run);
      continue;
    }
    if (steps >= MAX_STEPS || workflowInfo().continueAsNewSuggested) {
      await condition(allHandlersFinished, '1 minute');
      await continueAsNew<typeof campaign>(input);
    }
    const elapsed = Date.now() - startedAt;
    step = await follow(run, step, Math.min(MAX_STAY_MS, Math.max(FIRST_STAY_MS, elapsed)));
  }
}
