import type { Limit } from './limit.ts';

/** A message without a template whose content the retention has removed. */
export const contentMissing = {
  name: 'content_missing',
  title: "the message's content has been removed",
  condition: { reads: 'message', sql: 'm.template_id is null and c.message_id is null' },
  handOver: { effect: 'fail', code: 'content_rejected', message: 'the content is no longer stored' },
} as const satisfies Limit;
