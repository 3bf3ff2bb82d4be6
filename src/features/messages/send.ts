/** Sends messages and letters: checks a request, and accepts what it asks for. */
import type pg from 'pg';
import type { MessageKey } from '../../delivery/ledger/accept/kept-keys.ts';
import type { TrackingDefaults } from '../../delivery/ledger/accept/route.ts';
import { requireTestCapacity } from '../../delivery/ledger/accept/test-messages.ts';
import { FUNDS_CHANNEL } from '../../delivery/ledger/limits/admission.ts';
import type { LimitSettings } from '../../delivery/ledger/limits/authority.ts';
import { backlogName } from '../../delivery/terms/backlog.ts';
import { recipientKey } from '../../delivery/terms/channels/recipient.ts';
import type { RecipientKind } from '../../delivery/terms/letter.ts';
import { messageClasses } from '../../delivery/terms/message.ts';
import type { SenderIdentities } from '../../delivery/terms/sender-identity.ts';
import { createSmsSenders } from '../../delivery/terms/sms-senders.ts';
import { AppError, notFound } from '../../errors.ts';
import { isTestCaller, type Tenant } from '../../platform/auth/tenant.ts';
import { refuseTestKey } from '../../platform/auth/test-keys.ts';
import { findOutcome, fingerprintOf, foreignKeyConflict, isKeyTaken } from '../../platform/db/idempotency.ts';
import type { Waker } from '../../platform/db/wake.ts';
import type { Attachments, ReadAttachments, ReadFile } from '../attachments/service.ts';
import type { RenderForMessage, TemplateMessage } from '../templates/service.ts';
import type { JustAccepted, PresentAccepted } from './accepted.ts';
import { createAcceptMemory, createAcceptor, type QueuedMessage } from './accept.ts';
import { type AcceptedWish, createLetterAcceptor, type Keyed, type Wish } from './accept-letter.ts';
import { createSetAcceptor } from './accept-set.ts';
import { type Drafted, draftMessage } from './draft.ts';
import { createHeldMessages, type HeldBound, type HeldMessages, waitingKindOf } from './held-bound.ts';
import { findFilesOfMessage } from './letter-model.ts';
import { type LetterReader, type Reader, withoutHiddenLetter } from './letter-presenter.ts';
import type { MailParts } from './letter.ts';
import { type HiddenKey, MESSAGES_ENDPOINT, messageKeyOf } from './message-key.ts';
import { findMessage, isOfTestKey } from './model.ts';
import { type AcceptedMessage, presentMessage } from './presenter.ts';
import { recipientsOf } from './recipient-fields.ts';
import type { StoredMessage } from './rendered.ts';
import { bodyOf, filesOf } from './resend.ts';
import { maySee, requireOwnKey } from './sent-by.ts';
import type { MailFields, SendMessageBody } from './schema.ts';

export interface SendDeps {
  pool: pg.Pool;
  waker: Waker;
  identities: SenderIdentities;
  limits: LimitSettings;
  heldBound: HeldBound;
  tracking: TrackingDefaults;
  renderTemplate: RenderForMessage;
  attachments: Attachments;
  /** The kind of the provider of EMAIL_PROVIDER_URL. */
  emailProvider: string;
  /** The setting MESSAGE_CONTENT_RETENTION_DAYS. */
  contentDays: number;
  letters: LetterReader;
  presentAccepted: PresentAccepted;
}

export interface SendResult {
  status: number;
  message: AcceptedMessage;
  replayed: boolean;
}

export interface Sending {
  /**
   * Accepts one message, or one letter to several recipients, for sending. It is committed when this resolves.
   * @throws AppError validation_error, sender_not_verified, reserved_header, reserved_tag,
   *   sandbox_limit_reached, spend_cap_reached, insufficient_funds, idempotency_conflict, unavailable, test_key
   */
  send(
    tenant: Tenant,
    reader: Reader,
    body: SendMessageBody,
    idempotencyKey: string | null,
  ): Promise<SendResult>;
  /**
   * Accepts a copy of a transactional message, with its recipient, content, files and sender. All present checks
   * apply.
   * @throws AppError as `send` does; not_found; test_key; validation_error if it cannot be resent
   */
  resend(tenant: Tenant, reader: Reader, id: number, idempotencyKey: string | null): Promise<SendResult>;
  /**
   * Accepts an email that a program submitted by SMTP, which can say what a request cannot.
   * @throws AppError as `send` does
   */
  sendMail(tenant: Tenant, mail: MailToSend): Promise<SendResult>;
}

