/** Accepts mail that programs submit by SMTP. */
import type { Logger } from 'pino';
import { type Submit, SubmissionRefusal, type SubmittedMail } from '../../delivery/wire/submission/port.ts';
import { invalid, type ValidationErrors } from '../../errors.ts';
import { findUnstorable } from '../../platform/input/storable.ts';
import { parseWith } from '../../platform/input/validation.ts';
import {
  type Attachments,
  createAttachments,
  type FileDecoder,
  type ReadFile,
} from '../attachments/service.ts';
import { type MailFields, mailFields } from '../messages/schema.ts';
import { createMessages, type MailToSend, type MessageDeps, type Sending } from '../messages/service.ts';
import { addressText, senderIn, sortRecipients } from './addresses.ts';
import { aliasOf, type ThreadDeps, withSentIds } from './aliases.ts';
import type { SubmittedFile, SubmittedParts } from './jobs.ts';
import { keysOf } from './once.ts';
import { type OwnFields, readOwnFields } from './own-fields.ts';
import { createSubmissionReader, type MailReaderOptions } from './read-jobs.ts';

export interface SubmissionDeps extends MailReaderOptions, ThreadDeps {
  messages: Pick<Sending, 'sendMail'>;
  attachments: Pick<Attachments, 'dropFiles'>;
  log: Logger;
}

export interface Submission {
  submit: Submit;
  close(): Promise<void>;
}

/** Fields that servers on the way add, of which every mail has some. */
const TRACE: ReadonlySet<string> = new Set(['received', 'return-path', 'delivered-to', 'dkim-signature']);

const readFile = ({ sha256, ...file }: SubmittedFile): ReadFile => ({ ...file, sha256: Buffer.from(sha256) });

/** The files of a mail, as they are stored. The body of a mail that passes byte for byte is its only file. */
const storedFiles = ({ content }: SubmittedParts): ReadFile[] =>
  (content.kind === 'opaque' ? [content.body] : content.files).map(readFile);

/** What a process that takes mail is made of. */
export interface SubmissionRoleDeps extends Omit<MessageDeps, 'fileDecoder'> {
  log: Logger;
}

/** Mail is decoded by its own threads. */
const NO_DECODER: FileDecoder = {
  decode: () => Promise.reject(new Error('submitted mail has no files in a request')),
  close: () => Promise.resolve(),
};

/** Creates what accepts submitted mail, for a process that takes it. Close it before the database. */
export function openSubmission(deps: SubmissionRoleDeps): Submission {
  const { config, database, keyring, log } = deps;
  const messageDeps = { ...deps, fileDecoder: NO_DECODER };
  return createSubmission({
    messages: createMessages(messageDeps),
    attachments: createAttachments(messageDeps),
    pool: database.pool,
    log,
    home: config.CARILLON_HOME,
    blocked: config.ATTACHMENT_BLOCKED_EXTENSIONS,
    maxFileBytes: config.ATTACHMENTS_MB * 1024 * 1024,
    mailDomain: config.MAIL_DOMAIN,
    referenceKeys: keyring.accepted('reference').map(({ key }) => key),
  });
}

/** The mail without its addresses, as fields of a request that are not checked yet. */
function wishOf({ fields, content }: SubmittedParts, own: OwnFields, headers: Record<string, string>) {
  const { idempotencyKey: _key, tags, tracking, ...others } = own;
  const isTemplate = own.template_id !== undefined;
  if (isTemplate && content.kind === 'opaque') {
    const problem = `validation_error: X-Carillon-Template: the mail has ${content.reason}`;
    throw new SubmissionRefusal(554, '5.6.0', problem);
  }
  const hasTexts = content.kind === 'rebuilt' && !isTemplate;
  const isBlank = fields.subject === '';
  return {
    ...others,
    ...(isBlank && isTemplate ? {} : { subject: fields.subject }),
    ...(hasTexts && content.html !== null ? { html: content.html } : {}),
    ...(hasTexts && content.text !== null ? { body: content.text } : {}),
    from: senderIn(fields),
    ...(fields.replyTo.length > 0 ? { reply_to: fields.replyTo.map(addressText) } : {}),
    headers,
    tags,
    tracking: content.kind === 'opaque' ? { opens: false, clicks: false } : tracking,
  };
}

