/**
 * Records plain messages: transactional emails that a provider accepted at the first attempt. The function runs only
 * the few statements that such messages need. It has the same effects as the general statement in `record-sql.ts`.
 */
import { LRUCache } from 'lru-cache';
import type pg from 'pg';
import { defineStatement } from '../../../platform/db/statements.ts';
import { type Publication, type QueuedWork, toEventRow } from '../../../platform/events/publish.ts';
import { emailEvents, emailEventsOf } from '../../terms/events.ts';
import { messageClasses } from '../../terms/message.ts';
import { NOT_PLAIN } from '../claim/take.ts';
import type { OutcomeRecord } from './outcomes.ts';
import type { BatchRecord } from './record.ts';

/** How long the events of a brand are published with the record after a consumer wanted one. */
const WANTED_MS = 600_000;
/** How long messages are not recorded this way after the server could not run the function. */
const UNABLE_MS = 60_000;
/** An older database does not have the function. */
const MISSING_FUNCTION = '42883';
const MAX_REMEMBERED = 10_000;

const isPlain = (outcome: OutcomeRecord) =>
  outcome.status === 'sent' &&
  outcome.queue === 'delete' &&
  outcome.attempt === 1 &&
  outcome.message.class === messageClasses.transactional &&
  outcome.message.channel === 'email' &&
  !outcome.giveBack &&
  !outcome.suppress &&
  outcome.keep === null &&
  outcome.versionId === null;

const CALL = 'record_plain_messages_v2($1, $2, $3, $4, $5, $6, $7)';

const publishedSql = (publication: Publication): string => `
    with recorded as materialized (
      select ${CALL} as tests
    ), new_events as materialized (
      select gen_random_uuid() as id, e.*
      from recorded r cross join json_to_recordset($8) as e (message_id bigint, ${publication.columns})
      where e.message_id <> all(r.tests) and ${publication.interest('e.brand_id', 'e.type')}
    ), ${publication.ctes}
    select tests is not null as recorded, ${publication.counts} as counts,
      array(select distinct brand_id from new_events) as wanted
    from recorded`;

export const recordPlainStatement = defineStatement({
  from: import.meta.url,
  sentBy: 'recordAsPlain',
  does: 'Records plain messages that a provider has accepted. Only one of its shapes publishes events.',
  parameters: [
    'bigint[]: the processes whose intents end',
    'bigint[]: and the numbers of these intents',
    'bigint[]: the messages, in their order',
    'text[]: the response of the provider to each',
    'text[]: the id that the provider gave each, or null',
    'text: the provider',
    'boolean: whether recipients may be contacts',
    'json: the events of the messages or, if no consumer wants them, the brands',
  ],
  shapes: {
    record_plain_messages: { publishes: false },
    record_and_publish_plain_messages: { publishes: true },
  },
  when: {
    record_plain_messages: 'messages whose events no consumer wants; if one does, nothing is recorded',
    record_and_publish_plain_messages: 'messages whose events a consumer may want',
  },
  version: 3,
  compose: ({ publishes }: { publishes: boolean }, { publication }: { publication: Publication }) =>
    publishes
      ? publishedSql(publication)
      : `
    select ${CALL} is not null as recorded
    where not exists (select 1 from (select value::bigint as id from json_array_elements_text($8)) b where ${publication.interest('b.id', `'${emailEvents.sent.type}'`)})`,
});

/** Whether all messages are plain and of one provider. If not, the general statement has to record them. */
function arePlain(batches: readonly BatchRecord[]): boolean {
  const provider = batches[0]?.outcomes[0]?.provider ?? null;
  if (provider === null) return false;
  return batches.every(
    ({ seq, block, outcomes }) =>
      seq !== null && !block && outcomes.every((each) => isPlain(each) && each.provider === provider),
  );
}

/** The events of the outcomes, as the statement publishes them. */
function eventsOf(outcomes: readonly OutcomeRecord[]) {
  const occurredAt = new Date();
  return outcomes
    .flatMap((outcome) =>
      emailEventsOf(outcome, occurredAt).map((event) => ({ event, message_id: outcome.messageId })),
    )
    .map(({ event, message_id }, n) => ({ message_id, ...toEventRow(event, n) }));
}

interface Recorded {
  /** Whether the server could run the function. */
  recorded: boolean;
  /** The value of the publication's `counts`. */
  counts?: number[];
  /** The brands whose events a consumer wants. */
  wanted?: number[];
}

interface Recording {
  pool: pg.Pool;
  parts: { publication: Publication };
  batches: readonly BatchRecord[];
  /** Those of the batches, in the order in which their messages are locked. */
  outcomes: readonly OutcomeRecord[];
  brands: readonly number[];
}

/** @returns null if nothing was recorded, because a consumer wants the events and `publishes` is false */
async function recordAsPlain(
  { pool, parts, batches, outcomes, brands }: Recording,
  publishes: boolean,
): Promise<Recorded | null> {
  const shape = publishes ? 'record_and_publish_plain_messages' : 'record_plain_messages';
  const { rows } = await pool.query<Recorded>({
    ...recordPlainStatement.prepared(shape, parts),
    values: [
      batches.map(({ owner }) => owner),
      batches.map(({ seq }) => seq),
      outcomes.map(({ messageId }) => messageId),
      outcomes.map(({ response }) => response),
      outcomes.map(({ providerMessageId }) => providerMessageId),
      outcomes[0]?.provider,
      outcomes.some(({ hasContacts }) => hasContacts),
      JSON.stringify(publishes ? eventsOf(outcomes) : brands),
    ],
  });
  return rows[0] ?? null;
}

/**
 * Returns a function that records batches if all of their messages are plain. It returns the work that their events
 * have queued; null if it has recorded nothing.
 * @param parts always the same object
 */
export function createPlainRecording(
  pool: pg.Pool,
  parts: { publication: Publication },
): (batches: readonly BatchRecord[]) => Promise<QueuedWork | null> {
  const { publication } = parts;
  const wanted = new LRUCache<number, true>({ max: MAX_REMEMBERED, ttl: WANTED_MS });
  let unableUntil = -Infinity;
  return async (batches) => {
    if (!arePlain(batches) || performance.now() < unableUntil) return null;
    // All statements lock messages in this order, as two senders may have outcomes of the same messages.
    const outcomes = batches
      .flatMap((batch) => batch.outcomes)
      .sort((one, other) => one.messageId - other.messageId);
    const brands = [...new Set(outcomes.map(({ message }) => message.brandId))];
    try {
      const recording = { pool, parts, batches, outcomes, brands };
      const publishes = brands.some((brand) => wanted.has(brand));
      const result = (await recordAsPlain(recording, publishes)) ?? (await recordAsPlain(recording, true));
      for (const brand of result?.wanted ?? []) wanted.set(brand, true);
      if (result?.recorded) return publication.queuedWork(result.counts ?? []);
      unableUntil = performance.now() + UNABLE_MS;
      return null;
    } catch (error) {
      const { code } = error as { code?: string };
      if (code === MISSING_FUNCTION) unableUntil = performance.now() + UNABLE_MS;
      if (code === NOT_PLAIN || code === MISSING_FUNCTION) return null;
      throw error;
    }
  };
}
