import { answersMailSql } from '../../delivery/ledger/accept/answered-mail.ts';
import { queueChannels } from '../../delivery/terms/channels/queue-channel.ts';
import { messageClasses, openStatuses, statusList } from '../../delivery/terms/message.ts';
import { TEST_PROVIDER } from '../../delivery/ledger/accept/test-messages.ts';
import type { Tenant } from '../../platform/auth/tenant.ts';
import { keySpace } from '../../platform/db/idempotency.ts';
import { countRows, EXACT_UP_TO, type Page, plannedRows, type RowCount } from '../../platform/db/paging.ts';
import type { Queryable } from '../../platform/db/queryable.ts';
import { skipNewerDays } from './deep-page.ts';
import { MESSAGES_ENDPOINT } from './message-key.ts';
import { findIdSpan, type IdSpan } from './id-span.ts';
import { MESSAGE_JOINS, messageColumns, sendingSql, subjectSql } from './model.ts';
import type { MessageRow } from './presenter.ts';

/**
 * Maximum number of messages that a filter without an index reads for one page, newest first. The next page continues
 * after them.
 */
export const MAX_LOOKED_AT = 5_000;

export interface MessageFilters {
  status?: string | undefined;
  channel?: string | undefined;
  /** Several if the text may mean several phone numbers. */
  toKey?: string | readonly string[] | undefined;
  idempotencyKey?: string | undefined;
  /** A part of the subject, in any letter case. */
  subject?: string | undefined;
  templateId?: number | undefined;
  contactId?: number | undefined;
  createdAfter?: string | undefined;
  createdBefore?: string | undefined;
  /** Only messages of test keys and test runs. */
  test?: true | undefined;
  /** Only messages that a send-only key sent. */
  sendKeyId?: number | undefined;
}

/** SQL conditions over `m`, with their values. */
interface Conditions {
  /**
   * Conditions that use an index, and those on times, for which the span of ids leaves only a few messages to compare.
   */
  found: string[];
  /** Conditions that are checked message by message. */
  checked: string[];
  /** The values of `found` come first. */
  values: unknown[];
  /** Number of values that `found` uses. */
  foundValues: number;
}

/** SQL: the messages of an account that open intents cover: at most a batch for each connection of the senders. */
const sendingIdsSql = (accountId: string) => `m.id = any(array(
  select q.message_id from handovers h cross join unnest(h.message_ids) as i (id)
  join send_queue q on q.message_id = i.id and q.owner = h.owner and q.account_id = ${accountId}
  union all
  select unnest(h.message_ids) from campaign_blocks b join handovers h
    on h.owner = b.owner and h.campaign_id = b.campaign_id and h.block_n = b.n and h.block_epoch = b.claim_epoch
  where b.owner is not null and b.account_id = ${accountId}))`;

/** How many scheduled messages of an account a list finds in each queue, those of a provider that are due next first. */
const MAX_SCHEDULED = 10_000;

const queueList = queueChannels.map((queue) => `'${queue}'`).join(', ');

/** SQL: the messages of an account that wait for their time. Those of test keys are in no queue. */
const scheduledIdsSql = (accountId: string) => `m.id = any(array(
  select q.message_id from unnest(array[${queueList}]) as c (queue) cross join lateral (
    select s.message_id from send_queue s
    where s.owner is null and s.channel = c.queue and s.class = ${messageClasses.transactional}
      and s.account_id = ${accountId} and s.due_at > now() and s.queued_at > now()
    order by s.provider_id, s.due_at limit ${MAX_SCHEDULED}) q
  union all
  (select t.message_id from test_messages t where t.account_id = ${accountId} and t.ends_at > now() limit ${MAX_SCHEDULED})))`;

/** SQL conditions that the shown states need, in addition to or instead of the stored one. */
const shownSql: Partial<Record<string, string>> = {
  sending: `m.status in (${statusList(openStatuses)})`,
  scheduled: `m.status = 'queued' and m.scheduled_at > now()`,
};

/** SQL: whether the content of the message `m` is a version of a template of the brand `$1`. */
const ofTemplateSql = (id: string) => `m.content_version_id = any(array(
  select v.id from template_versions v where v.template_id = ${id} and v.brand_id = $1))`;

