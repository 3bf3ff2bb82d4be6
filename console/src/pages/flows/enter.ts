/** What lets one contact enter a flow, by the requests that any client can make. */
import { api, call, callPage, type Schemas } from '../../api/client.ts';
import type { Flow } from './flow-frame.tsx';

/** Mail that arrives is the only cause of this event, so no client can track it. */
const MAIL_EVENT = 'email_received';

/** An event of the trigger, the list of the trigger, or a request that names the contact. */
export type EntryWay =
  { by: 'event'; event: string } | { by: 'list'; listId: number } | { by: 'request'; why: RequestReason };

type RequestReason = 'segment' | 'mail' | 'in_list' | 'no_trigger';

/** Returns what the trigger waits for; a request, if it waits for what cannot be done now. */
export function entryWay(
  { event, contact_list_id: listId, segment_id: segmentId }: Flow['trigger'],
  listIds: readonly number[],
): EntryWay {
  if (event !== null) return event === MAIL_EVENT ? { by: 'request', why: 'mail' } : { by: 'event', event };
  if (listId !== null)
    return listIds.includes(listId) ? { by: 'request', why: 'in_list' } : { by: 'list', listId };
  return { by: 'request', why: segmentId === null ? 'no_trigger' : 'segment' };
}

export const REQUEST_TEXTS: Record<RequestReason, string> = {
  segment:
    'Contacts enter this flow when they begin to match its segment. You can let this one enter now, whether or not it matches.',
  mail: 'Contacts enter this flow when an email of theirs arrives. You can let this one enter now, without an email.',
  in_list: 'This contact is in the list already, so it cannot be added. You can let it enter all the same.',
  no_trigger: 'No trigger lets contacts enter this flow. You can let this one enter now.',
};

export interface Entry {
  contactId: number;
  way: EntryWay;
  data: Record<string, unknown>;
  test: boolean;
}

/** What was asked, and the newest run that the contact had until then; 0 if it had none. */
export interface Entered {
  contactId: number;
  newestBefore: number;
}

/** Returns the newest run of a contact in the flow; null if there is none. */
export async function newestRun(
  flowId: number,
  contactId: number,
  signal?: AbortSignal,
): Promise<Schemas['FlowRunSummary'] | null> {
  const query = { contact_id: String(contactId), limit: 1 };
  const { rows } = await callPage(() =>
    api.GET('/v1/my/flows/{id}/runs', {
      params: { path: { id: flowId }, query },
      ...(signal ? { signal } : {}),
    }),
  );
  return rows[0] ?? null;
}

/** Does what lets the contact enter. Its run begins soon afterwards, unless filters or former runs prevent it. */
export async function enter(flowId: number, entry: Entry, key: string): Promise<Entered> {
  const { contactId } = entry;
  const newest = await newestRun(flowId, contactId);
  await request(flowId, entry, { 'Idempotency-Key': key });
  return { contactId, newestBefore: newest?.id ?? 0 };
}

function request(
  flowId: number,
  { contactId, way, data, test }: Entry,
  header: { 'Idempotency-Key': string },
): Promise<unknown> {
  switch (way.by) {
    case 'event':
      return call(() =>
        api.POST('/v1/my/events', {
          params: { header },
          body: { event: way.event, contact_id: contactId, data, ...(test ? { test } : {}) },
        }),
      );
    case 'list':
      return call(() =>
        api.POST('/v1/my/lists/{id}/contacts/bulk', {
          params: { path: { id: way.listId }, header },
          body: { add: [contactId] },
        }),
      );
    case 'request':
      return call(() =>
        api.POST('/v1/my/flows/{id}/enter', {
          params: { path: { id: flowId }, header },
          body: { contact_ids: [contactId] },
        }),
      );
  }
}
