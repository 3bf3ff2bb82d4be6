/** Finds our messages that mails answer. */
import { parseMessageReference } from '../../../delivery/terms/addresses/reference.ts';
import { copyToSql } from '../../../delivery/terms/letter.ts';
import type { Queryable } from '../../../platform/db/queryable.ts';
import type { ArrivingMail } from './arriving-mails.ts';

/** One of our messages. */
export interface AnsweredMessage {
  id: number;
  /** Null: its contact was deleted. */
  to_key: string | null;
  idempotency_key: string | null;
  tags: Record<string, string> | null;
}

/** What a mail says about the message that it answers. */
export interface Answer {
  message: AnsweredMessage;
  /**
   * The mail names the message by one of our references, or arrived at its return path. Only those who have seen the
   * message, or an answer, know these. The reference of a letter to several shows nothing: each recipient knows it, and
   * could pretend to be another.
   */
  genuine: boolean;
}

interface FoundMessage extends AnsweredMessage {
  account_id: number;
  brand_id: number;
  letter_id: number | null;
}

/** Maximum number of ids of a mail that are looked up, the nearest first. */
export const MAX_REFERENCES = 50;
/** Maximum number of messages to one recipient, the newest first, in which the id of a provider is looked for. */
const MAX_SENT = 200;

const localPart = (id: string): string => id.replace(/@[^@]*$/, '');

const toAnswered = ({ id, to_key, idempotency_key, tags }: FoundMessage): AnsweredMessage => ({
  id,
  to_key,
  idempotency_key,
  tags,
});

/** The ids of the messages that a mail names with proof: first that of the return path, then the nearest. */
function genuineIds(mail: ArrivingMail, keys: readonly Buffer[]): number[] {
  const named = mail.reference_ids.slice(0, MAX_REFERENCES).flatMap((id) => {
    const reference = parseMessageReference(keys, localPart(id));
    return reference?.accountId === mail.account_id ? [reference.messageId] : [];
  });
  return mail.message_id === null ? named : [mail.message_id, ...named];
}

async function findMessages(trx: Queryable, ids: readonly number[]): Promise<Map<number, FoundMessage>> {
  if (ids.length === 0) return new Map();
  const { rows } = await trx.query<FoundMessage>({
    name: 'find_answered_messages_2',
    // The bounds let PostgreSQL leave out partitions before it opens them.
    text: `select id, account_id, brand_id, letter_id, to_key, idempotency_key, tags from messages
      where id = any($1) and id between $2 and $3 and channel = 'email'`,
    values: [ids, Math.min(...ids), Math.max(...ids)],
  });
  return new Map(rows.map((row) => [row.id, row]));
}

const copiesSql = `
  select w.mail_id, c.*
  from json_to_recordset($1) as w (mail_id bigint, letter_id bigint, brand_id bigint, sender_key text)
  cross join lateral (${copyToSql('w.letter_id', 'w.brand_id', 'w.sender_key')}) c`;

/** The letters that certainly have no more than one copy. */
async function findSingle(trx: Queryable, letterIds: readonly number[]): Promise<Set<number>> {
  if (letterIds.length === 0) return new Set();
  const { rows } = await trx.query<{ id: number }>(
    `select id from letters where id = any($1) and id between $2 and $3 and cardinality(message_ids) = 1`,
    [letterIds, Math.min(...letterIds), Math.max(...letterIds)],
  );
  return new Set(rows.map(({ id }) => id));
}

/**
 * Finds the copies of letters that went to the senders of mails: all copies have the Message-ID of the first one.
 * @param named the messages that the mails name, by the ids of the mails
 * @returns the copies by the ids of the mails
 */
async function findCopies(
  trx: Queryable,
  mails: readonly ArrivingMail[],
  named: ReadonlyMap<number, FoundMessage>,
): Promise<Map<number, AnsweredMessage>> {
  const input = mails.flatMap(({ id, brand_id, sender_key, message_id: atReturnPath }) => {
    const { id: messageId, letter_id = null } = named.get(id) ?? {};
    // Each copy has its own return path.
    const isUnsure = letter_id !== null && messageId !== atReturnPath && sender_key !== null;
    return isUnsure ? [{ mail_id: id, letter_id, brand_id, sender_key }] : [];
  });
  if (input.length === 0) return new Map();
  const { rows } = await trx.query<AnsweredMessage & { mail_id: number }>(copiesSql, [JSON.stringify(input)]);
  return new Map(rows.map(({ mail_id: mailId, ...copy }) => [mailId, copy]));
}