/** An email that a program submitted by SMTP. */
export interface MailToSend extends MailParts, Pick<Wanted, 'key' | 'hiddenKey' | 'alias' | 'fingerprint'> {
  fields: MailFields;
  /** In the order of its header; those of `bcc` are in none. */
  recipients: readonly { kind: RecipientKind; address: string }[];
  files: readonly ReadFile[];
}

/** Names the backlogs of messages that wait to be sent. */
function backlogsOf(messages: readonly QueuedMessage[]): string[] {
  const names = messages
    .filter(({ draft }) => !draft.test)
    .map(({ draft: { channel, account_id: accountId }, providerId, queue = channel }) =>
      backlogName({ channel, queue, class: messageClasses.transactional, accountId, providerId }),
    );
  return [...new Set(names)];
}

/**
 * Renders the template of a request, for its first recipient.
 * @returns an error that the client can fix, so that it is reported with the others
 */
async function contentOf(
  { renderTemplate }: SendDeps,
  tenant: Tenant,
  templateId: number,
  body: SendMessageBody,
): Promise<TemplateMessage | AppError> {
  const { channel, variables = {} } = body;
  const recipients = channel === 'email' ? recipientsOf(body).recipients : [];
  // A submitted mail may have recipients in Cc and Bcc alone.
  const to = recipients[0]?.address ?? (Array.isArray(body.to) ? body.to[0] : body.to) ?? '';
  const shared = recipients.length > 1;
  const toKey = recipientKey(channel, to);
  try {
    return await renderTemplate(tenant, { templateId, channel, variables, to, toKey, shared });
  } catch (error) {
    if (error instanceof AppError && error.code === 'validation_error') return error;
    throw error;
  }
}

export const NO_FILES: ReadAttachments = { fingerprint: [], files: [], problems: {} };

/** Creates the function that checks a request against the brand's present senders and templates. */
function createDrafts(
  deps: SendDeps,
): (tenant: Tenant, body: SendMessageBody, read: ReadAttachments, mail?: MailParts) => Promise<Drafted> {
  const smsSenderOf = createSmsSenders(deps.pool);
  return async (tenant, body, attachments, mail) => {
    const senders = body.channel === 'email' ? await deps.identities.ofBrand(tenant) : null;
    const smsSender = body.channel === 'sms' ? await smsSenderOf(tenant.brandId) : null;
    const { template_id: templateId } = body;
    const template = templateId === undefined ? null : await contentOf(deps, tenant, templateId, body);
    const { contentDays } = deps;
    return draftMessage(tenant, body, { senders, smsSender, template, attachments, contentDays, mail });
  };
}

/** A message that a client wants to have sent. */
interface Wanted {
  tenant: Tenant;
  reader: Reader;
  key: string | null;
  /** Of the payload; null without a key. */
  fingerprint: Buffer | null;
  /** Replaces a key that the client did not give. */
  hiddenKey?: HiddenKey | undefined;
  /** As in `Submission`. */
  alias?: Buffer | undefined;
  /** Whether drafting takes a while. An earlier result is then looked up first. */
  slow: boolean;
  /** @throws AppError */
  draft(): Promise<Wish>;
}

type Kept = Pick<Wanted, 'tenant' | 'reader' | 'key' | 'fingerprint' | 'hiddenKey'>;

/** The key under which the message is kept; undefined if it has none. */
const keptKeyOf = ({ tenant, key, fingerprint, hiddenKey }: Kept): MessageKey | undefined =>
  messageKeyOf({ draft: { test: isTestCaller(tenant.actor) }, idempotencyKey: key, fingerprint, hiddenKey });

/**
 * Reads what a client gets of a message.
 * @throws AppError not_found; idempotency_conflict if a send-only key did not send it
 */
