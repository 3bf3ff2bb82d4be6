import { MESSAGE_LIFETIME, MESSAGE_LIFETIME_HOURS } from '../../terms/message.ts';
import type { Limit } from './limit.ts';

/** The end of a message that has waited for its whole lifetime. */
export const expired = {
  name: 'expired',
  title: `the message is older than ${MESSAGE_LIFETIME_HOURS} hours`,
  plain: 'decided',
  condition: { reads: 'queue', sql: `q.queued_at < now() - ${MESSAGE_LIFETIME}` },
  claim: { effect: 'pass' },
  handOver: {
    effect: 'fail',
    code: 'expired',
    message: `not sent within ${MESSAGE_LIFETIME_HOURS} hours`,
  },
} as const satisfies Limit;
