import type { Queryable } from '../../platform/db/queryable.ts';
import type { EventDraft } from './draft.ts';

/** An event that is about to be written, under an id from the sequence. */
export interface NewEvent extends EventDraft {
  id: number;
  name_id: number;
}

/** The outcome of one event. */
export interface WriteOutcome {
  /** Whether it was written. If not, its contact was not found, or an earlier request took its key. */
  written: boolean;
  contact_id: number | null;
  created_at: Date;
  /** When it was accepted. */
  updated_at: Date;
  /** The address in its usual form. */
  ip: string | null;
  /** The contact that `contact_id` names, and the one that has the address; null: there is none. */
  by_id: number | null;
  by_email: number | null;
}

export const EVENT_ID_SEQUENCE = 'contact_events_id_seq';

/** The columns of `contact_events` that an event fills, with their SQL types. */
const eventColumns = {
  id: 'bigint',
  account_id: 'bigint',
  brand_id: 'bigint',
  name_id: 'integer',
  test: 'boolean',
  chain_depth: 'smallint',
  generated: 'boolean',
  caused_by_mail: 'boolean',
  user_id: 'bigint',
  amount: 'double precision',
  data: 'jsonb',
  idempotency_key: 'text',
  resource_uid: 'text',
  resource_name: 'text',
  resource_url: 'text',
  ip: 'inet',
  user_agent: 'text',
  browser: 'text',
  os: 'text',
  device_type: 'text',
  referrer: 'text',
  utm_source: 'text',
  utm_medium: 'text',
  utm_term: 'text',
  utm_content: 'text',
  utm_campaign: 'text',
} as const satisfies Partial<Record<keyof NewEvent, string>>;

const inputColumns = {
  ...eventColumns,
  index: 'integer',
  contact_id: 'bigint',
  email_key: 'text',
  test_key: 'boolean',
  occurred_at: 'timestamptz',
  passive: 'boolean',
};

const names = Object.keys(eventColumns).join(', ');
const shape = Object.entries(inputColumns)
  .map(([name, sqlType]) => `"${name}" ${sqlType}`)
  .join(', ');

/**
 * SQL: finds the contacts, takes the keys and writes the events, in one statement.
 *
 * The share lock on contacts waits for a transaction that deletes one of them, and makes a later deletion wait, so that
 * no event outlives its contact. Keys, contacts and activity are each locked in their order, so that writers do not
 * deadlock. If two events of a group have the same key, the first takes it. `contact_activity` is not updated if it is
 * less than a minute behind.
 */
const writeSql = (gate: Pick<Gate, 'with' | 'from'>) => `
  with ${gate.with} input as materialized (
    select i.*, coalesce(i.occurred_at, now()) as created_at from json_to_recordset($1) as i (${shape}) ${gate.from}
  ), found as materialized (
    select i.index, i.contact_id, i.email_key,
      (select c.id from contacts c where c.id = i.contact_id and c.brand_id = i.brand_id) as by_id,
      (select c.id from contacts c where c.brand_id = i.brand_id and c.email_key = i.email_key) as by_email
    from input i
  ), chosen as materialized (
    select f.index, f.by_id, f.by_email,
      case when f.contact_id is null then f.by_email when f.email_key is null or f.by_id = f.by_email then f.by_id
      end as contact_id
    from found f
  ), locked as materialized (
    select c.id from contacts c where c.id in (select contact_id from chosen) order by c.id for key share of c
  ), ready as materialized (
    select i.*, l.id as contact from input i join chosen h using (index) join locked l on l.id = h.contact_id
  ), keys as (
    insert into contact_event_keys (brand_id, test, key, event_id, created_at)
    select brand_id, test_key, idempotency_key, id, created_at from ready where idempotency_key is not null
    order by brand_id, test_key, idempotency_key, index
    on conflict do nothing
    returning event_id
  ), written as (
    insert into contact_events (contact_id, created_at, ${names})
    select contact, created_at, ${names} from ready
    where idempotency_key is null or id in (select event_id from keys)
    returning id, contact_id, test, created_at, ip
  ), active as (
    insert into contact_activity as a (contact_id, last_interacted_at)
    select n.contact_id, n.at
    from (
      select w.contact_id, max(w.created_at) as at from written w join input i using (id)
      where not w.test and not i.passive group by w.contact_id
    ) n
    where not exists (
      select 1 from contact_activity k
      where k.contact_id = n.contact_id and k.last_interacted_at > n.at - interval '1 minute')
    order by n.contact_id
    on conflict (contact_id) do update set last_interacted_at = excluded.last_interacted_at
    where a.last_interacted_at < excluded.last_interacted_at
  )
  select h.index, h.by_id, h.by_email, h.contact_id, w.id is not null as written, i.created_at, now() as updated_at,
    host(w.ip) as ip
  from chosen h join input i using (index) left join written w on w.id = i.id`;

const openSql = writeSql({ with: '', from: '' });

const inputOf = (events: readonly NewEvent[]) =>
  JSON.stringify(events.map((event, index) => ({ ...event, index, email_key: event.email?.key })));

function inOrder(rows: readonly (WriteOutcome & { index: number })[]): WriteOutcome[] {
  const outcomes: WriteOutcome[] = [];
  for (const row of rows) outcomes[row.index] = row;
  return outcomes;
}