export async function findStored(
  deps: Pick<SendDeps, 'pool' | 'letters'>,
  { tenant, reader, hiddenKey }: Pick<Wanted, 'tenant' | 'reader' | 'hiddenKey'>,
  id: number,
): Promise<AcceptedMessage> {
  const row = await findMessage(deps.pool, tenant, id);
  if (!row) throw notFound('message');
  // Mail that is submitted again, perhaps with another key, is answered with the id alone.
  if (!hiddenKey && !maySee(tenant, row)) throw foreignKeyConflict();
  const fields = await deps.letters.acceptedFieldsOf(tenant, reader, row);
  return { ...presentMessage(withoutHiddenLetter(reader, row)), ...fields };
}

/**
 * Finds the result of an earlier request with the same key.
 * @throws AppError idempotency_conflict if it had another payload
 */
async function findReplay(deps: SendDeps, wanted: Kept): Promise<SendResult | null> {
  const asked = keptKeyOf(wanted);
  if (!asked) return null;
  const kept = await findOutcome(deps.pool, { brandId: wanted.tenant.brandId, ...asked });
  if (!kept) return null;
  return { status: kept.status, message: await findStored(deps, wanted, kept.resourceId), replayed: true };
}

async function answerOf(
  deps: SendDeps,
  { tenant, reader, key }: Kept,
  accepted: Omit<JustAccepted, 'idempotencyKey'>,
): Promise<SendResult> {
  const [message] = await deps.presentAccepted(tenant, reader, [{ ...accepted, idempotencyKey: key }]);
  return { status: 201, message: message as AcceptedMessage, replayed: false };
}

function createAcceptors(deps: SendDeps) {
  const acceptDeps = {
    ...deps,
    onQueued: (messages: readonly QueuedMessage[]) => deps.waker.wake('send', backlogsOf(messages)),
    watchFunds: (forget: (accountIds: number[] | null) => void) =>
      void deps.waker.listen(FUNDS_CHANNEL, (hints) => forget(hints && hints.map(Number))),
  };
  const memory = createAcceptMemory(acceptDeps);
  const acceptSet = createSetAcceptor(acceptDeps, memory);
  return {
    accept: createAcceptor(acceptDeps, memory),
    acceptSet,
    acceptLetter: createLetterAcceptor(deps.attachments, acceptSet),
  };
}

/** What all ways to send share. A process has one of each. */
export interface SendParts extends ReturnType<typeof createAcceptors> {
  /**
   * Checks a request against the brand's present senders and templates.
   * @throws AppError as {@link draftMessage}
   */
  draftOf: ReturnType<typeof createDrafts>;
  held: HeldMessages;
}

export const createSendParts = (deps: SendDeps): SendParts => ({
  ...createAcceptors(deps),
  draftOf: createDrafts(deps),
  held: createHeldMessages(deps.pool, deps.heldBound),
});

function createAccept(deps: SendDeps, parts: SendParts): (wanted: Wanted) => Promise<SendResult> {
  const { pool } = deps;
  const { accept, acceptLetter, held } = parts;

  async function acceptMessage(keyed: Keyed, draft: Drafted['message']): Promise<AcceptedWish> {
    const accepted = await accept({ draft, ...keyed });
    if (accepted.replayed) return { kind: 'replayed', id: accepted.id, status: accepted.status };
    return { kind: 'written', accepted: { draft, written: accepted.written, letter: null } };
  }

  async function acceptWish(wanted: Wanted, { message, letter, files }: Wish): Promise<SendResult> {
    const { tenant, key, fingerprint, hiddenKey, alias } = wanted;
    const keyed = { idempotencyKey: key, fingerprint, hiddenKey, alias };
    const outcome = letter
      ? await acceptLetter(tenant, keyed, { message, letter, files })
      : await acceptMessage(keyed, message);
    if (outcome.kind === 'written') return answerOf(deps, wanted, outcome.accepted);
    const { status, id } = outcome;
    return { status, message: await findStored(deps, wanted, id), replayed: true };
  }

  return async (wanted) => {
    const { tenant, key, slow } = wanted;
    if (key !== null) await requireOwnKey(pool, tenant, MESSAGES_ENDPOINT, key);
    const kept = () => findReplay(deps, wanted);
    // Without a template or files, the insert finds an earlier result.
    const early = slow ? await kept() : null;
    if (early) return early;
    let wish: Wish;
    try {
      wish = await wanted.draft();
    } catch (error) {
      // The sender or the template may have been deleted since an earlier request with the same key.
      const replay = error instanceof AppError ? await kept() : null;
      if (replay) return replay;
      throw error;
    }
    const { message } = wish;
    const copies = wish.letter?.copies.length ?? 1;
    if (message.test) {
      const isReplay = async () => {
        const asked = keptKeyOf(wanted);
        return asked !== undefined && isKeyTaken(pool, { brandId: tenant.brandId, ...asked });
      };
      await requireTestCapacity(pool, tenant.accountId, isReplay, copies);
    }
    const refusal = message.test ? null : held.refusal(tenant.accountId, waitingKindOf(message), copies);
    if (refusal) {
      const replay = await kept();
      if (replay) return replay;
      throw refusal;
    }
    return acceptWish(wanted, wish);
  };
}

