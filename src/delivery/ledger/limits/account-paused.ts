import { MESSAGE_LIFETIME_HOURS } from '../../terms/message.ts';
import type { Limit } from './limit.ts';

const paused = 'a.sending_paused_at is not null';

/**
 * An operator's pause. The statement that writes the intent checks it again, so no message leaves once the pause is
 * confirmed.
 */
export const accountPaused = {
  name: 'account_paused',
  title: 'an operator has paused the account',
  plain: 'stands down',
  condition: { reads: 'account', sql: paused },
  // Resuming the account releases its messages at once; the interval is for a release that was lost.
  claim: { effect: 'hold', until: null, recheck: `interval '5 minutes'` },
  handOver: { effect: 'release' },
  status: {
    reason: 'account_paused',
    state: 'blocked',
    reached: paused,
    remediation: `Sending is paused for this account; only an operator can resume it. Accepted messages wait at most ${MESSAGE_LIFETIME_HOURS} hours.`,
  },
} as const satisfies Limit;
