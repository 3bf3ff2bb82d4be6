/**
 * Records plain messages: transactional emails of accounts without contacts that a provider accepted at the first
 * attempt, and whose events no consumer wants. The function runs only the few statements that such messages need.
 * It has the same effects as the general statement in `record-sql.ts`.
 */
import { LRUCache } from 'lru-cache';
import type pg from 'pg';
import { defineStatement } from '../../../platform/db/statements.ts';
import type { Publication } from '../../../platform/events/publish.ts';
import { messageClasses } from '../../message.ts';
import { NOT_PLAIN } from '../claim/take.ts';
import type { OutcomeRecord } from './outcomes.ts';
import type { BatchRecord } from './record.ts';

/** How long messages of a brand are not recorded this way after a consumer wanted its events. */
const WANTED_MS = 5_000;
/** The same for all messages, if the server cannot run the function. */
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
  !outcome.hasContacts &&
  !outcome.giveBack &&
  !outcome.suppress &&
  outcome.keep === null &&
  outcome.versionId === null;

export const recordPlainStatement = defineStatement({
  from: import.meta.url,
  sentBy: 'createPlainRecording',
  does: 'Records plain messages that a provider has accepted, unless a consumer wants their events.',
  parameters: [
    'bigint[]: the processes whose intents end',
    'bigint[]: and the numbers of these intents',
    'bigint[]: the messages, in their order',
    'text[]: the response of the provider to each',
    'text[]: the id that the provider gave each, or null',
    'text: the provider',
    'bigint[]: the brands',
  ],
  shapes: { record_plain_messages: {} },
  version: 1,
  compose: (_shape: object, { publication }: { publication: Publication }) => `
    select record_plain_messages_v1($1, $2, $3, $4, $5, $6) as recorded
    where not exists (select 1 from unnest($7::bigint[]) as b (id) where ${publication.interest('b.id')})`,
});

/** @returns the provider of all messages; null if the general statement has to record them */
function providerOf(batches: readonly BatchRecord[]): string | null {
  const provider = batches[0]?.outcomes[0]?.provider ?? null;
  const arePlain = batches.every(
    ({ seq, block, outcomes }) =>
      seq !== null && !block && outcomes.every((each) => isPlain(each) && each.provider === provider),
  );
  return arePlain ? provider : null;
}

/**
 * Returns a function that records batches if all of their messages are plain.
 * @param parts always the same object
 */
export function createPlainRecording(
  pool: pg.Pool,
  parts: { publication: Publication },
): (batches: readonly BatchRecord[]) => Promise<boolean> {
  const wanted = new LRUCache<number, true>({ max: MAX_REMEMBERED, ttl: WANTED_MS });
  let unableUntil = -Infinity;
  const noteUnable = () => void (unableUntil = performance.now() + UNABLE_MS);

  return async (batches) => {
    const provider = providerOf(batches);
    if (provider === null || performance.now() < unableUntil) return false;
    // All statements lock messages in this order, as two senders may have outcomes of the same messages.
    const outcomes = batches
      .flatMap((batch) => batch.outcomes)
      .sort((one, other) => one.messageId - other.messageId);
    const brands = [...new Set(outcomes.map(({ message }) => message.brandId))];
    if (brands.some((brand) => wanted.has(brand))) return false;
    try {
      const { rows } = await pool.query<{ recorded: boolean }>({
        ...recordPlainStatement.prepared('record_plain_messages', parts),
        values: [
          batches.map(({ owner }) => owner),
          batches.map(({ seq }) => seq),
          outcomes.map(({ messageId }) => messageId),
          outcomes.map(({ response }) => response),
          outcomes.map(({ providerMessageId }) => providerMessageId),
          provider,
          brands,
        ],
      });
      if (rows.length === 0) for (const brand of brands) wanted.set(brand, true);
      else if (!rows[0]?.recorded) noteUnable();
      return rows[0]?.recorded ?? false;
    } catch (error) {
      const { code } = error as { code?: string };
      if (code === MISSING_FUNCTION) noteUnable();
      if (code === NOT_PLAIN || code === MISSING_FUNCTION) return false;
      throw error;
    }
  };
}
