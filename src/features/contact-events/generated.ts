/** Events that Carillon itself tracks, such as mail that arrived. */
import type { Queryable } from '../../platform/db/queryable.ts';
import { consumeEvents, findActiveBrands, lockContacts, type TrackedEventConsumer } from './consumers.ts';
import { type CausingMail, draftEvent } from './draft.ts';
import { internReserved } from './names.ts';
import type { ReservedEventName } from './schema.ts';
import { EVENT_ID_SEQUENCE, type NewEvent, writeEvents } from './write-events.ts';

/** An event that Carillon tracks. */
export interface GeneratedEvent {
  accountId: number;
  brandId: number;
  contactId: number;
  /** At most 32 KB of JSON. */
  data: Readonly<Record<string, unknown>>;
  /** Makes the event unique in the brand. */
  key: string;
  /** Whether it is no interaction of the contact, and does not change `last_interacted_at`. */
  passive: boolean;
  /** The mail that the event reports; null: it reports something else. */
  mail: CausingMail | null;
}

async function takeIds(trx: Queryable, count: number): Promise<number[]> {
  const { rows } = await trx.query<{ id: number }>(
    `select nextval('${EVENT_ID_SEQUENCE}') as id from generate_series(1, $1)`,
    [count],
  );
  return rows.map(({ id }) => id);
}

async function newEvents(
  trx: Queryable,
  name: ReservedEventName,
  events: readonly GeneratedEvent[],
): Promise<NewEvent[]> {
  const nameIds = await internReserved(trx, [...new Set(events.map(({ brandId }) => brandId))], name);
  const ids = await takeIds(trx, events.length);
  return events.map(({ accountId, brandId, contactId, data, key, passive, mail }, index) => {
    const source = { accountId, brandId, test: false, userId: null, chainDepth: 0, generated: true, mail };
    const draft = draftEvent(source, { event: name, contact_id: contactId, data, test: false }, key, passive);
    return { ...draft, id: ids[index] as number, name_id: nameIds.get(brandId) as number };
  });
}

/**
 * Tracks events in the caller's transaction, through the write path of all events, and lets the consumers act on them.
 * Events whose contacts do not exist, and those whose keys were used before, are left out.
 *
 * It takes the locks of the events' brands, then those of their contacts, each in ascending order. So call it once in a
 * transaction, with all its events, and take the locks of the brands (`lockBrands`) before any of contacts.
 * @returns what to do after the commit, such as waking a loop
 */
export async function trackGenerated(
  trx: Queryable,
  consumers: readonly TrackedEventConsumer[],
  name: ReservedEventName,
  events: readonly GeneratedEvent[],
): Promise<(() => void)[]> {
  if (events.length === 0) return [];
  const fresh = await newEvents(trx, name, events);
  const active = await findActiveBrands(trx, consumers, fresh);
  const brands = [...active.values()];
  const consumed = fresh.filter((event) => brands.some((ids) => ids.has(event.brand_id)));
  if (consumed.length > 0) {
    await lockContacts(
      trx,
      consumed.map((event) => event.contact_id as number),
    );
  }
  return consumeEvents(trx, active, fresh, await writeEvents(trx, fresh));
}
