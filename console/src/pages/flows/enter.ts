/** What lets one contact enter a flow, by the requests that any client can make. */
import { api, call, callPage, type Schemas } from '../../api/client.ts';
import type { EntryMethod } from './entry-method.ts';

export interface Entry {
  contactId: number;
  method: EntryMethod;
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
  { contactId, method, data, test }: Entry,
  header: { 'Idempotency-Key': string },
): Promise<unknown> {
  switch (method.by) {
    case 'event':
      return call(() =>
        api.POST('/v1/my/events', {
          params: { header },
          body: { event: method.event, contact_id: contactId, data, ...(test ? { test } : {}) },
        }),
      );
    case 'list':
      return call(() =>
        api.POST('/v1/my/lists/{id}/contacts/bulk', {
          params: { path: { id: method.listId }, header },
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
