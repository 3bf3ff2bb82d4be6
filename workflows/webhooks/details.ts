import type { WebhookRecoveryState } from './contract.ts';

const phases: Record<WebhookRecoveryState['phase'], (state: WebhookRecoveryState) => string> = {
  planning: () => 'looks what is to be done',
  delivering: () => 'makes the attempts that are due',
  sleeping: (state) => `sleeps until ${state.sleepsUntil}`,
  done: () => 'has nothing more to do',
};

function failureOf({ failingSince, warnedAt, disableAt }: WebhookRecoveryState): string[] {
  if (failingSince === null) return ['- failing since: not failing'];
  return [
    `- failing since: ${failingSince}`,
    `- owners warned: ${warnedAt ?? 'not yet'}`,
    `- turned off: ${disableAt ?? 'by the next failed attempt'}, unless it acknowledges something before`,
  ];
}

function retriesOf({ retrying, nextAttemptAt }: WebhookRecoveryState): string {
  if (retrying === 0) return '- deliveries to be retried: none';
  const count = retrying >= 10_000 ? '10,000 or more' : String(retrying);
  return `- deliveries to be retried: ${count}, the first at ${nextAttemptAt}`;
}

/** Markdown for an operator. */
export function describeRecovery(webhookId: number, state: WebhookRecoveryState): string {
  return [
    `Webhook ${webhookId} ${phases[state.phase](state)}.`,
    '',
    ...failureOf(state),
    retriesOf(state),
    `- in this run: ${state.attempted} attempts, ${state.delivered} delivered`,
    '',
    'The signal `retryNow` attempts everything at once.',
  ].join('\n');
}

/** What a sleep waits for, as the timer's label in the UI. @param state with `sleepsUntil` */
export function timerLabel({
  sleepsUntil,
  nextAttemptAt,
  disableAt,
  failingSince,
  warnedAt,
}: WebhookRecoveryState) {
  if (sleepsUntil === nextAttemptAt) return 'the next attempt';
  if (sleepsUntil === disableAt) return 'turning the webhook off';
  return failingSince !== null && warnedAt === null ? 'warning the owners' : 'another look';
}
