// The timer label of a webhook recovery names the next thing that will happen.
import { describe, expect, it } from '@jest/globals';
import type { WebhookRecoveryState } from '../../workflows/webhooks/contract.ts';
import { timerLabel } from '../../workflows/webhooks/details.ts';

const soon = '2026-03-01T00:00:10.000Z';
const later = '2026-03-03T00:00:00.000Z';
const sleeping: WebhookRecoveryState = {
  phase: 'sleeping',
  failingSince: '2026-02-28T00:00:00.000Z',
  warnedAt: '2026-03-01T00:00:00.000Z',
  disableAt: later,
  retrying: 1,
  nextAttemptAt: later,
  sleepsUntil: soon,
  attempted: 0,
  delivered: 0,
};

describe('the timer label of a webhook recovery', () => {
  const cases: [string, Partial<WebhookRecoveryState>][] = [
    ['the next attempt', { nextAttemptAt: soon }],
    ['turning the webhook off', { disableAt: soon }],
    ['warning the owners', { warnedAt: null }],
    ['the next check', {}],
    ['the next check', { failingSince: null, warnedAt: null, disableAt: null }],
  ];
  for (const [label, changes] of cases) {
    it(`says ${label} with ${JSON.stringify(changes)}`, () => {
      expect(timerLabel({ ...sleeping, ...changes })).toBe(label);
    });
  }
});
