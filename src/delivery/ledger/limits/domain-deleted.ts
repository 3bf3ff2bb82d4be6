import type { Limit } from './limit.ts';

/** A sending domain that was deleted after the message had been accepted. Its keys are gone, so nothing can be signed. */
export const domainDeleted = {
  name: 'domain_deleted',
  title: "the sender's domain has been deleted",
  plain: 'decided',
  queueColumns: ['domain_id'],
  condition: {
    reads: 'queue',
    sql: 'q.domain_id is not null and (select d.id from domains d where d.id = q.domain_id) is null',
  },
  claim: { effect: 'pass' },
  handOver: { effect: 'fail', code: 'sender_rejected', message: 'the sending domain was deleted' },
} as const satisfies Limit;