export async function findByKey(
  client: Queryable,
  tenant: Pick<Tenant, 'brandId'>,
  key: string,
): Promise<number[]> {
  const { rows } = await client.query<{ id: number }>(
    'select resource_id as id from idempotency_keys where brand_id = $1 and endpoint = any($2) and key = $3',
    [tenant.brandId, [keySpace(MESSAGES_ENDPOINT, false), keySpace(MESSAGES_ENDPOINT, true)], key],
  );
  return rows.map((row) => row.id);
}

/** @param keyed the messages of the filter's idempotency key, if that key is still kept */
export function conditionsOf(
  tenant: Pick<Tenant, 'accountId' | 'brandId'>,
  filters: MessageFilters,
  span: IdSpan | null,
  keyed: number[],
): Conditions {
  const found = ['m.brand_id = $1'];
  const checked: string[] = [];
  const values: unknown[] = [tenant.brandId];
  const parameter = (value: unknown) => `$${values.push(value)}`;
  const add = (list: string[], sql: (parameter: string) => string, value: unknown) => {
    if (value !== undefined) list.push(sql(parameter(value)));
  };
  // `m.test` has an index, so live messages are not read.
  if (filters.test) found.push('m.test');
  const isOne = typeof filters.toKey === 'string';
  add(found, (key) => (isOne ? `m.to_key = ${key}` : `m.to_key = any(${key}::text[])`), filters.toKey);
  add(found, (id) => `m.id > ${id}`, span?.after);
  add(found, (id) => `m.id < ${id}`, span?.before);
  add(found, (time) => `m.created_at > ${time}`, filters.createdAfter);
  add(found, (time) => `m.created_at < ${time}`, filters.createdBefore);
  if (keyed.length > 0) add(found, (ids) => `m.id = any(${ids})`, keyed);
  if (filters.status === 'sending') add(found, sendingIdsSql, tenant.accountId);
  if (filters.status === 'scheduled') add(found, scheduledIdsSql, tenant.accountId);
  const foundValues = values.length;

  const shown = shownSql[filters.status ?? ''];
  if (shown !== undefined) checked.push(shown);
  else add(checked, (status) => `m.status = ${status}`, filters.status);
  if (filters.status === 'queued') checked.push('(m.scheduled_at is null or m.scheduled_at <= now())');
  if (openStatuses.some((status) => status === filters.status)) checked.push(`not ${sendingSql}`);
  if (filters.test) add(checked, (provider) => `m.provider = ${provider}`, TEST_PROVIDER);
  // Test keys do not see recipients and subjects of test runs, so they cannot find them by these.
  if (filters.test && (filters.toKey ?? filters.subject) !== undefined) checked.push('m.flow_id is null');
  add(checked, (id) => `m.send_key_id = ${id}`, filters.sendKeyId);
  add(checked, (channel) => `m.channel = ${channel}`, filters.channel);
  add(checked, (key) => `m.idempotency_key = ${key}`, filters.idempotencyKey);
  add(checked, (id) => `m.contact_id = ${id}`, filters.contactId);
  add(checked, ofTemplateSql, filters.templateId);
  add(checked, (text) => `strpos(lower(${subjectSql}), lower(${text})) > 0`, filters.subject);
  return { found, checked, values, foundValues };
}

const allOf = (conditions: readonly string[]) => conditions.join(' and ');

/** SQL: the messages that `checked` filters, newest first, at most {@link MAX_LOOKED_AT}. */
const lookedAtSql = (found: readonly string[]) =>
  `(select m.* from messages m where ${allOf(found)} order by m.id desc limit ${MAX_LOOKED_AT})`;

async function findPage(client: Queryable, conditions: Conditions, page: Page): Promise<MessageRow[]> {
  const { found, checked, values } = conditions;
  const below = page.after === null ? found : [...found, `m.id < ${page.after}`];
  const source =
    checked.length > 0
      ? `${lookedAtSql(below)} m where ${allOf(checked)}`
      : `messages m where ${allOf(below)}`;
  const { rows } = await client.query<MessageRow>(
    `select ${messageColumns}, ${sendingSql} as sending, ${answersMailSql('m')} as answers_mail
     from (select m.* from ${source} order by m.id desc limit ${page.limit} offset ${page.offset}) m
     ${MESSAGE_JOINS} order by m.id desc`,
    values,
  );
  return rows;
}

