/** Which request lets a contact enter a flow. */
import type { Schemas } from '../../api/client.ts';

/** Mail that arrives is the only cause of this event, so no client can track it. */
const MAIL_EVENT = 'email_received';

/** An event of the trigger, the list of the trigger, or a request that names the contact. */
export type EntryMethod =
  { by: 'event'; event: string } | { by: 'list'; listId: number } | { by: 'request'; why: RequestReason };

type RequestReason = 'segment' | 'mail' | 'in_list' | 'no_trigger';

/** Returns what the trigger waits for; a request, if it waits for what cannot be done now. */
export function entryMethod(
  {
    event,
    contact_list_id: listId,
    segment_id: segmentId,
  }: Pick<Schemas['FlowTrigger'], 'event' | 'contact_list_id' | 'segment_id'>,
  listIds: readonly number[],
): EntryMethod {
  if (event !== null) return event === MAIL_EVENT ? { by: 'request', why: 'mail' } : { by: 'event', event };
  if (listId !== null)
    return listIds.includes(listId) ? { by: 'request', why: 'in_list' } : { by: 'list', listId };
  return { by: 'request', why: segmentId === null ? 'no_trigger' : 'segment' };
}

export const REQUEST_TEXTS: Record<RequestReason, string> = {
  segment:
    'Contacts enter this flow when they begin to match its segment. You can let this one enter now, whether or not it matches.',
  mail: 'Contacts enter this flow when an email from them arrives. You can let this one enter now, without an email.',
  in_list: 'This contact is in the list already, so it cannot be added. You can let it enter all the same.',
  no_trigger: 'No trigger lets contacts enter this flow. You can let this one enter now.',
};