/**
 * Writes events with their idempotency keys, in one statement.
 * @param db a pool, or a client inside the caller's transaction
 * @returns the outcomes, in the order of the events
 */
export async function writeEvents(db: Queryable, events: readonly NewEvent[]): Promise<WriteOutcome[]> {
  const { rows } = await db.query<WriteOutcome & { index: number }>({
    name: 'write_contact_events_3',
    text: openSql,
    values: [inputOf(events)],
  });
  return inOrder(rows);
}

/** SQL that decides whether events can be written without a transaction. */
export interface Gate {
  /** The name of the statement. */
  name: string;
  with: string;
  from: string;
}

/**
 * @param functions see `TrackedEventConsumer.gate`
 */
export function createGate(functions: readonly string[]): Gate {
  // Added up instead of `or`: every function must run, to take its locks.
  const closed = functions.map((each) => `${each}($2, $3, $4)::int`).join(' + ');
  return {
    name: `write_contact_events_3_past_${functions.join('_')}`,
    with: `gate as materialized (select (${closed}) > 0 as closed),`,
    from: 'cross join gate where not gate.closed',
  };
}

/**
 * Like {@link writeEvents}, but writes nothing if consumers act on the events' brands.
 * @param locks the locks of those brands, in the key space `space`
 * @returns null if a consumer acts on one of the brands, and nothing was written
 */
export async function writeIdleEvents(
  db: Queryable,
  events: readonly NewEvent[],
  gate: Gate,
  { space, locks, brandIds }: { space: number; locks: readonly number[]; brandIds: readonly number[] },
): Promise<WriteOutcome[] | null> {
  const { rows } = await db.query<WriteOutcome & { index: number }>({
    name: gate.name,
    text: writeSql(gate),
    values: [inputOf(events), space, locks, brandIds],
  });
  return rows.length > 0 ? inOrder(rows) : null;
}

/** Finds which events are in the database, by their ids. */
export async function findWritten(
  db: Queryable,
  events: readonly NewEvent[],
): Promise<Map<number, WriteOutcome>> {
  const { rows } = await db.query<WriteOutcome & { id: number }>(
    `select id, true as written, contact_id, created_at, updated_at, host(ip) as ip, contact_id as by_id,
       contact_id as by_email
     from contact_events where brand_id = any($1) and id = any($2)`,
    [[...new Set(events.map((event) => event.brand_id))], events.map((event) => event.id)],
  );
  return new Map(rows.map((row) => [row.id, row]));
}

/** The event that took a key. */
export interface KeptEvent {
  id: number;
  created_at: Date;
}

/** Finds the events that took the keys of these events earlier. @returns them by the ids of `events` */
export async function findKept(db: Queryable, events: readonly NewEvent[]): Promise<Map<number, KeptEvent>> {
  const keyed = events.filter((event) => event.idempotency_key !== null);
  if (keyed.length === 0) return new Map();
  const { rows } = await db.query<KeptEvent & { asking: number }>(
    `select asked.id as asking, k.event_id as id, k.created_at
     from unnest($1::bigint[], $2::bigint[], $3::boolean[], $4::text[]) as asked (id, brand_id, test, key)
     join contact_event_keys k using (brand_id, test, key)`,
    [
      keyed.map((event) => event.id),
      keyed.map((event) => event.brand_id),
      keyed.map((event) => event.test_key),
      keyed.map((event) => event.idempotency_key),
    ],
  );
  return new Map(rows.map(({ asking, ...kept }) => [asking, kept]));
}

/**
 * Looks up the contacts of drafts, before their names have numbers.
 * @returns the contact that each draft names by id and by address, in the order of the drafts
 */
export async function findNamedContacts(
  db: Queryable,
  drafts: readonly EventDraft[],
): Promise<Pick<WriteOutcome, 'by_id' | 'by_email'>[]> {
  if (drafts.length === 0) return [];
  const { rows } = await db.query<Pick<WriteOutcome, 'by_id' | 'by_email'>>(
    `select one.id as by_id, other.id as by_email
     from unnest($1::bigint[], $2::bigint[], $3::text[]) with ordinality as i (brand_id, id, email_key, n)
     left join contacts one on one.brand_id = i.brand_id and one.id = i.id
     left join contacts other on other.brand_id = i.brand_id and other.email_key = i.email_key
     order by i.n`,
    [
      drafts.map((draft) => draft.brand_id),
      drafts.map((draft) => draft.contact_id),
      drafts.map((draft) => draft.email?.key ?? null),
    ],
  );
  return rows;
}

/** Finds the contacts that events name, so that they can be locked before the events are written. */
export async function findContactsOf(db: Queryable, events: readonly NewEvent[]): Promise<number[]> {
  const { rows } = await db.query<{ id: number }>(
    `select c.id from unnest($1::bigint[], $2::bigint[]) as i (brand_id, id) join contacts c using (brand_id, id)
     union
     select c.id from unnest($1::bigint[], $3::text[]) as i (brand_id, email_key)
     join contacts c using (brand_id, email_key)`,
    [
      events.map((event) => event.brand_id),
      events.map((event) => event.contact_id),
      events.map((event) => event.email?.key ?? null),
    ],
  );
  return rows.map((row) => row.id);
}