const sentSql = `
  select w.mail_id, s.* from json_to_recordset($1) as w (mail_id bigint, account_id bigint, brand_id bigint, sender_key text, ids text[])
  cross join lateral (
    select n.id, n.account_id, n.brand_id, n.to_key, n.idempotency_key, n.tags, n.provider_message_id
    from (
      select * from messages m where m.brand_id = w.brand_id and m.to_key = w.sender_key order by m.id desc
      limit ${MAX_SENT}
    ) n
    where n.channel = 'email' and n.account_id = w.account_id and n.provider_message_id = any(w.ids)
  ) s`;

/**
 * Finds messages to the sender by the id that the provider gave them. Some providers replace the Message-ID; the id
 * then is all of it, or what is before the host.
 */
async function findByProviderId(
  trx: Queryable,
  mails: readonly ArrivingMail[],
): Promise<Map<number, AnsweredMessage>> {
  const wanted = mails.filter((mail) => mail.sender_key !== null && mail.reference_ids.length > 0);
  const found = new Map<number, AnsweredMessage>();
  if (wanted.length === 0) return found;
  const idsOf = (mail: ArrivingMail) =>
    mail.reference_ids.slice(0, MAX_REFERENCES).flatMap((id) => [id, localPart(id)]);
  const input = wanted.map((mail) => {
    const { id, account_id, brand_id, sender_key } = mail;
    return { mail_id: id, account_id, brand_id, sender_key, ids: idsOf(mail) };
  });
  const { rows } = await trx.query<FoundMessage & { mail_id: number; provider_message_id: string }>({
    name: 'find_answered_by_provider_id',
    text: sentSql,
    values: [JSON.stringify(input)],
  });
  for (const mail of wanted) {
    const own = rows.filter((row) => row.mail_id === mail.id);
    const nearest = idsOf(mail).flatMap((id) => own.find((row) => row.provider_message_id === id) ?? [])[0];
    if (nearest) found.set(mail.id, toAnswered(nearest));
  }
  return found;
}

/**
 * Finds which of our messages each mail answers: by its return path, one of our references, or the id of a provider.
 * References to messages of other brands are ignored.
 * @param keys every subkey `reference` that is still accepted
 * @returns the answers by the ids of the mails; none for a mail that answers no message
 */
export async function findAnswers(
  trx: Queryable,
  keys: readonly Buffer[],
  mails: readonly ArrivingMail[],
): Promise<Map<number, Answer>> {
  const ids = new Map(mails.map((mail) => [mail.id, genuineIds(mail, keys)]));
  const messages = await findMessages(trx, [...new Set([...ids.values()].flat())]);
  const answers = new Map<number, Answer>();
  const named = new Map<number, FoundMessage>();
  for (const mail of mails) {
    const own = (ids.get(mail.id) ?? []).flatMap((id) => messages.get(id) ?? []);
    const nearest = own.find(
      ({ account_id, brand_id }) => account_id === mail.account_id && brand_id === mail.brand_id,
    );
    if (nearest) named.set(mail.id, nearest);
  }
  const copies = await findCopies(trx, mails, named);
  const single = await findSingle(trx, [
    ...new Set([...named.values()].flatMap((each) => each.letter_id ?? [])),
  ]);
  const paths = new Map(mails.map((mail) => [mail.id, mail.message_id]));
  for (const [id, message] of named) {
    const { letter_id: letterId } = message;
    const genuine = letterId === null || single.has(letterId) || paths.get(id) === message.id;
    answers.set(id, { message: copies.get(id) ?? toAnswered(message), genuine });
  }
  const others = mails.filter(({ id }) => !answers.has(id));
  for (const [id, message] of await findByProviderId(trx, others))
    answers.set(id, { message, genuine: false });
  return answers;
}
