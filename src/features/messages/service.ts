import type pg from 'pg';
import { recipientKey } from '../../delivery/terms/channels/recipient.ts';
import { emailKeys, phoneKeys } from '../../delivery/terms/addresses/search-keys.ts';
import { backlogName } from '../../delivery/terms/backlog.ts';
import type { RenderedContent } from '../../delivery/content/templates/content.ts';
import type { LimitSettings } from '../../delivery/ledger/limits/authority.ts';
import { messageClasses } from '../../delivery/terms/message.ts';
import type { SenderIdentities } from '../../delivery/terms/sender-identity.ts';
import { createSmsSenders } from '../../delivery/terms/sms-senders.ts';
import { AppError, notFound } from '../../errors.ts';
import type { TrackingDefaults } from '../../delivery/ledger/accept/route.ts';
import { isTestCaller, type Tenant } from '../../platform/auth/tenant.ts';
import { refuseTestKey } from '../../platform/auth/test-keys.ts';
import { findOutcome, fingerprintOf, isKeyTaken, keySpace } from '../../platform/db/idempotency.ts';
import type { Waker } from '../../platform/db/wake.ts';
import type { Page, RowCount } from '../../platform/db/paging.ts';
import type { Queryable } from '../../platform/db/queryable.ts';
import type { RenderForMessage, TemplateMessage } from '../templates/service.ts';
import { findInteractions } from '../tracking/service.ts';
import { FUNDS_CHANNEL } from '../../delivery/ledger/limits/admission.ts';
import { createAcceptor, type QueuedMessage } from './accept.ts';
import { createHeldMessages, type HeldBound } from './held-bound.ts';
import { draftMessage, type MessageDraft } from './draft.ts';
import { MESSAGES_ENDPOINT, TEST_KEYS } from './message-key.ts';
import { listMessages, type MessageFilters } from './list.ts';
import { findMessage, findMessageEvents } from './model.ts';
import { bodyOf } from './resend.ts';
import {
  type MessageDetail,
  type MessageResource,
  type MessageRow,
  presentMessage,
  presentMessageDetail,
  presentNewMessage,
} from './presenter.ts';
import { findMessages } from './scan.ts';
import { requireTestCapacity, TEST_PROVIDER } from '../../delivery/ledger/accept/test-messages.ts';
import type { StoredMessage } from './rendered.ts';
import type { ListMessagesQuery, SendMessageBody } from './schema.ts';

export { highestMessageId, scanMessages } from './scan.ts';

export { createContentReader, type ReadContent } from './rendered.ts';

export interface MessageServiceDeps {
  pool: pg.Pool;
  waker: Waker;
  identities: SenderIdentities;
  limits: LimitSettings;
  heldBound: HeldBound;
  tracking: TrackingDefaults;
  renderTemplate: RenderForMessage;
  /** Renders a content that is not stored; null: the message has none to render. */
  renderedContent: (row: StoredMessage) => Promise<RenderedContent | null>;
}

export interface SendResult {
  status: number;
  message: MessageResource;
  replayed: boolean;
}

export interface MessageService {
  /**
   * Accepts one message for sending. The message is committed when this resolves.
   * @throws AppError validation_error, sender_not_verified, reserved_header, reserved_tag,
   *   sandbox_limit_reached, spend_cap_reached, insufficient_funds, idempotency_conflict, unavailable
   */
  send(tenant: Tenant, body: SendMessageBody, idempotencyKey: string | null): Promise<SendResult>;
  /**
   * Accepts a copy of a transactional message: with its recipient, content and sender, through all present checks.
   * @throws AppError as `send` does; not_found; test_key; validation_error if it cannot be resent
   */
  resend(tenant: Tenant, id: number, idempotencyKey: string | null): Promise<SendResult>;
  list(
    tenant: Tenant,
    query: ListMessagesQuery,
    page: Page,
  ): Promise<{ messages: MessageResource[]; counted: RowCount }>;
  /** @throws AppError not_found, test_key */
  get(tenant: Tenant, id: number): Promise<MessageDetail>;
}

/** The recipient in the form of `to_key`. Text that is not an address matches nothing. */
function toKeyOf(to: string | undefined): string | readonly string[] | undefined {
  if (to === undefined) return undefined;
  const email = emailKeys(to);
  const keys = 'error' in email ? phoneKeys(to) : email;
  if ('error' in keys) return '';
  const [first, ...others] = keys;
  return first !== undefined && others.length === 0 ? first : keys;
}

