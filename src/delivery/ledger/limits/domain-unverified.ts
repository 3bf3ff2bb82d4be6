import { MESSAGE_LIFETIME_HOURS } from '../../terms/message.ts';
import type { Limit } from './limit.ts';

/** SQL: a look-up by key for each message of a domain, and none for others. */
const status = '(select d.status from domains d where d.id = q.domain_id)';

/**
 * A sending domain that has lost its verification. The statement that writes the intent checks it again. When the
 * domain is verified again, its workflow releases the messages. The interval is for messages that this release had to
 * skip.
 */
export const domainUnverified = {
  name: 'domain_unverified',
  title: "the sender's domain has lost its verification",
  plain: 'decided',
  queueColumns: ['domain_id'],
  condition: { reads: 'queue', sql: `${status} <> 'verified'` },
  claim: { effect: 'hold', until: null, recheck: `interval '6 hours'` },
  handOver: { effect: 'release' },
  status: {
    reason: 'domain_unverified',
    state: 'limited',
    reached: `exists (
      select 1 from domains d where d.account_id = a.id and d.status = 'failed' and d.lost_at is not null)`,
    remediation: `A sending domain has lost its verification; publish its DNS records again. Its messages wait at most ${MESSAGE_LIFETIME_HOURS} hours.`,
  },
} as const satisfies Limit;
