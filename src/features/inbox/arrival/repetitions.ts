/** Counts mails that were delivered again on the messages that are kept. */
import type { Queryable } from '../../../platform/db/queryable.ts';
import type { InsertedMail } from './insert-mails.ts';
import type { Repetition } from './take-mails.ts';

const countSql = `
  update conversation_messages m
  set repeated_count = m.repeated_count + r.times, last_repeated_at = greatest(m.last_repeated_at, r.last_at)
  from json_to_recordset($1) as r (id bigint, times integer, last_at timestamptz)
  where m.id = r.id`;

/**
 * @param trx has locked the messages, or inserted them
 * @param inserted the mails of the group that were kept
 */
export async function countRepetitions(
  trx: Queryable,
  repetitions: readonly Repetition[],
  inserted: readonly InsertedMail[],
): Promise<void> {
  if (repetitions.length === 0) return;
  const ids = new Map(inserted.map(({ claimed, conversationMessageId: id }) => [claimed.id, id]));
  const idOf = ({ of }: Repetition) => (typeof of === 'number' ? of : ids.get(of.claimed.id));
  const counts = [...Map.groupBy(repetitions, idOf)].map(([id, ofOne]) => ({
    id,
    times: ofOne.length,
    last_at: new Date(Math.max(...ofOne.map(({ mail }) => mail.claimed.received_at.getTime()))),
  }));
  await trx.query({ name: 'count_repetitions', text: countSql, values: [JSON.stringify(counts)] });
}
