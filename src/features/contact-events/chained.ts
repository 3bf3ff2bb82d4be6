import type { Queryable } from '../../platform/db/queryable.ts';
import { consumeEvents, findActiveBrands, lockContacts, type TrackedEventConsumer } from './consumers.ts';
import { type CausingMail, draftEvent } from './draft.ts';
import { internName } from './names.ts';
import { isReservedEventName, trackEventBody } from './schema.ts';
import { EVENT_ID_SEQUENCE, findKept, type NewEvent, writeEvents } from './write-events.ts';

/** An event that a flow tracks. */
export interface ChainedEvent {
  accountId: number;
  brandId: number;
  contactId: number;
  name: string;
  data: Readonly<Record<string, unknown>>;
  /** Test events reach test runs only. */
  test: boolean;
  /** Makes the event unique in the brand. */
  key: string;
  /** Number of flow runs that led to it, one after another. */
  chainDepth: number;
  /** The mail that caused the event of the flow run; null: none did. */
  mail: CausingMail | null;
}

/** `reserved_event_name`: the flow was saved before Carillon reserved the name. */
type Refusal = 'contact_deleted' | 'too_many_event_names' | 'reserved_event_name';

export type ChainedResult =
  | { status: 'tracked' | 'known'; id: number }
  /** `invalid_data`: with what is wrong. */
  | { status: 'refused'; reason: Refusal }
  | { status: 'refused'; reason: 'invalid_data'; message: string };

async function nextId(trx: Queryable): Promise<number> {
  const { rows } = await trx.query<{ id: number }>(`select nextval('${EVENT_ID_SEQUENCE}') as id`);
  return (rows[0] as { id: number }).id;
}

/**
 * Tracks an event in the caller's transaction, through the write path of all events, and lets the consumers act on it.
 *
 * It takes the lock of the event's brand, then that of its contact. A caller that locks contacts itself must take the
 * brand's lock first.
 * @returns what to do after the commit, such as waking a loop
 */
export async function trackChained(
  trx: Queryable,
  consumers: readonly TrackedEventConsumer[],
  { accountId, brandId, contactId, name, data, test, key, chainDepth, mail }: ChainedEvent,
): Promise<{ result: ChainedResult; afterCommit: (() => void)[] }> {
  const refused = (reason: Refusal) => ({
    result: { status: 'refused', reason } as const,
    afterCommit: [],
  });
  if (isReservedEventName(name)) return refused('reserved_event_name');
  const body = trackEventBody.safeParse({ event: name, contact_id: contactId, data, test });
  if (!body.success) {
    const message = body.error.issues[0]?.message ?? 'is not valid';
    return { result: { status: 'refused', reason: 'invalid_data', message }, afterCommit: [] };
  }
  const source = { accountId, brandId, test, userId: null, chainDepth, generated: true, mail };
  const nameId = await internName(trx, { brand_id: brandId, name });
  if (nameId === null) return refused('too_many_event_names');
  const event: NewEvent = { ...draftEvent(source, body.data, key), id: await nextId(trx), name_id: nameId };
  const active = await findActiveBrands(trx, consumers, [event]);
  if (active.size > 0) await lockContacts(trx, [contactId]);
  const outcomes = await writeEvents(trx, [event]);
  const kept = (await findKept(trx, outcomes[0]?.written ? [] : [event])).get(event.id);
  if (kept) return { result: { status: 'known', id: kept.id }, afterCommit: [] };
  if (!outcomes[0]?.written) return refused('contact_deleted');
  const afterCommit = await consumeEvents(trx, active, [event], outcomes);
  return { result: { status: 'tracked', id: event.id }, afterCommit };
}
