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

/** A worker that was killed is noticed by its missing heartbeats, in time for another to go on within seconds. */
const heartbeatTimeout = '5s';

/** Reading and writing the webhook's row; tried for as long as the database is away. */
const planOptions: ActivityOptions = {
  startToCloseTimeout: '30s',
  heartbeatTimeout,
  retry: { initialInterval: '500ms', maximumInterval: '10s' },
};

/** Attempts of up to two minutes. */
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

/** Of some 14 events each: about where the engine itself suggests to begin anew. */
const MOST_ROUNDS = 250;

interface Run {
  webhookId: number;
  state: WebhookRecoveryState;
  /** Something changed since the last plan was asked for. */
  woken: boolean;
  hastened: boolean;
}

function begin({ webhookId }: WebhookRecoveryInput): Run {
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

function show(run: Run, changes: Partial<WebhookRecoveryState>): void {
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
  show(run, { phase: 'delivering' });
  let ended = false;
  const delivery = deliverDueRetries(run.webhookId, now()).finally(() => void (ended = true));
  // The activity may stay for two minutes: it finds what an operator made due meanwhile. Its end ends the wait.
  await condition(() => ended || run.hastened);
  if (!ended && patched('hasten-while-delivering')) await hasten(run);
  const { attempted, delivered } = await delivery;
  show(run, {
    phase: 'planning',
    attempted: run.state.attempted + attempted,
    delivered: run.state.delivered + delivered,
  });
}

/** What a plan says; those of earlier versions, in old histories, say less. */
function planned(plan: WebhookRecoveryStep): Partial<WebhookRecoveryState> {
  const { failingSince, retrying, warnedAt = null, disableAt = null, nextAttemptAt = plan.until } = plan;
  return { failingSince, retrying, warnedAt, disableAt, nextAttemptAt };
}

/** One look at the webhook and what follows from it. @returns whether nothing is left to do */
async function goRound(run: Run): Promise<boolean> {
  run.woken = false;
  if (run.hastened) await hasten(run);
  const plan = await planWebhookRecovery(run.webhookId, now());
  show(run, planned(plan));
  if (plan.phase === 'due') await deliver(run);
  if (plan.phase !== 'sleep' || plan.until === null) return plan.phase === 'done';
  show(run, { phase: 'sleeping', sleepsUntil: plan.until });
  const waitMs = Math.max(1, Date.parse(plan.until) - Date.now());
  await condition(() => run.woken, waitMs, { summary: timerLabel(run.state) });
  show(run, { phase: 'planning', sleepsUntil: null });
  return false;
}

/**
 * Retries what one webhook did not acknowledge, in batches, and holds the timers of its failure: owners are warned
 * after a day, after three it is turned off. It lives while the webhook fails or anything is to be retried, and reads
 * the row anew each round, so that a second run of it does no harm.
 */
export async function webhookRecovery(input: WebhookRecoveryInput): Promise<void> {
  const run = begin(input);
  for (let round = 1; ; round += 1) {
    const done = await goRound(run);
    // A failure after the disarm arms again, and its signal may reach this run before its end does.
    if (done && !run.woken) break;
    if (round >= MOST_ROUNDS || workflowInfo().continueAsNewSuggested) {
      await condition(allHandlersFinished, '1 minute');
      // The next run begins with a look: no wake-up is lost by it.
      if (!run.hastened) await continueAsNew<typeof webhookRecovery>(input);
    }
  }
  show(run, { phase: 'done' });
}
