/** Finds the copy of a letter that a complaint is about: all copies have the Message-ID of the first one. */
import type { Queryable } from '../../../platform/db/queryable.ts';
import type { DeliveryFact } from '../../ledger/facts/delivery-fact.ts';
import { recipientKey } from '../../terms/channels/recipient.ts';

/** What a report says about a message that only its Message-ID identifies. */
export interface ReferencedFact extends DeliveryFact {
  /** Who complains, as the report says; null: it does not. Absent: a return path identifies the message. */
  namedRecipient?: string | null;
}

interface LetterRow {
  id: number;
  /** Null: the content is not kept any more, and the other copies are not known. */
  message_ids: number[] | null;
}

interface Copy {
  id: number;
  letter_id: number;
  to_key: string | null;
}

async function findLetters(db: Queryable, ids: readonly number[]): Promise<Map<number, LetterRow>> {
  const { rows } = await db.query<LetterRow>(
    `select m.id, l.message_ids from messages m left join lateral (
       select w.message_ids from letters w where w.id = m.letter_id offset 0) l on true
     where m.id = any($1) and m.letter_id is not null`,
    [ids],
  );
  return new Map(rows.map((row) => [row.id, row]));
}

async function findCopies(db: Queryable, ids: readonly number[]): Promise<Copy[]> {
  if (ids.length === 0) return [];
  const { rows } = await db.query<Copy>(
    `select id, letter_id, to_key from messages where id = any($1) and id between $2 and $3 and letter_id is not null`,
    [ids, Math.min(...ids), Math.max(...ids)],
  );
  return rows;
}

/**
 * Replaces the first copy of each letter by the one whose recipient complains. A complaint that does not say which of
 * several recipients that is suppresses no one.
 * @returns the facts about messages that are known
 */
export async function factsOfCopies(
  db: Queryable,
  facts: readonly ReferencedFact[],
): Promise<DeliveryFact[]> {
  const referenced = facts.flatMap(({ namedRecipient, messageId }) =>
    namedRecipient === undefined ? [] : messageId,
  );
  const letters = referenced.length === 0 ? new Map<number, LetterRow>() : await findLetters(db, referenced);
  const copies = await findCopies(
    db,
    [...letters.values()].flatMap(({ id, message_ids: ids }) => ids ?? [id]),
  );
  return facts.flatMap(({ namedRecipient, ...fact }) => {
    const letter = letters.get(fact.messageId);
    if (namedRecipient === undefined || !letter || letter.message_ids?.length === 1) return [fact];
    const key = recipientKey('email', namedRecipient);
    const copy = copies.find((each) => key !== null && each.letter_id === letter.id && each.to_key === key);
    return copy ? [{ ...fact, messageId: copy.id }] : [];
  });
}
