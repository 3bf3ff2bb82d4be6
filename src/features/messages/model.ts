import { openStatuses, statusList } from '../../delivery/message.ts';
import type { Tenant } from '../../platform/auth/tenant.ts';
import { countRows, estimateRows, EXACT_UP_TO, type Page, type RowCount } from '../../platform/db/paging.ts';
import type { Queryable } from '../../platform/db/queryable.ts';
import type { MessageEventRow, MessageRow } from './presenter.ts';

const columns = 'm.*, c.headers';

/** True while an intent covers the message. `handovers` is small: it has at most one row per connection. */
const sendingSql = `exists (select 1 from handovers h where m.id = any(h.message_ids))`;

export interface MessageFilters {
  status?: string | undefined;
  channel?: string | undefined;
  toKey?: string | undefined;
  idempotencyKey?: string | undefined;
  createdAfter?: string | undefined;
  createdBefore?: string | undefined;
}

interface Where {
  sql: string;
  values: unknown[];
}

function where(tenant: Tenant, filters: MessageFilters): Where {
  const values: unknown[] = [tenant.brandId];
  const parts = ['m.brand_id = $1'];
  const add = (sql: (parameter: string) => string, value: unknown) => {
    if (value === undefined) return;
    values.push(value);
    parts.push(sql(`$${values.length}`));
  };
  if (filters.status === 'sending') {
    parts.push(
      `m.status in (${statusList(openStatuses)})
       and m.id = any(array(select unnest(message_ids) from handovers))`,
    );
  } else {
    add((parameter) => `m.status = ${parameter}`, filters.status);
    if (openStatuses.some((status) => status === filters.status)) parts.push(`not ${sendingSql}`);
  }
  add((parameter) => `m.channel = ${parameter}`, filters.channel);
  add((parameter) => `m.to_key = ${parameter}`, filters.toKey);
  add((parameter) => `m.idempotency_key = ${parameter}`, filters.idempotencyKey);
  add((parameter) => `m.created_at > ${parameter}`, filters.createdAfter);
  add((parameter) => `m.created_at < ${parameter}`, filters.createdBefore);
  return { sql: parts.join(' and '), values };
}

/** Finds one page of a brand's messages, newest first. */
export async function findMessages(
  client: Queryable,
  tenant: Tenant,
  filters: MessageFilters,
  page: Page,
): Promise<MessageRow[]> {
  const { sql, values } = where(tenant, filters);
  const after = page.after === null ? '' : `and m.id < ${page.after}`;
  const { rows } = await client.query<MessageRow>(
    `select ${columns}, ${sendingSql} as sending
     from messages m left join message_contents c on c.message_id = m.id
     where ${sql} ${after} order by m.id desc limit ${page.limit} offset ${page.offset}`,
    values,
  );
  return rows;
}

/** Adds the stored counts of closed days to the number of later rows. */
async function countAll(client: Queryable, tenant: Tenant): Promise<RowCount> {
  const { rows } = await client.query<{ closed: number; open: number }>(
    `with closed as (
       select coalesce(sum(count), 0)::bigint as count, coalesce(max(last_id), 0) as last_id
       from message_daily_counts where brand_id = $1)
     select closed.count as closed, (
       select count(*) from (
         select 1 from messages m where m.brand_id = $1 and m.id > closed.last_id limit ${EXACT_UP_TO + 1}) o) as open
     from closed`,
    [tenant.brandId],
  );
  const { closed, open } = rows[0] ?? { closed: 0, open: 0 };
  if (open <= EXACT_UP_TO) return { total: closed + open };
  return estimateRows(client, 'messages m where m.brand_id = $1', [tenant.brandId]);
}

/** Counts messages. With filters, the count is exact up to 100,000; above, it is the planner's estimate. */
export async function countMessages(
  client: Queryable,
  tenant: Tenant,
  filters: MessageFilters,
): Promise<RowCount> {
  const filtered = Object.values(filters).some((value) => value !== undefined);
  if (!filtered) return countAll(client, tenant);
  const { sql, values } = where(tenant, filters);
  return countRows(client, `messages m where ${sql}`, values);
}

/** @returns null if this brand has no such message */
export async function findMessage(
  client: Queryable,
  tenant: Tenant,
  id: number,
): Promise<(MessageRow & { html: string | null; text: string | null }) | null> {
  const { rows } = await client.query<MessageRow & { html: string | null; text: string | null }>(
    `select ${columns}, c.html, c.text, ${sendingSql} as sending
     from messages m left join message_contents c on c.message_id = m.id
     where m.brand_id = $1 and m.id = $2`,
    [tenant.brandId, id],
  );
  return rows[0] ?? null;
}

/** Finds the stored events of each attempt, in no order. */
export async function findMessageEvents(client: Queryable, id: number): Promise<MessageEventRow[]> {
  const { rows } = await client.query<MessageEventRow>(
    'select type, attempt, occurred_at, data from message_events where message_id = $1',
    [id],
  );
  return rows;
}
