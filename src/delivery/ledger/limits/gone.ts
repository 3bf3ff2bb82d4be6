import { openStatuses, statusList } from '../../terms/message.ts';
import type { Limit } from './limit.ts';

/** A message that was canceled or already has an outcome: another process may have recorded one. */
export const gone = {
  name: 'gone',
  title: 'the message is canceled, or already has an outcome',
  plain: 'decided',
  condition: { reads: 'message', sql: `m.status not in (${statusList(openStatuses)})` },
  handOver: { effect: 'drop' },
} as const satisfies Limit;
