import type { BrandScope } from '../../platform/db/model.ts';
import { countRows, type Page, plannedRows, type RowCount } from '../../platform/db/paging.ts';
import { exactTime, type Queryable } from '../../platform/db/queryable.ts';

/**
 * SQL: whether mail caused an event `e`, itself or through flows, so that its data may have texts of a stranger. If it
 * was not stored, each event of a flow counts: the flow may have copied a mail into it.
 * @param name the name of the event
 */
export const causedByMailSql = (name: string): string =>
  `coalesce(e.caused_by_mail, e.generated and (e.chain_depth > 0 or ${name} = 'email_received'))`;

/** A row of `contact_events` with the name of its event. */
export interface EventRow {
  id: number;
  account_id: number;
  contact_id: number;
  user_id: number | null;
  chain_depth: number;
  event: string;
  amount: number | null;
  data: Record<string, unknown> | null;
  idempotency_key: string | null;
  resource_uid: string | null;
  resource_name: string | null;
  resource_url: string | null;
  test: boolean;
  generated: boolean;
  caused_by_mail: boolean;
  ip: string | null;
  user_agent: string | null;
  browser: string | null;
  os: string | null;
  device_type: string | null;
  referrer: string | null;
  utm_source: string | null;
  utm_medium: string | null;
  utm_term: string | null;
  utm_content: string | null;
  utm_campaign: string | null;
  created_at: Date;
  updated_at: Date;
}

/** SQL: the columns of an event `e` with its name `n`. */
const COLUMNS = `e.id, e.account_id, e.contact_id, e.user_id, e.chain_depth, n.name as event, e.amount, e.data,
  e.idempotency_key, e.resource_uid, e.resource_name, e.resource_url, e.test, e.generated,
  ${causedByMailSql('n.name')} as caused_by_mail, host(e.ip) as ip,
  e.user_agent, e.browser, e.os, e.device_type, e.referrer, e.utm_source, e.utm_medium, e.utm_term, e.utm_content,
  e.utm_campaign, e.created_at, e.updated_at`;

/** The filters of clients. A contact or name that does not exist is 0, which matches nothing. */
export interface EventFilters {
  nameId?: number | undefined;
  contactIds: readonly number[];
  test?: boolean | undefined;
  createdAfter?: Date | undefined;
  createdBefore?: Date | undefined;
}

interface Conditions {
  /** SQL over `e`. */
  all: string[];
  values: unknown[];
}

function conditionsOf({ brandId }: BrandScope, filters: EventFilters): Conditions {
  const values: unknown[] = [brandId];
  const all = ['e.brand_id = $1'];
  const add = (sql: string, value: unknown) => {
    if (value !== undefined) all.push(`${sql} $${values.push(value)}`);
  };
  add('e.name_id =', filters.nameId);
  for (const contactId of filters.contactIds) add('e.contact_id =', contactId);
  add('e.created_at >', filters.createdAfter);
  add('e.created_at <', filters.createdBefore);
  // A literal, so that the planner sees that it can use the index of test events.
  if (filters.test !== undefined) all.push(filters.test ? 'e.test' : 'not e.test');
  return { all, values };
}

/** Where a page begins: after this event in the order of the list. */
interface Cursor {
  /** With microseconds. */
  at: string;
  id: number;
}

/** @returns null if the brand has no event with this id or a lower one */
async function findCursor(db: Queryable, { brandId }: BrandScope, after: number): Promise<Cursor | null> {
  const { rows } = await db.query<Cursor>(
    `select e.id, ${exactTime('e.created_at')} as at from contact_events e
     where e.brand_id = $1 and e.id <= $2 order by e.id desc limit 1`,
    [brandId, after],
  );
  const found = rows[0];
  if (!found) return null;
  // If the event itself has been deleted, the brand's event before it must still be shown.
  return found.id === after ? found : { ...found, id: found.id + 1 };
}

/** Finds a page of events, ordered by the time of the event, newest first. */
export async function findEvents(
  db: Queryable,
  tenant: BrandScope,
  filters: EventFilters,
  page: Page,
): Promise<EventRow[]> {
  const { all, values } = conditionsOf(tenant, filters);
  if (page.after !== null) {
    const cursor = await findCursor(db, tenant, page.after);
    if (!cursor) return [];
    const at = `$${values.push(cursor.at)}::timestamptz`;
    // The first condition is for indexes and partitions, which know only the time.
    all.push(`e.created_at <= ${at}`, `(e.created_at, e.id) < (${at}, $${values.push(cursor.id)})`);
  }
  const { rows } = await db.query<EventRow>(
    `select ${COLUMNS}
     from (
       select * from contact_events e where ${all.join(' and ')}
       order by e.created_at desc, e.id desc limit ${page.limit} offset ${page.offset}
     ) e join event_names n on n.id = e.name_id
     order by e.created_at desc, e.id desc`,
    values,
  );
  return rows;
}

export function countEvents(db: Queryable, tenant: BrandScope, filters: EventFilters): Promise<RowCount> {
  const { all, values } = conditionsOf(tenant, filters);
  return countRows(db, `contact_events e where ${all.join(' and ')}`, values);
}

/** The planner's estimate of {@link countEvents}. */
export function planEvents(db: Queryable, tenant: BrandScope, filters: EventFilters): Promise<number> {
  const { all, values } = conditionsOf(tenant, filters);
  return plannedRows(db, `contact_events e where ${all.join(' and ')}`, values);
}

/** @returns 0 if the brand has no such name */
export async function findNameId(db: Queryable, { brandId }: BrandScope, name: string): Promise<number> {
  const { rows } = await db.query<{ id: number }>(
    'select id from event_names where brand_id = $1 and name = $2',
    [brandId, name],
  );
  return rows[0]?.id ?? 0;
}

/** @returns 0 if no contact of the brand has the address */
export async function findContactByEmail(
  db: Queryable,
  { brandId }: BrandScope,
  key: string,
): Promise<number> {
  const { rows } = await db.query<{ id: number }>(
    'select id from contacts where brand_id = $1 and email_key = $2',
    [brandId, key],
  );
  return rows[0]?.id ?? 0;
}

/** @returns null if the brand has no such event */
export async function findEvent(
  db: Queryable,
  { brandId }: BrandScope,
  id: number,
): Promise<EventRow | null> {
  const { rows } = await db.query<EventRow>({
    name: 'find_contact_event',
    text: `select ${COLUMNS} from contact_events e join event_names n on n.id = e.name_id
      where e.brand_id = $1 and e.id = $2`,
    values: [brandId, id],
  });
  return rows[0] ?? null;
}

/** Deletes an event and its key, which can then be used again. @returns null if the brand has no such event */
export async function deleteEvent(
  db: Queryable,
  { brandId }: BrandScope,
  id: number,
): Promise<EventRow | null> {
  const { rows } = await db.query<EventRow>(
    `with e as (
       delete from contact_events where brand_id = $1 and id = $2 returning *
     ), freed as (
       delete from contact_event_keys k using e
       where k.brand_id = $1 and k.test in (false, true) and k.key = e.idempotency_key and k.event_id = e.id
     )
     select ${COLUMNS} from e join event_names n on n.id = e.name_id`,
    [brandId, id],
  );
  return rows[0] ?? null;
}
