/** The one way into a conversation: for mail that was just written, mail that was scanned, and mail that was released. */
import type { Queryable } from '../../../platform/db/queryable.ts';
import type { Waker } from '../../../platform/db/wake.ts';
import type { EventPublisher } from '../../../platform/events/publish.ts';
import type { ConsentDeps } from '../../contacts/service.ts';
import { lockBrands, type TrackedEventConsumer } from '../../contact-events/service.ts';
import { type Answer, findAnswers } from './answered-messages.ts';
import { type ArrivingMail, lockArriving } from './arriving-mails.ts';
import { type ReceivedMail, trackReceived } from './contact-event.ts';
import { receivedEvent } from './received-event.ts';
import { findSenders } from './senders.ts';
import { type ConversationMatch, matchConversations } from './thread.ts';

export interface ArrivalDeps extends ConsentDeps {
  events: EventPublisher;
  waker: Pick<Waker, 'wake'>;
  /** Act on the contact event `email_received`: see `createTrackedEventConsumers`. */
  consumers: readonly TrackedEventConsumer[];
}

export interface Arrived {
  /** Ids of the conversations by those of the messages that have arrived now. */
  conversations: ReadonlyMap<number, number>;
  /** Call it after the commit. */
  afterCommit: () => void;
}

const nothing: Arrived = { conversations: new Map(), afterCommit: () => undefined };

/** What was found out about a mail. */
interface Arriving {
  mail: ArrivingMail;
  match: ConversationMatch;
  answer: Answer | undefined;
  contactId: number | undefined;
}

/**
 * `$1`: the conversations that change or begin, `$2`: the messages, `$3`: their ids. A conversation that another
 * transaction has locked was locked by `matchConversations` before, so nothing waits here.
 */
const addSql = `
  with given as materialized (
    select * from json_to_recordset($1) as g (id bigint, account_id bigint, brand_id bigint, inbox_id bigint,
      contact_id bigint, linked_conversation_id bigint, participants text[], subject text, is_new boolean, mails integer)
  ), begun as (
    insert into conversations (id, account_id, brand_id, inbox_id, contact_id, linked_conversation_id, participants,
      subject, unread_count)
    select id, account_id, brand_id, inbox_id, contact_id, linked_conversation_id, participants, subject, mails
    from given where is_new order by id
  ), continued as (
    update conversations c set status = 'open', unread_count = c.unread_count + g.mails,
      contact_id = coalesce(c.contact_id, g.contact_id), last_message_at = greatest(c.last_message_at, now()),
      updated_at = now()
    from given g where c.id = g.id and not g.is_new
  )
  update conversation_messages m
  set conversation_id = a.conversation_id, message_id = a.message_id, arrived_at = now()
  from json_to_recordset($2) as a (id bigint, conversation_id bigint, message_id bigint)
  where m.id = a.id and m.id = any($3)
  returning m.arrived_at`;

/** One row for each conversation: a group may begin one and continue it. */
function conversationRows(arriving: readonly Arriving[]) {
  const byConversation = Map.groupBy(arriving, ({ match }) => match.conversationId);
  return [...byConversation].map(([id, mails]) => {
    const { mail, match } = mails[0] as Arriving;
    return {
      id,
      account_id: mail.account_id,
      brand_id: mail.brand_id,
      inbox_id: mail.inbox_id,
      contact_id: mails.find(({ contactId }) => contactId !== undefined)?.contactId ?? null,
      linked_conversation_id: match.linkedId,
      participants: mail.sender_key === null ? [] : [mail.sender_key],
      subject: mail.subject,
      is_new: match.isNew,
      mails: mails.length,
    };
  });
}

/** @returns when the mails arrived */
async function addToConversations(trx: Queryable, arriving: readonly Arriving[]): Promise<Date> {
  const messages = arriving.map(({ mail, match, answer }) => ({
    id: mail.id,
    conversation_id: match.conversationId,
    message_id: answer?.message.id ?? null,
  }));
  const { rows } = await trx.query<{ arrived_at: Date }>({
    name: 'add_to_conversations',
    text: addSql,
    values: [
      JSON.stringify(conversationRows(arriving)),
      JSON.stringify(messages),
      messages.map(({ id }) => id),
    ],
  });
  return (rows[0] as { arrived_at: Date }).arrived_at;
}

/** The mails of contacts, as the contact event `email_received` has them. */
function mailsOfContacts(arriving: readonly Arriving[]): ReceivedMail[] {
  return arriving.flatMap(({ mail, match, contactId }) =>
    contactId === undefined
      ? []
      : [
          {
            accountId: mail.account_id,
            brandId: mail.brand_id,
            contactId,
            conversationId: match.conversationId,
            conversationMessageId: mail.id,
            inboxId: mail.inbox_id,
            subject: mail.subject,
            text: mail.text,
            autoSubmitted: mail.auto_submitted,
          },
        ],
  );
}

/** Finds contacts, our messages and conversations, in the order in which their rows are locked. */
async function findOut(
  trx: Queryable,
  deps: ArrivalDeps,
  mails: readonly ArrivingMail[],
): Promise<Arriving[]> {
  if (mails.some((mail) => mail.sender_trusted)) {
    // Transactions that track events take this lock before that of a contact.
    await lockBrands(trx, [...new Set(mails.map((mail) => mail.brand_id))]);
  }
  const senders = await findSenders(trx, deps, mails);
  const keys = deps.keyring.accepted('reference').map(({ key }) => key);
  const answers = await findAnswers(trx, keys, mails);
  const matches = await matchConversations(trx, mails, answers);
  return mails.map((mail) => ({
    mail,
    match: matches.get(mail.id) as ConversationMatch,
    answer: answers.get(mail.id),
    contactId: senders.get(mail.id),
  }));
}

/**
 * Makes messages arrive: adds each to a conversation, which it may begin or reopen, links the contact, publishes
 * `email.received` and tracks `email_received`. It happens once: a message that has arrived does not change. Whether a
 * message may arrive is for the caller to decide; the caller's other changes of it belong in the same transaction.
 *
 * Locks, in this order: the inboxes, the messages, the brands' events and consent, the contacts, conversations.
 * @param trx the caller's transaction. It has the locks of the inboxes (`lockInboxes`), and none of a contact or a
 *   conversation
 * @returns what to do after the commit; `conversations` lacks messages that do not exist or had arrived before
 */
export async function arrive(trx: Queryable, deps: ArrivalDeps, ids: readonly number[]): Promise<Arrived> {
  const mails = ids.length === 0 ? [] : await lockArriving(trx, ids);
  if (mails.length === 0) return nothing;
  const arriving = await findOut(trx, deps, mails);
  const arrivedAt = await addToConversations(trx, arriving);
  const queued = await deps.events.publish(
    trx,
    arriving.map(({ mail, match, answer }) =>
      receivedEvent(mail, match.conversationId, answer?.message ?? null, arrivedAt),
    ),
  );
  const then = await trackReceived(trx, deps.consumers, mailsOfContacts(arriving));
  return {
    conversations: new Map(arriving.map(({ mail, match }) => [mail.id, match.conversationId])),
    afterCommit() {
      for (const channel of queued.keys()) deps.waker.wake(channel);
      for (const each of then) each();
    },
  };
}
