/** Answers to conversations. */
import type { NewMessage, WrittenMessage } from '../../../delivery/ledger/accept/new-message.ts';
import { allocateMessageIds, writeMessages } from '../../../delivery/ledger/accept/write-messages.ts';
import { backlogName, DEFAULT_PROVIDER } from '../../../delivery/terms/backlog.ts';
import type { LimitSettings } from '../../../delivery/ledger/limits/authority.ts';
import { messageClasses } from '../../../delivery/terms/message.ts';
import { answerHeaders } from '../../../delivery/content/mime/answer-headers.ts';
import type { SenderIdentities } from '../../../delivery/terms/sender-identity.ts';
import { AppError, invalid, notFound } from '../../../errors.ts';
import type { BrandScope } from '../../../platform/db/model.ts';
import type { Queryable } from '../../../platform/db/queryable.ts';
import { senderOfTemplate } from '../../templates/service.ts';
import type { HtmlSanitizer } from './html/sanitizer.ts';
import { findMessageOf } from './message-model.ts';
import { findConversation, lockConversation } from './model.ts';
import { presentMessage } from './presenter.ts';
import { recipientOf, subjectOf } from './reply-draft.ts';
import { findReplyingInbox, insertReply, readReplyContext } from './reply-model.ts';
import type { ConversationMessage, ReplyBody } from './schema.ts';

export interface ReplyDeps {
  pool: Queryable;
  identities: SenderIdentities;
  limits: LimitSettings;
  sanitizer: Pick<HtmlSanitizer, 'sanitize'>;
}

/** An answer whose sender and content were checked. */
export interface PreparedReply {
  sender: NonNullable<ReturnType<typeof senderOfTemplate>>;
  /** The inbox's address: an account's default Reply-To must not apply. */
  replyTo: string;
  /** As given. */
  html: string | null;
  /** As it is shown. */
  shownHtml: string | null;
  text: string | null;
}

const unlessBlank = (text: string | undefined) => (text === undefined || text.trim() === '' ? null : text);

/**
 * Checks the sender and the content of an answer, outside of any transaction.
 * @throws AppError not_found; validation_error; sender_not_verified; invalid_transition if the inbox was removed
 */
export async function prepareReply(
  { pool, identities, sanitizer }: ReplyDeps,
  scope: BrandScope,
  conversationId: number,
  body: ReplyBody,
): Promise<PreparedReply> {
  const conversation = await findConversation(pool, scope, conversationId);
  const inbox = conversation && (await findReplyingInbox(pool, scope, conversation.inbox_id));
  if (!inbox) throw notFound('conversation');
  const [html, text] = [unlessBlank(body.html), unlessBlank(body.text)];
  if (html === null && text === null) throw invalid({ text: ['is required unless html is given'] });
  if (body.subject?.trim() === '') throw invalid({ subject: ['must not be empty'] });
  if (inbox.removed_at !== null) {
    throw new AppError('invalid_transition', 'the inbox was removed: its conversations can only be read');
  }
  const { address, name } = inbox;
  const sender = senderOfTemplate(await identities.ofBrand(scope), { fromName: name, fromEmail: address });
  if (sender === null) {
    throw invalid(
      { inbox_id: ['has an address that is not a verified sender of this brand'] },
      'sender_not_verified',
    );
  }
  const shownHtml = html === null ? null : await sanitizer.sanitize(scope.accountId, html, new Map());
  return { sender, replyTo: address, html, shownHtml, text };
}

/** Writes the message, with what it costs. @returns its id and the backlog in which it waits */
async function writeMessage(trx: Queryable, limits: LimitSettings, draft: Omit<NewMessage, 'id'>) {
  const [id = 0] = await allocateMessageIds(trx, 1);
  const written = await writeMessages(trx, [{ ...draft, id }], {
    source: { class: messageClasses.transactional },
    limits,
    money: 'reserve',
  });
  const row = written.get(id) as WrittenMessage;
  const { channel, account_id: accountId } = draft;
  const providerId = row.provider_id ?? DEFAULT_PROVIDER;
  const backlog = backlogName({ channel, class: messageClasses.transactional, accountId, providerId });
  return { id, from: row.from_address ?? '', backlog };
}

export interface WrittenReply {
  message: ConversationMessage;
  /** To wake after the commit. */
  backlog: string;
}

/**
 * Sends an answer from the address of the conversation's inbox, and adds it to the conversation.
 * @param prepared from {@link prepareReply}
 * @throws AppError not_found; validation_error that names `to`; sandbox_limit_reached, spend_cap_reached,
 *   insufficient_funds
 */
export async function writeReply(
  trx: Queryable,
  { limits }: Pick<ReplyDeps, 'limits'>,
  scope: BrandScope,
  conversationId: number,
  { to: given, subject: givenSubject }: Pick<ReplyBody, 'to' | 'subject'>,
  { sender, replyTo, html, shownHtml, text }: PreparedReply,
): Promise<WrittenReply> {
  const conversation = await lockConversation(trx, scope, conversationId);
  if (!conversation) throw notFound('conversation');
  const context = await readReplyContext(trx, conversation);
  const to = recipientOf(given, conversation.participants, context, replyTo);
  const subject = givenSubject ?? subjectOf(conversation.subject);
  const { last } = context;
  const { id, from, backlog } = await writeMessage(trx, limits, {
    account_id: scope.accountId,
    brand_id: scope.brandId,
    channel: 'email',
    status: 'queued',
    test: false,
    to_address: to.address,
    to_key: to.key,
    ...sender,
    reply_to: replyTo,
    subject,
    html,
    text,
    answers_mail: true,
    headers: last === null ? {} : answerHeaders({ id: last.internet_id, references: last.reference_ids }),
  });
  const sent = { messageId: id, from, to: to.address, toKey: to.key, subject };
  const messageId = await insertReply(trx, conversation, sent);
  const row = await findMessageOf(trx, scope, conversationId, messageId);
  if (!row) throw notFound('message');
  const shown = { sanitize: () => Promise.resolve(shownHtml) };
  return { message: await presentMessage(shown, row), backlog };
}
