import {
  type ActivityOptions,
  allHandlersFinished,
  condition,
  continueAsNew,
  defineQuery,
  defineSignal,
  patched,
  proxyActivities,
  setCurrentDetails,
  setHandler,
  workflowInfo,
} from '@temporalio/workflow';
import {
  webhookQueries,
  webhookSignals,
  type WebhookActivities,
  type WebhookRecoveryInput,
  type WebhookRecoveryState,
  type WebhookRecoveryStep,
} from './contract.ts';
import { describeRecovery, timerLabel } from './details.ts';

/** Missing heartbeats reveal a killed worker, so that another continues within seconds. */
const heartbeatTimeout = '5s';

/** For activities that read and write the webhook's row. They are retried while the database is unavailable. */
const planOptions: ActivityOptions = {
  startToCloseTimeout: '30s',
  heartbeatTimeout,
  retry: { initialInterval: '500ms', maximumInterval: '10s' },
};

/** For the activity that makes attempts, for up to two minutes. */
const deliverOptions: ActivityOptions = {
  taskQueue: 'bulk',
  startToCloseTimeout: '10m',
  heartbeatTimeout,
  retry: { initialInterval: '500ms', maximumInterval: '10s' },
};

const { planWebhookRecovery, hastenWebhookRetries } = proxyActivities<WebhookActivities>(planOptions);
const { deliverDueRetries } = proxyActivities<WebhookActivities>(deliverOptions);

const wake = defineSignal(webhookSignals.wake);
const retryNow = defineSignal(webhookSignals.retryNow);
const stateQuery = defineQuery<WebhookRecoveryState>(webhookQueries.state);

/** A round adds about 14 events. After about this many, the engine itself suggests continuing as new. */
const MAX_ROUNDS = 250;

interface Run {
  webhookId: number;
  state: WebhookRecoveryState;
  /** Whether a signal has arrived since the last plan. */
  woken: boolean;
  hastened: boolean;
}

function startRun({ webhookId }: WebhookRecoveryInput): Run {
  const run: Run = {
    webhookId,
    woken: false,
    hastened: false,
    state: {
      phase: 'planning',
      failingSince: null,
      warnedAt: null,
      disableAt: null,
      retrying: 0,
      nextAttemptAt: null,
      sleepsUntil: null,
      attempted: 0,
      delivered: 0,
    },
  };
  setHandler(wake, () => void (run.woken = true));
  setHandler(retryNow, () => void (run.woken = run.hastened = true));
  setHandler(stateQuery, () => run.state);
  return run;
}

function showRecovery(run: Run, changes: Partial<WebhookRecoveryState>): void {
  run.state = { ...run.state, ...changes };
  setCurrentDetails(describeRecovery(run.webhookId, run.state));
}

function now(): string {
  return new Date().toISOString();
}

async function hasten(run: Run): Promise<void> {
  run.hastened = false;
  await hastenWebhookRetries(run.webhookId, now());
}

async function deliver(run: Run): Promise<void> {
  showRecovery(run, { phase: 'delivering' });
  let ended = false;
  const delivery = deliverDueRetries(run.webhookId, now()).finally(() => void (ended = true));
  // The activity may run for two minutes, and also attempts what an operator makes due during that time. The wait ends
  // together with the activity.
  await condition(() => ended || run.hastened);
  if (!ended && patched('hasten-while-delivering')) await hasten(run);
  const { attempted, delivered } = await delivery;
  showRecovery(run, {
    phase: 'planning',
    attempted: run.state.attempted + attempted,
    delivered: run.state.delivered + delivered,
  });
}

/** Returns the part of the state that a plan contains. Plans of earlier versions, in old histories, contain less. */
function planned(plan: WebhookRecoveryStep): Partial<WebhookRecoveryState> {
  const { failingSince, retrying, warnedAt = null, disableAt = null, nextAttemptAt = plan.until } = plan;
  return { failingSince, retrying, warnedAt, disableAt, nextAttemptAt };
}

/** Makes one plan and carries it out. @returns whether nothing is left to do */
async function runRound(run: Run): Promise<boolean> {
  run.woken = false;
  if (run.hastened) await hasten(run);
  const plan = await planWebhookRecovery(run.webhookId, now());
  showRecovery(run, planned(plan));
  if (plan.phase === 'due') await deliver(run);
  if (plan.phase !== 'sleep' || plan.until === null) return plan.phase === 'done';
  showRecovery(run, { phase: 'sleeping', sleepsUntil: plan.until });
  const waitMs = Math.max(1, Date.parse(plan.until) - Date.now());
  await condition(() => run.woken, waitMs, { summary: timerLabel(run.state) });
  showRecovery(run, { phase: 'planning', sleepsUntil: null });
  return false;
}

/**
 * Retries what one webhook endpoint did not acknowledge, and keeps the timers of its failure: after a day, the owners
 * are warned, and after three days the webhook is turned off. It runs while the endpoint fails or retries are waiting.
 * It reads the row again in each round, so a second run is harmless.
 * @returns the numbers of attempts and deliveries, for the engine's UI
 */
export async function webhookRecovery(input: WebhookRecoveryInput): Promise<WebhookRecoveryState> {
  const run = startRun(input);
  for (let round = 1; ; round += 1) {
    const done = await runRound(run);
    // A failure after the row was disarmed arms it again; its signal may still reach this run.
    if (done && !run.woken) break;
    if (round >= MAX_ROUNDS || workflowInfo().continueAsNewSuggested) {
      await condition(allHandlersFinished, '1 minute');
      // The next run begins with a plan, so no wake-up is lost.
      if (!run.hastened) await continueAsNew<typeof webhookRecovery>(input);
    }
  }
  showRecovery(run, { phase: 'done' });
  return run.state;
}