/** @throws AppError validation_error that names the fields */
function checkedFields(wish: ReturnType<typeof wishOf>): MailFields {
  const errors: ValidationErrors = {};
  findUnstorable(wish, '', errors);
  if (Object.keys(errors).length > 0) throw invalid(errors);
  const parsed = parseWith(mailFields, wish, 'field');
  if (!parsed.ok) throw invalid(parsed.errors);
  return parsed.value as MailFields;
}

/** Reads a mail as a request, and counts the addresses that it repeats. @throws AppError, SubmissionRefusal */
async function mailToSend(
  deps: SubmissionDeps,
  submitted: SubmittedMail,
  parts: SubmittedParts,
  files: ReadFile[],
): Promise<{ mail: MailToSend; repeated: number }> {
  const { tenant, recipients } = submitted;
  const { fields, content } = parts;
  const own = readOwnFields(fields.own);
  const { repeated, ...sorted } = sortRecipients(fields, recipients);
  const { inReplyTo, references } = await withSentIds(deps, tenant, fields);
  const headers = {
    ...fields.headers,
    ...(inReplyTo === null ? {} : { 'In-Reply-To': inReplyTo }),
    ...(references === null ? {} : { References: references }),
  };
  const [body] = files;
  const mail: MailToSend = {
    ...sorted,
    ...keysOf(submitted, fields.messageId, own.idempotencyKey),
    alias: fields.messageId === null ? undefined : aliasOf(fields.messageId),
    fields: checkedFields(wishOf(parts, own, headers)),
    files: content.kind === 'opaque' ? [] : files,
    opaque: content.kind === 'opaque' && body ? { fields: content.fields, body } : null,
  };
  return { mail, repeated };
}

interface Noted {
  log: Logger;
  accountId: number;
  id: number;
  parts: SubmittedParts;
  /** Addresses that are left out. */
  repeated: number;
}

/** Logs what is left out of an accepted mail, and why it passes byte for byte. */
function note({ log, accountId, id, parts: { fields, content }, repeated }: Noted): void {
  const leftOut = fields.leftOut.filter((name) => !TRACE.has(name));
  const leftOutOfParts = content.kind === 'rebuilt' ? content.leftOut : [];
  if (content.kind === 'rebuilt' && leftOut.length + leftOutOfParts.length + repeated === 0) return;
  log.info(
    {
      account_id: accountId,
      message_id: id,
      left_out: leftOut,
      left_out_of_parts: leftOutOfParts,
      repeated_addresses: repeated,
      passed_because_of: content.kind === 'opaque' ? content.reason : undefined,
    },
    'submitted mail accepted without some of its fields, or as it was written',
  );
}

export function createSubmission(deps: SubmissionDeps): Submission {
  const { messages, attachments, log } = deps;
  const reader = createSubmissionReader(deps);

  return {
    async submit(submitted) {
      const { tenant, mail } = submitted;
      const parts = await reader.read(tenant.accountId, mail);
      const files = storedFiles(parts);
      const drop = () => attachments.dropFiles(tenant, files);
      try {
        const { mail: toSend, repeated } = await mailToSend(deps, submitted, parts, files);
        const { message, replayed } = await messages.sendMail(tenant, toSend);
        if (replayed) await drop();
        else note({ log, accountId: tenant.accountId, id: message.id, parts, repeated });
        return { reply: `2.0.0 queued as ${message.id}${replayed ? ' (again)' : ''}` };
      } catch (error) {
        await drop().catch((err: unknown) => log.warn({ err }, 'files of a refused mail not removed'));
        throw error;
      }
    },
    close: () => reader.close(),
  };
}