/** @returns the id of the last message that the page read; null if it read them all */
async function findEndOfLook(
  client: Queryable,
  { found, values, foundValues }: Conditions,
  page: Page,
): Promise<number | null> {
  const below = page.after === null ? found : [...found, `m.id < ${page.after}`];
  const { rows } = await client.query<{ id: number }>(
    `select m.id from messages m where ${allOf(below)} order by m.id desc offset ${MAX_LOOKED_AT - 1} limit 1`,
    values.slice(0, foundValues),
  );
  return rows[0]?.id ?? null;
}

/** Adds the stored counts of closed days to the number of later rows. */
async function countAll(client: Queryable, tenant: Tenant): Promise<RowCount> {
  const { rows } = await client.query<{ closed: number; open: number; last_id: number }>(
    `with closed as (
       select coalesce(sum(count), 0)::bigint as count, coalesce(max(last_id), 0) as last_id
       from message_daily_counts where brand_id = $1)
     select closed.count as closed, closed.last_id, (
       select count(*) from (
         select 1 from messages m where m.brand_id = $1 and m.id > closed.last_id limit ${EXACT_UP_TO + 1}) o) as open
     from closed`,
    [tenant.brandId],
  );
  const { closed, open, last_id: lastId } = rows[0] ?? { closed: 0, open: 0, last_id: 0 };
  if (open <= EXACT_UP_TO) return { total: closed + open };
  const planned = await plannedRows(client, 'messages m where m.brand_id = $1 and m.id > $2', [
    tenant.brandId,
    lastId,
  ]);
  return { total: closed + Math.max(planned, open), estimated: true };
}

/** Counts the matches among the newest messages. If there are more messages, returns PostgreSQL's estimate instead. */
async function countChecked(client: Queryable, { found, checked, values }: Conditions): Promise<RowCount> {
  const matches = checked.length > 0 ? `count(*) filter (where ${allOf(checked)})` : 'count(*)';
  const { rows } = await client.query<{ matched: number; looked_at: number }>(
    `select ${matches} as matched, count(*) as looked_at from ${lookedAtSql(found)} m`,
    values,
  );
  const { matched, looked_at: lookedAt } = rows[0] ?? { matched: 0, looked_at: 0 };
  if (lookedAt < MAX_LOOKED_AT) return { total: matched };
  const planned = await plannedRows(client, `messages m where ${allOf([...found, ...checked])}`, values);
  return { total: Math.max(planned, matched), estimated: true };
}

const givenFilters = (filters: MessageFilters) =>
  Object.entries(filters).flatMap(([name, value]) => (value === undefined ? [] : [name]));

function count(
  client: Queryable,
  tenant: Tenant,
  filters: MessageFilters,
  conditions: Conditions,
): Promise<RowCount> {
  const given = givenFilters(filters);
  if (given.length === 0) return countAll(client, tenant);
  const { found, values } = conditions;
  const byRecipient = given.every((name) => name === 'toKey');
  return byRecipient
    ? countRows(client, `messages m where ${allOf(found)}`, values)
    : countChecked(client, conditions);
}

/**
 * Finds one page of a brand's messages, newest first, and counts them. Filters without an index read at most
 * {@link MAX_LOOKED_AT} messages. If these do not fill the page, `continueAfter` of the count is the last one read, and
 * the total is an estimate.
 */
export async function listMessages(
  client: Queryable,
  tenant: Tenant,
  filters: MessageFilters,
  page: Page,
): Promise<{ rows: MessageRow[]; counted: RowCount }> {
  const [span, keyed] = await Promise.all([
    findIdSpan(client, tenant.brandId, filters),
    filters.idempotencyKey === undefined ? [] : findByKey(client, tenant, filters.idempotencyKey),
  ]);
  const conditions = conditionsOf(tenant, filters, span, keyed);
  const findRows = async () => {
    const isWhole = givenFilters(filters).length === 0;
    return findPage(client, conditions, isWhole ? await skipNewerDays(client, tenant.brandId, page) : page);
  };
  const [rows, counted] = await Promise.all([findRows(), count(client, tenant, filters, conditions)]);
  if (rows.length === page.limit || conditions.checked.length === 0) return { rows, counted };
  const end = await findEndOfLook(client, conditions, page);
  return { rows, counted: end === null ? counted : { ...counted, continueAfter: end } };
}