export function filtersOf(query: ListMessagesQuery): MessageFilters {
  return {
    status: query.status,
    channel: query.channel,
    toKey: toKeyOf(query.to),
    idempotencyKey: query.idempotency_key,
    subject: query.subject,
    templateId: query.template_id,
    contactId: query.contact_id,
    createdAfter: query.created_after,
    createdBefore: query.created_before,
  };
}

/** Names the backlogs of messages that wait to be sent. */
function backlogsOf(messages: readonly QueuedMessage[]): string[] {
  const names = messages
    .filter(({ draft }) => !draft.test)
    .map(({ draft: { channel, account_id: accountId }, providerId }) =>
      backlogName({ channel, class: messageClasses.transactional, accountId, providerId }),
    );
  return [...new Set(names)];
}

/**
 * Presents messages of a brand, in one statement.
 * @returns those that still exist, in ascending order of ids
 */
export async function presentMessages(
  db: Queryable,
  scope: Pick<Tenant, 'accountId' | 'brandId'>,
  ids: readonly number[],
): Promise<MessageResource[]> {
  return (await findMessages(db, scope, ids)).map(presentMessage);
}

async function findStored(pool: pg.Pool, tenant: Tenant, id: number): Promise<MessageResource> {
  const row = await findMessage(pool, tenant, id);
  if (!row) throw notFound('message');
  return presentMessage(row);
}

/**
 * Finds the result of an earlier request with the same key.
 * @throws AppError idempotency_conflict if it had another payload
 */
async function findReplay(
  pool: pg.Pool,
  tenant: Tenant,
  key: string | null,
  fingerprint: Buffer | null,
): Promise<SendResult | null> {
  if (key === null || fingerprint === null) return null;
  const endpoint = keySpace(MESSAGES_ENDPOINT, isTestCaller(tenant.actor));
  const kept = await findOutcome(pool, { brandId: tenant.brandId, endpoint, key, fingerprint });
  if (!kept) return null;
  return { status: kept.status, message: await findStored(pool, tenant, kept.resourceId), replayed: true };
}

/**
 * Renders the template of a request.
 * @returns an error that the client can fix, so that it is reported with the others
 */
async function contentOf(
  { renderTemplate }: MessageServiceDeps,
  tenant: Tenant,
  templateId: number,
  { channel, to, variables = {} }: SendMessageBody,
): Promise<TemplateMessage | AppError> {
  const toKey = recipientKey(channel, to);
  try {
    return await renderTemplate(tenant, { templateId, channel, variables, to, toKey });
  } catch (error) {
    if (error instanceof AppError && error.code === 'validation_error') return error;
    throw error;
  }
}

/** Creates the function that checks a request against the brand's present senders and templates. */
function createDrafts(
  deps: MessageServiceDeps,
): (tenant: Tenant, body: SendMessageBody) => Promise<MessageDraft> {
  const smsSenderOf = createSmsSenders(deps.pool);
  return async (tenant, body) => {
    const senders = body.channel === 'email' ? await deps.identities.ofBrand(tenant) : null;
    const smsSender = body.channel === 'sms' ? await smsSenderOf(tenant.brandId) : null;
    const { template_id: templateId } = body;
    const template = templateId === undefined ? null : await contentOf(deps, tenant, templateId, body);
    return draftMessage(tenant, body, senders, smsSender, template);
  };
}

/** A message that a client wants to have sent. */
interface Wanted {
  key: string | null;
  /** Of the payload; null without a key. */
  fingerprint: Buffer | null;
  /** Whether drafting it takes a while, so that an earlier result is looked for first. */
  slow: boolean;
  /** @throws AppError */
  draft(): Promise<MessageDraft>;
}

