import type { Limit } from './limit.ts';

/**
 * A message whose content has been removed after its retention time. Messages of campaigns and flows have no content of
 * their own: they are rendered from a template version.
 */
export const contentMissing = {
  name: 'content_missing',
  title: "the message's content has been removed",
  plain: 'decided',
  condition: {
    reads: 'message',
    sql: 'c.message_id is null and (m.class = 0 or m.content_version_id is null)',
  },
  handOver: { effect: 'fail', code: 'content_rejected', message: 'the content is no longer stored' },
} as const satisfies Limit;
