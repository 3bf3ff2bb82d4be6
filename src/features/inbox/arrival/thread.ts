/** Decides to which conversation each mail belongs. A subject decides nothing: anyone can write any. */
import type { Queryable } from '../../../platform/db/queryable.ts';
import { type Answer, MAX_REFERENCES } from './answered-messages.ts';
import type { ArrivingMail } from './arriving-mails.ts';

/** A conversation that a mail may belong to. */
interface Conversation {
  id: number;
  inbox_id: number;
  participants: string[];
}

/** The conversation of a mail. */
export interface ConversationMatch {
  conversationId: number;
  /** The mail begins it. */
  isNew: boolean;
  /** For a new one: the conversation that the mail named, but may not join. */
  linkedId: number | null;
}

/**
 * Maximum number of messages that are looked at for one id, the oldest first. Strangers may have sent any number of mails
 * with the same Message-ID, but only after the first one.
 */
const MAX_NAMED = 20;

/**
 * A conversation is locked before it changes. Outbound messages name the message that sends them, so an answer to one is
 * found by it, too.
 */
const namedSql = `
  with wanted as materialized (
    select * from json_to_recordset($1) as w (inbox_id bigint, brand_id bigint, message_id bigint, internet_id text)
  ), named as materialized (
    select w.message_id, null as internet_id, m.conversation_id
    from wanted w cross join lateral (
      select conversation_id from conversation_messages m
      where m.brand_id = w.brand_id and m.message_id = w.message_id and m.inbox_id = w.inbox_id
        and m.conversation_id is not null
      order by m.id limit ${MAX_NAMED}) m
    where w.message_id is not null
    union
    select null, w.internet_id, m.conversation_id
    from wanted w cross join lateral (
      select conversation_id from conversation_messages m
      where m.brand_id = w.brand_id and m.internet_id = w.internet_id and m.inbox_id = w.inbox_id
        and m.conversation_id is not null
      order by m.id limit ${MAX_NAMED}) m
    where w.internet_id is not null
  ), locked as materialized (
    select c.id, c.inbox_id, c.participants from conversations c
    where c.id in (select conversation_id from named) order by c.id for no key update
  )
  select l.id, l.inbox_id, l.participants, n.message_id, n.internet_id
  from named n join locked l on l.id = n.conversation_id order by l.id`;

type NamedRow = Conversation & { message_id: number | null; internet_id: string | null };

/** Conversations by what names them in an inbox: one of our messages, or the Message-ID of one of their messages. */
class NamedConversations {
  readonly #byName = new Map<string, Set<Conversation>>();

  static #key(inboxId: number, name: number | string): string {
    return `${inboxId} ${typeof name} ${name}`;
  }

  add(name: number | string, conversation: Conversation): void {
    const key = NamedConversations.#key(conversation.inbox_id, name);
    this.#byName.set(key, (this.#byName.get(key) ?? new Set()).add(conversation));
  }

  get(inboxId: number, name: number | string): Conversation[] {
    return [...(this.#byName.get(NamedConversations.#key(inboxId, name)) ?? [])];
  }
}

async function findNamed(
  trx: Queryable,
  mails: readonly ArrivingMail[],
  answers: ReadonlyMap<number, Answer>,
): Promise<NamedConversations> {
  const wanted = new Map<string, object>();
  for (const { id, inbox_id, brand_id, reference_ids } of mails) {
    const messageId = answers.get(id)?.message.id;
    if (messageId !== undefined) {
      wanted.set(`${inbox_id} number ${messageId}`, { inbox_id, brand_id, message_id: messageId });
    }
    for (const internetId of reference_ids.slice(0, MAX_REFERENCES)) {
      wanted.set(`${inbox_id} string ${internetId}`, { inbox_id, brand_id, internet_id: internetId });
    }
  }
  const named = new NamedConversations();
  if (wanted.size === 0) return named;
  const { rows } = await trx.query<NamedRow>({
    name: 'lock_named_conversations',
    text: namedSql,
    values: [JSON.stringify([...wanted.values()])],
  });
  const byId = new Map<number, Conversation>();
  for (const { id, inbox_id, participants, message_id, internet_id } of rows) {
    const conversation = byId.get(id) ?? { id, inbox_id, participants };
    byId.set(id, conversation);
    const name = message_id ?? internet_id;
    if (name !== null) named.add(name, conversation);
  }
  return named;
}

/**
 * Finds the conversation that a mail may join. Headers alone prove nothing, since anyone who has ever seen a mail of
 * the conversation can copy them. So the sender must be a participant, and the mail must be authenticated or name a
 * secret of a mail that we sent. Being the recipient of the answered message is not enough: a stranger may have begun
 * the conversation about it, and would be sent what is meant for the recipient.
 */
function findOwn(
  { sender_key: sender, sender_trusted }: ArrivingMail,
  answer: Answer | undefined,
  named: readonly Conversation[],
): Conversation | undefined {
  if (sender === null || !(sender_trusted || answer?.genuine)) return undefined;
  return named.find(({ participants }) => participants.includes(sender));
}

/**
 * Decides for each mail to which conversation of its inbox it belongs. Locks the conversations that the mails name, in the
 * order of their ids.
 * @param trx has the locks of the inboxes
 * @param mails in the order in which they arrive: a mail may answer an earlier one
 * @param answers from `findAnswers`
 * @returns by the ids of the mails
 */
export async function matchConversations(
  trx: Queryable,
  mails: readonly ArrivingMail[],
  answers: ReadonlyMap<number, Answer>,
): Promise<Map<number, ConversationMatch>> {
  const known = await findNamed(trx, mails, answers);
  const matches = new Map<number, ConversationMatch>();
  for (const mail of mails) {
    const answer = answers.get(mail.id);
    const ofMessage = answer ? known.get(mail.inbox_id, answer.message.id) : [];
    const ofIds = mail.reference_ids.slice(0, MAX_REFERENCES).flatMap((id) => known.get(mail.inbox_id, id));
    const named = [...ofMessage, ...ofIds];
    const own = findOwn(mail, answer, named);
    const participants = mail.sender_key === null ? [] : [mail.sender_key];
    const conversation = own ?? { id: mail.spare_conversation_id, inbox_id: mail.inbox_id, participants };
    matches.set(mail.id, {
      conversationId: conversation.id,
      isNew: own === undefined,
      linkedId: own ? null : (named[0]?.id ?? null),
    });
    if (answer) known.add(answer.message.id, conversation);
    if (mail.internet_id !== null) known.add(mail.internet_id, conversation);
  }
  return matches;
}