function createAccept(deps: MessageServiceDeps): (tenant: Tenant, wanted: Wanted) => Promise<SendResult> {
  const { pool } = deps;
  const held = createHeldMessages(pool, deps.heldBound);
  const accept = createAcceptor({
    ...deps,
    onQueued: (messages) => deps.waker.wake('send', backlogsOf(messages)),
    watchFunds: (forget) =>
      void deps.waker.listen(FUNDS_CHANNEL, (hints) => forget(hints && hints.map(Number))),
  });
  return async (tenant, { key, fingerprint, slow, draft: draftOf }) => {
    const kept = () => findReplay(pool, tenant, key, fingerprint);
    // Without a template, the insert finds an earlier result.
    const early = slow ? await kept() : null;
    if (early) return early;
    let draft: MessageDraft;
    try {
      draft = await draftOf();
    } catch (error) {
      // The sender or the template may have been deleted since an earlier request with the same key.
      const replay = error instanceof AppError ? await kept() : null;
      if (replay) return replay;
      throw error;
    }
    if (draft.test) {
      await requireTestCapacity(pool, tenant.accountId, async () => {
        return key !== null && isKeyTaken(pool, { brandId: tenant.brandId, endpoint: TEST_KEYS, key });
      });
    }
    const refusal = draft.test ? null : held.refusal(tenant.accountId);
    if (refusal) {
      const replay = await kept();
      if (replay) return replay;
      throw refusal;
    }
    const accepted = await accept({ draft, idempotencyKey: key, fingerprint });
    if (accepted.replayed) {
      const { status, id } = accepted;
      return { status, message: await findStored(pool, tenant, id), replayed: true };
    }
    const { written } = accepted;
    const message = draft.test
      ? await findStored(pool, tenant, written.id)
      : presentNewMessage({ ...draft, id: written.id, idempotency_key: key }, written);
    return { status: 201, message, replayed: false };
  };
}

function createSend(deps: MessageServiceDeps): Pick<MessageService, 'send' | 'resend'> {
  const draftOf = createDrafts(deps);
  const accept = createAccept(deps);
  const fingerprint = (key: string | null, payload: unknown) =>
    key === null ? null : fingerprintOf(payload);
  return {
    send: (tenant, body, key) =>
      accept(tenant, {
        key,
        fingerprint: fingerprint(key, body),
        slow: body.template_id !== undefined,
        draft: () => draftOf(tenant, body),
      }),
    resend: (tenant, id, key) =>
      accept(tenant, {
        key,
        fingerprint: fingerprint(key, { resend: id }),
        slow: true,
        async draft() {
          const row = await findMessage(deps.pool, tenant, id);
          if (!row) throw notFound('message');
          if (!isOfTestKey(row)) refuseTestKey(tenant, 'resend messages that are not of test keys');
          const { template_id, content_version_id, answers_mail } = row as StoredMessage;
          const draft = { ...(await draftOf(tenant, bodyOf(tenant, row))), template_id, content_version_id };
          return answers_mail === true ? { ...draft, answers_mail } : draft;
        },
      }),
  };
}

/** Whether a test key or a test run wrote the message. Tests that users and live keys send go to a real provider. */
const isOfTestKey = ({ test, provider }: MessageRow) => test && provider === TEST_PROVIDER;

/**
 * What the caller sees of a message. Of a test run, a test key does not see the recipient, the content, and what follows
 * from them: contact ids can be counted up, so it could read any contact's data.
 */
function shownTo<Row extends MessageRow>({ actor }: Tenant, row: Row): Row {
  if (!isTestCaller(actor) || typeof row.flow_id !== 'number') return row;
  const content = { to_address: null, subject: null, version_subject: null, html: null, text: null };
  return { ...row, ...content, segments: null, failure: null, bounce: null };
}

export function createMessageService(deps: MessageServiceDeps): MessageService {
  const { pool } = deps;
  return {
    ...createSend(deps),
    async list(tenant, query, page) {
      const filters = { ...filtersOf(query), test: isTestCaller(tenant.actor) ? (true as const) : undefined };
      const { rows, counted } = await listMessages(pool, tenant, filters, page);
      return { messages: rows.map((row) => presentMessage(shownTo(tenant, row))), counted };
    },
    async get(tenant, id) {
      const row = await findMessage(pool, tenant, id);
      if (!row) throw notFound('message');
      if (!isOfTestKey(row)) refuseTestKey(tenant, 'read messages that are not of test keys or test runs');
      const shown = shownTo(tenant, row);
      const [events, interactions, rendered] = await Promise.all([
        findMessageEvents(pool, id),
        findInteractions(pool, id),
        shown === row ? deps.renderedContent(row) : null,
      ]);
      const { subject = null } = shown;
      const content = rendered && { ...rendered, subject: subject ?? rendered.subject };
      return presentMessageDetail({ ...shown, ...content }, events, interactions);
    },
  };
}
