/** Decides which fetches were a person's first open or click, and publishes the events. */
import type pg from 'pg';
import { type Interaction, recordInteractions } from '../../delivery/ledger/effects/contact-effects.ts';
import { messageClasses } from '../../delivery/terms/message.ts';
import { countFlowInteractions } from '../../delivery/ledger/effects/flow-counts.ts';
import { emailEventData } from '../../delivery/terms/events.ts';
import { inTransaction, type Queryable } from '../../platform/db/queryable.ts';
import { isRefusedData, withoutRefused } from '../../platform/db/refused-data.ts';
import { createEvent, type PublishedEvent } from '../../platform/events/define.ts';
import type { EventPublisher, QueuedWork } from '../../platform/events/publish.ts';
import { BURST_SECONDS, findBurst, type LinkFetch } from './bursts.ts';
import { trackingEvents } from './events.ts';
import { type DueFetch, type First, storeFirsts } from './firsts.ts';

/** Maximum number of fetches decided in one transaction. */
const BATCH = 500;
/** How long a decided fetch is kept as evidence for others. */
const EVIDENCE_SECONDS = 60;
const CLEANED_AT_ONCE = 5_000;

interface Burst {
  message_id: number;
  from: number;
  to: number;
}

export interface DecisionDeps {
  pool: pg.Pool;
  events: EventPublisher;
}

export interface Decided {
  fetches: number;
  /** The channels to wake. */
  queued: QueuedWork;
  /** Fetches that were given up, because the database refuses their consequences. */
  refused: { messageId: number; error: unknown }[];
}

const dueColumns =
  'message_id, account_id, link, links, extract(epoch from fetched_at)::float8 as second, url, user_agent';

/** SQL: whether there are fetches to decide or to forget. */
export const fetchesWaitSql = `exists (select from tracking_fetches where due_at <= now())
  or exists (select from tracking_fetches
    where due_at is null and fetched_at < now() - interval '${EVIDENCE_SECONDS} seconds')`;

/** Locks due fetches that no other worker is deciding. */
async function takeDue(client: Queryable, asOf: Date): Promise<DueFetch[]> {
  const { rows } = await client.query<DueFetch>({
    name: 'take_due_fetches',
    text: `
    select ${dueColumns} from tracking_fetches where due_at <= $1 order by due_at limit ${BATCH} for update skip locked`,
    values: [asOf],
  });
  return rows;
}

/** Locks the given fetches that are still due. */
async function takeThese(client: Queryable, fetches: readonly DueFetch[]): Promise<DueFetch[]> {
  const { rows } = await client.query<DueFetch>(
    `select ${dueColumns} from tracking_fetches
     where due_at is not null and (message_id, link, fetched_at) in (
       select message_id, link, to_timestamp(second)
       from json_to_recordset($1) as i (message_id bigint, link smallint, second float8))
     order by due_at for update skip locked`,
    [JSON.stringify(fetches)],
  );
  return rows;
}

/** Finds when the links of the messages were fetched around that time, grouped by message and ordered by time. */
async function findEvidence(
  client: Queryable,
  due: readonly DueFetch[],
): Promise<ReadonlyMap<number, LinkFetch[]>> {
  const several = due.filter(({ links }) => links > 1);
  if (several.length === 0) return new Map();
  const seconds = several.map(({ second }) => second);
  const { rows } = await client.query<LinkFetch & { message_id: number }>({
    name: 'find_fetches',
    text: `
    select message_id, link, extract(epoch from fetched_at)::float8 as second from tracking_fetches
    where message_id = any($1) and link > 0 and fetched_at between to_timestamp($2) and to_timestamp($3)
    order by fetched_at`,
    values: [
      [...new Set(several.map((each) => each.message_id))],
      Math.min(...seconds) - BURST_SECONDS,
      Math.max(...seconds) + BURST_SECONDS,
    ],
  });
  return Map.groupBy(rows, (row) => row.message_id);
}

/**
 * Only transactional email publishes these events (interface §6.3), and never about deleted contacts. A brand that has
 * turned tracking off gets no events about earlier mail either, although its links and pixels still point here.
 */
function eventOf(first: First): PublishedEvent | null {
  if (!first.wanted) return null;
  if (first.channel !== 'email' || first.class !== messageClasses.transactional || first.test) return null;
  if (first.to === null) return null;
  const { account_id: accountId, brand_id: brandId, occurred_at: occurredAt, user_agent, url } = first;
  const occurrence = { accountId, brandId, occurredAt };
  const data = { ...emailEventData(first), user_agent };
  return first.link === 0
    ? createEvent(trackingEvents.opened, { ...occurrence, data })
    : createEvent(trackingEvents.clicked, { ...occurrence, data: { ...data, url: url ?? '' } });
}

/**
 * The interactions of contacts, with at most one of each kind for each message. The firsts of a message are ordered by
 * link.
 */
function interactionsOf(firsts: readonly First[]): Interaction[] {
  const ofContacts = firsts.flatMap((first) =>
    first.contact_id === null || first.test ? [] : [{ ...first, contact_id: first.contact_id }],
  );
  const clicks = new Map<number, Date>();
  for (const { id, link, occurred_at: at } of ofContacts) {
    const earliest = clicks.get(id);
    if (link > 0 && (!earliest || at < earliest)) clicks.set(id, at);
  }
  return ofContacts.map(({ id, brand_id, contact_id, link, occurred_at, was_opened, was_clicked }) => {
    const isOpen = link === 0 && !was_opened;
    const isClick = link > 0 && !was_clicked && clicks.get(id) === occurred_at;
    const kind = isOpen ? 'opened' : isClick ? 'clicked' : null;
    return { messageId: id, brandId: brand_id, contactId: contact_id, occurredAt: occurred_at, kind };
  });
}