const fingerprint = (key: string | null, payload: unknown) => (key === null ? null : fingerprintOf(payload));

/** The payload of a request: the hashes of its files stand for their content. */
export const payloadOf = (body: SendMessageBody, read: ReadAttachments): unknown =>
  body.attachments === undefined ? body : { ...body, attachments: read.fingerprint };

/** A client of SMTP sees only the id of its message. */
const FOR_NO_ONE: Reader = { isAssistant: false };

const addressLists = (recipients: MailToSend['recipients']) => {
  const of = (wanted: RecipientKind) =>
    recipients.filter(({ kind }) => kind === wanted).map(({ address }) => address);
  return { to: of('to'), cc: of('cc'), bcc: of('bcc') };
};

export function createSend(deps: SendDeps, parts: SendParts): Sending {
  const { draftOf } = parts;
  const accept = createAccept(deps, parts);
  return {
    async send(tenant, reader, body, key) {
      const { attachments = [] } = body;
      const read =
        attachments.length === 0 ? NO_FILES : await deps.attachments.readAttachments(tenant, attachments);
      return accept({
        ...{ tenant, reader, key, fingerprint: fingerprint(key, payloadOf(body, read)) },
        slow: body.template_id !== undefined || attachments.length > 0,
        draft: async () => ({ ...(await draftOf(tenant, body, read)), files: read.files }),
      });
    },
    sendMail: (tenant, { fields, recipients, files, ...mail }) =>
      accept({
        ...{ tenant, reader: FOR_NO_ONE, ...mail },
        slow: fields.template_id !== undefined || files.length > 0 || mail.opaque !== null,
        async draft() {
          const body = { channel: 'email' as const, ...fields, ...addressLists(recipients) };
          return { ...(await draftOf(tenant, body, { ...NO_FILES, files: [...files] }, mail)), files };
        },
      }),
    resend: (tenant, reader, id, key) =>
      accept({
        ...{ tenant, reader, key, fingerprint: fingerprint(key, { resend: id }) },
        slow: true,
        async draft() {
          // Before the content: an erasure removes both, and the content must not be sent without the files.
          const files = await findFilesOfMessage(deps.pool, tenant, id);
          const row = await findMessage(deps.pool, tenant, id);
          if (!row) throw notFound('message');
          if (!isOfTestKey(row)) refuseTestKey(tenant, 'resend messages that are not of test keys');
          const body = bodyOf(tenant, row, files);
          const read = { ...NO_FILES, files: filesOf(files) };
          return { ...asResent(await draftOf(tenant, body, read), row), files: read.files };
        },
      }),
  };
}

/** What a resent message has from the earlier one, besides the fields of its request. */
function asResent({ message, letter }: Drafted, row: StoredMessage): Drafted {
  const { template_id, content_version_id, answers_mail } = row;
  const columns = { template_id, content_version_id, ...(answers_mail === true ? { answers_mail } : {}) };
  return {
    message: { ...message, ...columns },
    letter: letter && {
      ...letter,
      copies: letter.copies.map((copy) => ({ ...copy, draft: { ...copy.draft, ...columns } })),
    },
  };
}
