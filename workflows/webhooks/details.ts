import type { WebhookRecoveryState } from './contract.ts';

const phases: Record<WebhookRecoveryState['phase'], (state: WebhookRecoveryState) => string> = {
  planning: () => 'looks what is to be retried',
  delivering: () => 'makes the attempts that are due',
  sleeping: (state) => `sleeps until the next attempt, ${state.nextAttemptAt}`,
  done: () => 'has nothing more to retry',
};

/** Markdown for an operator. */
export function describeRecovery(webhookId: number, state: WebhookRecoveryState): string {
  return [
    `Webhook ${webhookId} ${phases[state.phase](state)}.`,
    '',
    `- failing since: ${state.failingSince ?? 'not failing'}`,
    `- deliveries to be retried: ${state.retrying >= 10_000 ? '10,000 or more' : state.retrying}`,
    `- in this run: ${state.attempted} attempts, ${state.delivered} delivered`,
    '',
    'The signal `retryNow` attempts everything at once.',
  ].join('\n');
}
