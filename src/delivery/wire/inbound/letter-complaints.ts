/** Finds the copy of a letter that a complaint is about: all copies have the Message-ID of the first one. */
import type { Queryable } from '../../../platform/db/queryable.ts';
import type { DeliveryFact } from '../../ledger/facts/delivery-fact.ts';
import { recipientKey } from '../../terms/channels/recipient.ts';
import { copyToSql } from '../../terms/letter.ts';

/** What a report says about a message that only its Message-ID identifies. */
export interface ReferencedFact extends DeliveryFact {
  /** Who complains, as the report says; null: it does not. Absent: a return path identifies the message. */
  namedRecipient?: string | null;
}

interface LetterRow {
  id: number;
  brand_id: number;
  /** Null: the content is not kept any more, and it is not known how many copies there are. */
  message_ids: number[] | null;
}

/** A letter, and the key of the one who complains. */
interface Complaint {
  letter_id: number;
  brand_id: number;
  key: string;
}

async function findLetters(db: Queryable, ids: readonly number[]): Promise<Map<number, LetterRow>> {
  const { rows } = await db.query<LetterRow>(
    `select m.id, m.brand_id, l.message_ids from messages m left join lateral (
       select w.message_ids from letters w where w.id = m.letter_id offset 0) l on true
     where m.id = any($1) and m.letter_id is not null`,
    [ids],
  );
  return new Map(rows.map((row) => [row.id, row]));
}

/** The ids of the copies that went to those who complain, by letter and key. */
async function findCopies(db: Queryable, complaints: readonly Complaint[]): Promise<Map<string, number>> {
  if (complaints.length === 0) return new Map();
  const { rows } = await db.query<{ letter_id: number; key: string; id: number }>(
    `select w.letter_id, w.key, c.id
     from json_to_recordset($1) as w (letter_id bigint, brand_id bigint, key text)
     cross join lateral (${copyToSql('w.letter_id', 'w.brand_id', 'w.key')}) c`,
    [JSON.stringify(complaints)],
  );
  return new Map(rows.map((row) => [copyName(row.letter_id, row.key), row.id]));
}

const copyName = (letterId: number, key: string): string => `${letterId} ${key}`;

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
  const named = facts.flatMap(({ namedRecipient, messageId }) => {
    const letter = letters.get(messageId);
    const key = recipientKey('email', namedRecipient ?? null);
    return letter && key !== null ? [{ letter_id: letter.id, brand_id: letter.brand_id, key }] : [];
  });
  const copies = await findCopies(db, named);
  return facts.flatMap(({ namedRecipient, ...fact }) => {
    const letter = letters.get(fact.messageId);
    if (namedRecipient === undefined || !letter || letter.message_ids?.length === 1) return [fact];
    const key = recipientKey('email', namedRecipient);
    const messageId = key === null ? undefined : copies.get(copyName(letter.id, key));
    return messageId === undefined ? [] : [{ ...fact, messageId }];
  });
}
