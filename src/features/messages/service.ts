import { emailKeys, phoneKeys } from '../../delivery/terms/addresses/search-keys.ts';
import type { RenderedContent } from '../../delivery/content/templates/content.ts';
import { notFound } from '../../errors.ts';
import type { Config } from '../../config.ts';
import type { ContentEngine } from '../../delivery/content/templates/content.ts';
import { limitSettings } from '../../delivery/ledger/limits/authority.ts';
import { createSenderIdentities } from '../../delivery/terms/sender-identity.ts';
import { defaultEmailProvider } from '../../delivery/wire/providers/settings-url.ts';
import type { Database } from '../../platform/db/database.ts';
import type { Waker } from '../../platform/db/wake.ts';
import type { Keyring } from '../../platform/secrets/keyring.ts';
import { createAttachments, type FileDecoder } from '../attachments/service.ts';
import { brandValues, createBrandOf, createMessageContents } from '../templates/service.ts';
import { isTestCaller, sendKeyOf, type Tenant } from '../../platform/auth/tenant.ts';
import { refuseTestKey } from '../../platform/auth/test-keys.ts';
import type { Page, RowCount } from '../../platform/db/paging.ts';
import type { Queryable } from '../../platform/db/queryable.ts';
import { findInteractions } from '../tracking/service.ts';
import { createAcceptedPresenter } from './accepted.ts';
import { createBatch, type SendBatch } from './batch.ts';
import { type LetterFileContent, openLetterFile } from './letter-file.ts';
import { createLetterReader, type Reader, withoutHiddenLetter } from './letter-presenter.ts';
import { listMessages, type MessageFilters } from './list.ts';
import { findMessage, findMessageEvents, isOfTestKey } from './model.ts';
import {
  type MessageDetail,
  type MessageResource,
  type MessageRow,
  presentMessage,
  presentMessageDetail,
} from './presenter.ts';
import { createRenderedContents, type StoredMessage } from './rendered.ts';
import { findMessages } from './scan.ts';
import type { ListMessagesQuery } from './schema.ts';
import { maySee } from './sent-by.ts';
import { createSend, createSendParts, type SendDeps, type Sending } from './send.ts';

export { highestMessageId, scanMessages } from './scan.ts';

export { wireBytesOf } from './letter.ts';
export type { MailToSend, Sending } from './send.ts';

export { createContentReader, type ReadContent } from './rendered.ts';

export interface MessageServiceDeps extends Omit<SendDeps, 'letters' | 'presentAccepted'> {
  /** Renders a content that is not stored; null: the message has none to render. */
  renderedContent: (row: StoredMessage) => Promise<RenderedContent | null>;
}

export interface MessageService extends Sending {
  sendBatch: SendBatch;
  list(
    tenant: Tenant,
    reader: Reader,
    query: ListMessagesQuery,
    page: Page,
  ): Promise<{ messages: MessageResource[]; counted: RowCount }>;
  /** @throws AppError not_found, test_key */
  get(tenant: Tenant, reader: Reader, id: number): Promise<MessageDetail>;
  /**
   * Opens a file of a message.
   * @param n its place in the message, from 1
   * @throws AppError not_found, test_key
   */
  openFile(tenant: Tenant, id: number, n: number): Promise<LetterFileContent>;
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
  const { pool, attachments } = deps;
  const plusAddresses = deps.limits.suppress_plus_addresses === 1;
  const letters = createLetterReader(pool, plusAddresses);
  const sending = { ...deps, letters, presentAccepted: createAcceptedPresenter(pool, plusAddresses) };
  const parts = createSendParts(sending);
  return {
    ...createSend(sending, parts),
    sendBatch: createBatch(sending, parts),
    async list(tenant, reader, query, page) {
      const filters = {
        ...filtersOf(query),
        test: isTestCaller(tenant.actor) ? (true as const) : undefined,
        sendKeyId: sendKeyOf(tenant) ?? undefined,
      };
      const { rows, counted } = await listMessages(pool, tenant, filters, page);
      const shown = rows.map((row) => withoutHiddenLetter(reader, shownTo(tenant, row)));
      return { messages: shown.map(presentMessage), counted };
    },
    async get(tenant, reader, id) {
      const row = await findMessage(pool, tenant, id);
      if (!row || !maySee(tenant, row)) throw notFound('message');
      if (!isOfTestKey(row)) refuseTestKey(tenant, 'read messages that are not of test keys or test runs');
      const own = shownTo(tenant, row);
      const shown = withoutHiddenLetter(reader, own);
      const [events, interactions, rendered, letter] = await Promise.all([
        findMessageEvents(pool, id),
        findInteractions(pool, id),
        own === row ? deps.renderedContent(row) : null,
        letters.fieldsOf(tenant, reader, row),
      ]);
      const { subject = null } = shown;
      const content = rendered && { ...rendered, subject: subject ?? rendered.subject };
      return { ...presentMessageDetail({ ...shown, ...content }, events, interactions), ...letter };
    },
    openFile: (tenant, id, n) => openLetterFile({ pool, attachments }, tenant, id, n),
  };
}

export interface MessageDeps {
  config: Config;
  database: Database;
  waker: Waker;
  keyring: Keyring;
  contents: ContentEngine;
  fileDecoder: FileDecoder;
}

/** Creates the service of messages as processes have it, with what its parts are made from. */
export function createMessages(deps: MessageDeps): MessageService {
  const { config, database, waker, keyring, contents } = deps;
  const { pool } = database;
  const publicUrl = config.PUBLIC_URL ?? null;
  const brandOf = createBrandOf(pool, keyring, publicUrl);
  return createMessageService({
    pool,
    waker,
    identities: createSenderIdentities(database.pool, config.MAIL_DOMAIN),
    limits: limitSettings(config),
    heldBound: { maxMessages: config.HELD_MESSAGES_MAX, maxMegabytes: config.HELD_MESSAGES_MB },
    tracking: {
      publicUrl,
      keyId: keyring.subkey('tracking').id,
    },
    attachments: createAttachments(deps),
    emailProvider: defaultEmailProvider(config),
    contentDays: config.MESSAGE_CONTENT_RETENTION_DAYS,
    renderTemplate: createMessageContents({ pool, contents, brandOf, keyring, publicUrl }),
    renderedContent: createRenderedContents({
      pool,
      contents,
      readBrand: async (scope) => brandValues(await brandOf(scope)),
    }),
  });
}
