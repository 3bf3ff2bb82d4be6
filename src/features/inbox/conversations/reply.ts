/** Answers to conversations. */
import type { NewAttachment } from '../../../delivery/ledger/accept/new-letter.ts';
import type { NewMessage, WrittenMessage } from '../../../delivery/ledger/accept/new-message.ts';
import { allocateMessageIds, writeMessages } from '../../../delivery/ledger/accept/write-messages.ts';
import { FileGoneError, writeLetter } from '../../../delivery/ledger/accept/write-set.ts';
import { backlogName, DEFAULT_PROVIDER } from '../../../delivery/terms/backlog.ts';
import type { LimitSettings } from '../../../delivery/ledger/limits/authority.ts';
import { messageClasses } from '../../../delivery/terms/message.ts';
import { LETTER_QUEUE } from '../../../delivery/terms/channels/queue-channel.ts';
import { answerHeaders } from '../../../delivery/content/mime/answer-headers.ts';
import type { SenderIdentities } from '../../../delivery/terms/sender-identity.ts';
import { AppError, invalid, notFound } from '../../../errors.ts';
import type { Tenant } from '../../../platform/auth/tenant.ts';
import type { AccountScope } from '../../../platform/db/model.ts';
import { NotPreparedError, type Queryable } from '../../../platform/db/queryable.ts';
import type { Attachments, ReadFile } from '../../attachments/service.ts';
import { wireBytesOf } from '../../messages/service.ts';
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
  attachments: Attachments;
  /** The kind of the provider of EMAIL_PROVIDER_URL. */
  emailProvider: string;
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
  scope: AccountScope;
  /** As the request has them. */
  files: readonly ReadFile[];
  stored: NewAttachment[];
}

const unlessBlank = (text: string | undefined) => (text === undefined || text.trim() === '' ? null : text);

/**
 * Checks the sender and the content of an answer and stores its files, outside of any transaction.
 * @throws AppError not_found; validation_error; sender_not_verified; invalid_transition if the inbox was removed;
 *   unavailable if too many files are being read
 */
export async function prepareReply(
  { pool, identities, sanitizer, attachments }: ReplyDeps,
  scope: Tenant,
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
  const { files, problems } = await attachments.readAttachments(scope, body.attachments ?? []);
  if (Object.keys(problems).length > 0) throw invalid(problems);
  const stored = await attachments.storeFiles(scope, files);
  const shownHtml = html === null ? null : await sanitizer.sanitize(scope.accountId, html, new Map());
  return { scope, sender, replyTo: address, html, shownHtml, text, files, stored };
}

type Draft = Omit<NewMessage, 'id'>;
type WriteDeps = Pick<ReplyDeps, 'limits' | 'attachments' | 'emailProvider'>;

/** Writes a message with files. @throws NotPreparedError if a file has to be stored again */
async function writeWhole(
  trx: Queryable,
  { limits, attachments, emailProvider }: WriteDeps,
  scope: Tenant,
  { html = null, text = null, headers = null, ...message }: Draft & { id: number },
  { files, stored }: PreparedReply,
): Promise<WrittenMessage | undefined> {
  const fields = [message.subject, message.to_address];
  const letter = {
    ...{ html, text, headers, replyTo: null, addresses: [], files: stored },
    wireBytes: wireBytesOf({ html, text, headers, fields, files }),
    defaultKind: emailProvider,
  };
  try {
    const source = { class: messageClasses.transactional };
    const written = await writeLetter(trx, [{ ...message, kind: 'to' }], letter, { source, limits });
    return written.get(message.id);
  } catch (error) {
    if (!(error instanceof FileGoneError)) throw error;
    throw new NotPreparedError(async () => void (await attachments.storeFiles(scope, files)));
  }
}

/** Writes the message, with what it costs. @returns its id and the backlog in which it waits */
async function writeMessage(
  trx: Queryable,
  deps: WriteDeps,
  scope: Tenant,
  draft: Draft,
  prepared: PreparedReply,
) {
  const [id = 0] = await allocateMessageIds(trx, 1);
  const isWhole = prepared.files.length > 0;
  const row = isWhole
    ? await writeWhole(trx, deps, scope, { ...draft, id }, prepared)
    : await writeAlone(trx, deps, { ...draft, id });
  const { channel, account_id: accountId } = draft;
  const providerId = row?.provider_id ?? DEFAULT_PROVIDER;
  const queue = isWhole ? LETTER_QUEUE : channel;
  const backlog = backlogName({ channel, queue, class: messageClasses.transactional, accountId, providerId });
  return { id, from: row?.from_address ?? '', backlog };
}

async function writeAlone(trx: Queryable, { limits }: WriteDeps, message: Draft & { id: number }) {
  const written = await writeMessages(trx, [message], {
    source: { class: messageClasses.transactional },
    limits,
    money: 'reserve',
  });
  return written.get(message.id);
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
  deps: WriteDeps,
  scope: Tenant,
  conversationId: number,
  { to: given, subject: givenSubject }: Pick<ReplyBody, 'to' | 'subject'>,
  prepared: PreparedReply,
): Promise<WrittenReply> {
  const conversation = await lockConversation(trx, scope, conversationId);
  if (!conversation) throw notFound('conversation');
  const { sender, replyTo, html, shownHtml, text } = prepared;
  const context = await readReplyContext(trx, conversation);
  const to = recipientOf(given, conversation.participants, context, replyTo);
  const subject = givenSubject ?? subjectOf(conversation.subject);
  const { last } = context;
  const draft: Draft = {
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
  };
  const { id, from, backlog } = await writeMessage(trx, deps, scope, draft, prepared);
  const sent = { messageId: id, from, to: to.address, toKey: to.key, subject };
  const messageId = await insertReply(trx, conversation, sent);
  const row = await findMessageOf(trx, scope, conversationId, messageId);
  if (!row) throw notFound('message');
  const shown = { sanitize: () => Promise.resolve(shownHtml) };
  return { message: await presentMessage(shown, row), backlog };
}
