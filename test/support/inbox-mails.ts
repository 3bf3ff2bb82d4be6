import { randomBytes } from 'node:crypto';
import { parseEmailAddress } from '../../src/delivery/terms/addresses/email.ts';
import { messageReference } from '../../src/delivery/terms/addresses/reference.ts';
import { allocateMessageIds, writeMessages } from '../../src/delivery/ledger/accept/write-messages.ts';
import type { NewMessage } from '../../src/delivery/ledger/accept/new-message.ts';
import { messageClasses } from '../../src/delivery/terms/message.ts';
import { createTrackedEventConsumers } from '../../src/features/events.ts';
import type { ArrivalDeps } from '../../src/features/inbox/arrival/arrive.ts';
import type { ReadMail } from '../../src/features/inbox/mail/mail.ts';
import type { Database } from '../../src/platform/db/database.ts';
import { testEvents } from './events.ts';
import { testKeyring } from './webhooks.ts';

interface Owner {
  accountId: number;
  brandId: number;
}

/** What arrival needs, as roles have it. Wakes nothing. */
export function arrivalDeps(): ArrivalDeps {
  const waker = { wake: () => undefined };
  return {
    keyring: testKeyring,
    plusAddresses: false,
    events: testEvents,
    waker,
    consumers: createTrackedEventConsumers({ waker }),
  };
}

/** Writes an email to `ada@example.com`. @returns its id */
export async function writeEmail(
  { pool }: Pick<Database, 'pool'>,
  { accountId, brandId }: Owner,
  changes: Partial<NewMessage> = {},
): Promise<number> {
  const [id = 0] = await allocateMessageIds(pool, 1);
  const message: NewMessage = {
    id,
    account_id: accountId,
    brand_id: brandId,
    channel: 'email',
    status: 'queued',
    test: false,
    to_address: changes.to_key ?? 'ada@example.com',
    to_key: 'ada@example.com',
    from_address: 'support@acme.test',
    subject: 'Your receipt',
    text: 'Thank you',
    html: null,
    ...changes,
  };
  const source = { class: messageClasses.transactional };
  await writeMessages(pool, [message], { source });
  return id;
}

/** The Message-ID of a message that Carillon sent, without angle brackets. */
export function internetIdOf({ accountId }: Pick<Owner, 'accountId'>, messageId: number): string {
  const reference = messageReference(testKeyring.subkey('reference').key, { accountId, messageId });
  return `${reference}@mail.test`;
}

/** The columns of a mail that was read. */
export interface ReadRow {
  message_id?: number | null;
  internet_id?: string | null;
  reference_ids?: string[];
  sender_key?: string | null;
  sender_trusted?: boolean;
  from_address?: string;
  reply_to?: string | null;
  date_header?: Date | null;
  recipient?: string | null;
  subject?: string | null;
  text?: string | null;
  html?: string | null;
  truncated?: boolean;
  auto_submitted?: boolean;
  quarantine?: object | null;
}

/** Inserts an authenticated mail from Ada that was read, but has not arrived. @returns its id */
export async function insertReadMail(
  { pool }: Pick<Database, 'pool'>,
  { accountId, brandId }: Owner,
  inboxId: number,
  changes: ReadRow = {},
): Promise<number> {
  const parsed = parseEmailAddress(changes.from_address ?? 'Ada Lovelace <ada@example.com>');
  const row = {
    sender_key: 'error' in parsed ? null : parsed.key,
    sender_trusted: true,
    from_address: 'Ada Lovelace <ada@example.com>',
    subject: 'Re: Your receipt',
    text: 'Thank you!',
    account_id: accountId,
    brand_id: brandId,
    inbox_id: inboxId,
    direction: 'inbound',
    ...changes,
  };
  const names = Object.keys(row);
  const { rows } = await pool.query<{ id: number }>(
    `insert into conversation_messages (${names.join(', ')})
     values (${names.map((_name, index) => `$${index + 1}`).join(', ')}) returning id`,
    Object.values(row),
  );
  return rows[0]?.id ?? 0;
}

/** The columns of an accepted mail. */
export interface AcceptedRow {
  raw_key?: string;
  size?: number;
  envelope_from?: string;
  recipient?: string;
  answers_message_id?: number | null;
  report_claims?: number | null;
  attempts?: number;
  due_at?: Date;
}

let accepted = 0;

/** Inserts a mail that was accepted. Its message need not be stored. @returns its id */
export async function insertAcceptedMail(
  { pool }: Pick<Database, 'pool'>,
  { accountId, brandId }: Owner,
  inboxId: number,
  changes: AcceptedRow = {},
): Promise<number> {
  const row = {
    raw_key: `inbox/${accountId}/${String((accepted += 1)).padStart(32, '0')}`,
    size: 1_000,
    envelope_from: 'ada@example.com',
    recipient: 'support@acme.test',
    source: 'smtp',
    account_id: accountId,
    brand_id: brandId,
    inbox_id: inboxId,
    ...changes,
  };
  const names = Object.keys(row);
  const { rows } = await pool.query<{ id: number }>(
    `insert into inbound_mails (${names.join(', ')})
     values (${names.map((_name, index) => `$${index + 1}`).join(', ')}) returning id`,
    Object.values(row),
  );
  return rows[0]?.id ?? 0;
}

const passed = { result: 'pass', domain: 'example.com' };

/** An authenticated mail from Ada. Its digest is its own. */
export function readMail(changes: Partial<ReadMail> = {}): ReadMail {
  return {
    internetId: null,
    referenceIds: [],
    from: 'Ada Lovelace <ada@example.com>',
    senderKey: 'ada@example.com',
    to: ['support@acme.test'],
    cc: [],
    replyTo: null,
    date: null,
    subject: 'Hello',
    text: 'Hello!',
    html: null,
    truncated: false,
    autoSubmitted: false,
    attachments: [],
    authentication: {
      spf: passed,
      dkim: passed,
      dmarc: { result: 'pass', domain: 'example.com', policy: 'none' },
      arc: { result: 'none', domain: null },
      aligned: true,
    },
    digest: randomBytes(32),
    suspicion: null,
    ...changes,
  };
}