/** The first open and the first click of each message of a flow. */
function ofFlows(firsts: readonly First[]): { messageId: number; name: 'opened' | 'clicked' }[] {
  const those = firsts.filter((first) => first.class === messageClasses.flow);
  const opened = those.filter(({ link, was_opened }) => link === 0 && !was_opened);
  const clicked = those.filter(({ link, was_clicked }) => link > 0 && !was_clicked);
  const idsOf = (some: readonly First[]) => [...new Set(some.map(({ id }) => id))];
  return [
    ...idsOf(opened).map((messageId) => ({ messageId, name: 'opened' as const })),
    ...idsOf(clicked).map((messageId) => ({ messageId, name: 'clicked' as const })),
  ];
}

/** Marks the hits that belong to bursts. */
async function markBursts(client: Queryable, bursts: readonly Burst[]): Promise<void> {
  if (bursts.length === 0) return;
  await client.query({
    name: 'mark_bursts',
    text: `
    update tracking_hits h set is_bot = true, reason = 'all_links'
    from json_to_recordset($1) as b (message_id bigint, "from" float8, "to" float8)
    where h.message_id = b.message_id and not h.is_bot and h.reason is distinct from 'image_proxy'
      and h.created_at >= to_timestamp(b."from") and h.created_at < to_timestamp(b."to" + 1)
      and h.created_at between to_timestamp($2) and to_timestamp($3)`,
    values: [
      JSON.stringify(bursts),
      Math.min(...bursts.map(({ from }) => from)),
      Math.max(...bursts.map(({ to }) => to)) + 1,
    ],
  });
}

/** Keeps decided fetches that are evidence for others, and deletes the rest. */
async function keepEvidence(client: Queryable, due: readonly DueFetch[]): Promise<void> {
  await client.query({
    name: 'finish_fetches',
    text: `
    with input as (
      select * from json_to_recordset($1) as i (message_id bigint, link smallint, links smallint, second float8)
    ), deleted as (
      delete from tracking_fetches f using input i
      where f.message_id = i.message_id and f.link = i.link and f.fetched_at = to_timestamp(i.second)
        and (i.link = 0 or i.links < 2)
    )
    update tracking_fetches f set due_at = null from input i
    where f.message_id = i.message_id and f.link = i.link and f.fetched_at = to_timestamp(i.second)
      and i.link > 0 and i.links > 1`,
    values: [JSON.stringify(due)],
  });
}

function judgeFetches(due: readonly DueFetch[], evidence: ReadonlyMap<number, LinkFetch[]>) {
  const human: DueFetch[] = [];
  const bursts = new Map<string, Burst>();
  for (const fetch of due) {
    const { message_id, second, links } = fetch;
    const burst = findBurst(second, links, evidence.get(message_id) ?? []);
    if (burst) bursts.set(`${message_id} ${burst.from} ${burst.to}`, { message_id, ...burst });
    else human.push(fetch);
  }
  return { human, bursts: [...bursts.values()] };
}

/** Decides locked fetches. */
async function decide(
  client: Queryable,
  due: readonly DueFetch[],
  events: EventPublisher,
): Promise<QueuedWork> {
  if (due.length === 0) return new Map();
  const { human, bursts } = judgeFetches(due, await findEvidence(client, due));
  const firsts = await storeFirsts(client, human);
  const queued = await events.publish(
    client,
    firsts.flatMap((first) => eventOf(first) ?? []),
  );
  await recordInteractions(client, interactionsOf(firsts));
  await countFlowInteractions(client, ofFlows(firsts));
  await markBursts(client, bursts);
  await keepEvidence(client, due);
  return queued;
}

/** Decides fetches, and gives up those that the database refuses, so that they do not block all others forever. */
async function decideWithoutRefused(
  { pool, events }: DecisionDeps,
  due: readonly DueFetch[],
): Promise<Decided> {
  const queued = new Map<string, number>();
  const refused: Decided['refused'] = [];
  await withoutRefused(
    due,
    async (part) => {
      const work = await inTransaction(pool, async (client) =>
        decide(client, await takeThese(client, part), events),
      );
      for (const [channel, count] of work) queued.set(channel, (queued.get(channel) ?? 0) + count);
    },
    async (fetch, error) => {
      await keepEvidence(pool, [fetch]);
      refused.push({ messageId: fetch.message_id, error });
    },
  );
  return { fetches: due.length, queued, refused };
}

/**
 * Decides one batch of due fetches in one transaction: whether a person made them, the first open and clicks of each
 * message, and the events. If the process dies, the transaction is rolled back and another worker decides them.
 */
export async function decideFetches(deps: DecisionDeps, asOf: Date): Promise<Decided> {
  let due: DueFetch[] = [];
  try {
    const queued = await inTransaction(deps.pool, async (client) => {
      due = await takeDue(client, asOf);
      return decide(client, due, deps.events);
    });
    return { fetches: due.length, queued, refused: [] };
  } catch (error) {
    if (!isRefusedData(error)) throw error;
    return decideWithoutRefused(deps, due);
  }
}

/** Deletes fetches that are no longer evidence. @returns whether there may be more of them */
export async function forgetFetches(client: Queryable, asOf: Date): Promise<boolean> {
  const { rowCount } = await client.query({
    name: 'forget_fetches',
    text: `
    delete from tracking_fetches where ctid = any (array(
      select ctid from tracking_fetches where due_at is null and fetched_at < $1
      limit ${CLEANED_AT_ONCE} for update skip locked))`,
    values: [new Date(asOf.getTime() - EVIDENCE_SECONDS * 1_000)],
  });
  return (rowCount ?? 0) === CLEANED_AT_ONCE;
}
