import type { Schemas } from '../../api/client.ts';
import { isWaiting } from '../../api/message-statuses.ts';

export type CancelChoice = 'all' | 'only';

type Message = Pick<Schemas['MessageDetail'], 'id' | 'status' | 'campaign_id' | 'flow_id' | 'recipients'>;
type Status = Message['status'];

/** These copies of a letter have ended and did not leave, so they do not stand in the way. */
const UNSENT: ReadonlySet<Status> = new Set(['canceled', 'failed', 'skipped']);

/**
 * Returns what of a message can be canceled: all copies of a letter that wait, unless one has left, and the copy that is
 * shown. Messages of campaigns and flows are canceled there.
 * @returns `all` alone for a message without other copies; empty if nothing can be canceled
 */
export function cancelChoices({ id, status, campaign_id, flow_id, recipients }: Message): CancelChoice[] {
  if (campaign_id !== null || flow_id !== null) return [];
  const copies = recipients?.map((copy) => ({ id: copy.message_id, status: copy.status })) ?? [
    { id, status },
  ];
  const waiting = copies.filter((copy) => isWaiting(copy.status));
  const mayCancelAll = copies.every((copy) => isWaiting(copy.status) || UNSENT.has(copy.status));
  const isShownWaiting = waiting.some((copy) => copy.id === id);
  return [
    ...(mayCancelAll && waiting.length > 0 ? (['all'] as const) : []),
    ...(isShownWaiting && (waiting.length > 1 || !mayCancelAll) ? (['only'] as const) : []),
  ];
}
