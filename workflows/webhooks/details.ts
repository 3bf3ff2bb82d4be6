import type { WebhookRecoveryState } from './contract.ts';

const phases: Record<WebhookRecoveryState['phase'], (state: WebhookRecoveryState) => string> = {
  planning: () => 'checks what to do',
  delivering: () => 'makes the attempts that are due',
  sleeping: (state) => `sleeps until ${state.sleepsUntil}`,
  done: () => 'has nothing left to do',
};

function failureOf({ failingSince, warnedAt, disableAt }: WebhookRecoveryState): string[] {
  if (failingSince === null) return ['- failing since: not failing'];
  return [
    `- failing since: ${failingSince}`,
    `- owners warned: ${warnedAt ?? 'not yet'}`,
    `- turned off: ${disableAt ?? 'by the next failed attempt'}, unless the endpoint acknowledges something before`,
  ];
}

function retriesOf({ retrying, nextAttemptAt }: WebhookRecoveryState): string {
  if (retrying === 0) return '- waiting for a retry: none';
  const count = retrying >= 10_000 ? '10,000 or more' : String(retrying);
  return `- waiting for a retry: ${count}, the first at ${nextAttemptAt}`;
}

/** Describes the recovery in Markdown, for an operator. */
export function describeRecovery(webhookId: number, state: WebhookRecoveryState): string {
  return [
    `Webhook ${webhookId} ${phases[state.phase](state)}.`,
    '',
    ...failureOf(state),
    retriesOf(state),
    `- in this run: ${state.attempted} attempts, ${state.delivered} delivered`,
    '',
    'The signal `retryNow` attempts everything now.',
  ].join('\n');
}

/** Returns what a sleep waits for, as the timer's label in Temporal's UI. @param state with `sleepsUntil` */
export function timerLabel({
  sleepsUntil,
  nextAttemptAt,
  disableAt,
  failingSince,
  warnedAt,
}: WebhookRecoveryState) {
  if (sleepsUntil === nextAttemptAt) return 'the next attempt';
  if (sleepsUntil === disableAt) return 'turning the webhook off';
  return failingSince !== null && warnedAt === null ? 'warning the owners' : 'the next check';
}
