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
import type { WebhookActivities } from '../../activities/webhooks.ts';
import { deliverOptions, planOptions } from './activity-options.ts';
import {
  webhookQueries,
  webhookSignals,
  type WebhookRecoveryInput,
  type WebhookRecoveryState,
} from './contract.ts';
import { describeRecovery } from './details.ts';

const { planWebhookRecovery, hastenWebhookRetries } = proxyActivities<WebhookActivities>(planOptions);
const { deliverDueRetries } = proxyActivities<WebhookActivities>(deliverOptions);

const wake = defineSignal(webhookSignals.wake);
const retryNow = defineSignal(webhookSignals.retryNow);
const stateQuery = defineQuery<WebhookRecoveryState>(webhookQueries.state);

const MOST_ROUNDS = 500;

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
      retrying: 0,
      nextAttemptAt: null,
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

async function deliver(run: Run): Promise<void> {
  show(run, { phase: 'delivering' });
  const { attempted, delivered } = await deliverDueRetries(run.webhookId, now());
  show(run, {
    phase: 'planning',
    attempted: run.state.attempted + attempted,
    delivered: run.state.delivered + delivered,
  });
}

/** One look at the webhook and what follows from it. @returns whether nothing is left to do */
async function goRound(run: Run): Promise<boolean> {
  run.woken = false;
  if (run.hastened) {
    run.hastened = false;
    await hastenWebhookRetries(run.webhookId, now());
  }
  const plan = await planWebhookRecovery(run.webhookId, now());
  const { failingSince, retrying, until } = plan;
  show(run, { failingSince, retrying, nextAttemptAt: until });
  if (plan.phase === 'due') await deliver(run);
  if (plan.phase !== 'sleep' || until === null) return plan.phase === 'done';
  show(run, { phase: 'sleeping' });
  await condition(() => run.woken, Math.max(1, Date.parse(until) - Date.now()));
  show(run, { phase: 'planning' });
  return false;
}

/**
 * Retries what one webhook did not acknowledge, while there is anything: sleeps until the next is due, attempts
 * what is due in batches. Its first step reads the row, so that a second run of it does no harm.
 */
export async function webhookRecovery(input: WebhookRecoveryInput): Promise<void> {
  const run = begin(input);
  for (let round = 1; ; round += 1) {
    const done = await goRound(run);
    // A failure after the disarm arms again, and its signal may reach this run before its end does.
    if (done && !run.woken) break;
    if (round >= MOST_ROUNDS || workflowInfo().continueAsNewSuggested) {
      await condition(allHandlersFinished, '1 minute');
      if (!run.woken) await continueAsNew<typeof webhookRecovery>(input);
    }
  }
  show(run, { phase: 'done' });
}
