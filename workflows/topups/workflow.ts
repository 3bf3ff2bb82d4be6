import {
  allHandlersFinished,
  condition,
  continueAsNew,
  defineSignal,
  proxyActivities,
  setCurrentDetails,
  setHandler,
  workflowInfo,
} from '@temporalio/workflow';
import { topUpSignals, type RunTopUpInput, type TopUpActivities, type TopUpStep } from './contract.ts';

/** Retries while the database is unavailable. A request that was about to be sent is never sent again. */
const { requestTopUp, lookAtTopUp, giveUpTopUp } = proxyActivities<TopUpActivities>({
  startToCloseTimeout: '2 minutes',
  heartbeatTimeout: '15 seconds',
  retry: { initialInterval: '1s', maximumInterval: '5 minutes' },
});

const wake = defineSignal(topUpSignals.wake);
const look = defineSignal(topUpSignals.look);

/** Backoff after requests that did not reach the payment service, in minutes: about an hour in all. */
const WAITS_MINUTES = [1, 5, 15, 40];
const MAX_ROUNDS = 200;

const states: Record<TopUpStep['state'], (step: TopUpStep) => string> = {
  not_sent: () => 'waits until the payment service is available',
  unknown: ({ lookAt }) => `waits until ${lookAt} to find out whether the payment was made`,
  paying: ({ lookAt }) => `waits for the payment service to decide; looks again at ${lookAt}`,
  final: () => 'has ended',
};

function showTopUp(topUpId: number, step: TopUpStep): void {
  const lines = [`Top-up ${topUpId} ${states[step.state](step)}.`];
  if (step.state !== 'final') lines.push('', 'The signal `look` asks the payment service now.');
  setCurrentDetails(lines.join('\n'));
}

const now = (): string => new Date().toISOString();

interface Signals {
  woken: boolean;
  forced: boolean;
}

async function resend(topUpId: number, attempt: number, signals: Signals): Promise<TopUpStep> {
  const minutes = WAITS_MINUTES[attempt];
  if (minutes === undefined) return giveUpTopUp(topUpId, now());
  await condition(() => signals.forced, minutes * 60_000, {
    summary: 'until the payment service is available',
  });
  signals.forced = false;
  return requestTopUp(topUpId, now());
}

async function waitAndLook(topUpId: number, { lookAt }: TopUpStep, signals: Signals): Promise<TopUpStep> {
  const waitMs = Math.max(1, Date.parse(lookAt) - Date.now());
  await condition(() => signals.woken, waitMs, { summary: 'the payment service decides' });
  const { forced } = signals;
  signals.woken = signals.forced = false;
  return lookAtTopUp(topUpId, now(), forced);
}

/**
 * Fills a wallet by one payment. Every step reads the row again, so a second run is harmless.
 * @returns the final state, for the engine's UI
 */
export async function runTopUp(input: RunTopUpInput): Promise<TopUpStep> {
  const { topUpId } = input;
  const signals: Signals = { woken: false, forced: false };
  setHandler(wake, () => void (signals.woken = true));
  setHandler(look, () => void (signals.woken = signals.forced = true));
  let step = await requestTopUp(topUpId, now());
  let resent = 0;
  showTopUp(topUpId, step);
  for (let round = 1; step.state !== 'final'; round += 1) {
    if (round >= MAX_ROUNDS || workflowInfo().continueAsNewSuggested) {
      await condition(allHandlersFinished, '1 minute');
      await continueAsNew<typeof runTopUp>(input);
    }
    step =
      step.state === 'not_sent'
        ? await resend(topUpId, resent++, signals)
        : await waitAndLook(topUpId, step, signals);
    showTopUp(topUpId, step);
  }
  return step;
}
