/**
 * Composes letters (`delivery/terms/letter.ts`). What the copies of a letter share is prepared once for each batch: it
 * may be large, so it is not cached any longer.
 */
import { unfold } from '../../../platform/storage/folded.ts';
import { type EmailAddress, parseEmailAddress } from '../../terms/addresses/email.ts';
import { messageReference } from '../../terms/addresses/reference.ts';
import type { LetterPart } from '../../terms/letter.ts';
import { isHeavy } from '../../content/templates/content-weight.ts';
import type { LinkTracking } from '../../content/mime/tracked-html.ts';
import { type PreparedWhole, prepareWhole, type WholeContent } from '../../content/mime/whole.ts';
import { prepareOpaque, scanBody } from '../../content/mime/opaque.ts';
import { buildWholeHead, hashWhole, type ReadFile, wholePieces } from '../../content/mime/whole-body.ts';
import type { LetterFields, OutgoingLetter, StreamedMessage } from '../../wire/adapters/port.ts';
import type { BatchMessage } from '../../ledger/intend/batch.ts';
import {
  type ComposeDeps,
  dateOf,
  outgoingEmail,
  sendingDomainOf,
  TrackedContent,
  valid,
} from './compose-email.ts';
import { createLetterFiles, type LetterFiles, type LetterFileStore } from './letter-files.ts';

export interface WholeComposeDeps extends Omit<ComposeDeps, 'prepare'> {
  /** Prepares a heavy content in a thread. */
  prepareHeavy: (content: WholeContent) => Promise<PreparedWhole>;
  /** If absent, letters with files cannot be sent. */
  letterFiles?: LetterFileStore;
}

type LetterMessage = BatchMessage & { letter: LetterPart };

/** What the copies of a letter share. */
interface SharedLetter {
  content: WholeContent;
  prepared: PreparedWhole;
  fields: LetterFields;
  /** Reads a file as it stands in the message. */
  read: ReadFile;
  /** Whether its body has bytes above 127. */
  eightBit: boolean;
  /** Whether a line of its body may begin with a dot. */
  mayHaveDots: boolean;
  /** Computes the value of `bh=`, once if the letter has no tokens. */
  bodyHash(tokens: readonly string[]): Promise<string>;
}

const addressOf = (text: string, what: string): EmailAddress => valid(parseEmailAddress(text), what);

function contentOf(
  message: LetterMessage,
  tracking: LinkTracking | null,
  deps: WholeComposeDeps,
): WholeContent {
  const { letter } = message;
  const replyTo = letter.replyTo ?? (message.replyTo === null ? [] : [message.replyTo]);
  const addresses = replyTo.map((text) => addressOf(text, 'reply_to'));
  const recipients = (kind: 'to' | 'cc') =>
    letter.recipients.filter((one) => one.kind === kind).map(({ address }) => addressOf(address, kind));
  return {
    subject: message.subject ?? '',
    html: message.html,
    text: message.text,
    from: valid(deps.readSender(message.from ?? ''), 'from'),
    replyTo: addresses[0] ?? null,
    headers: message.headers ?? {},
    feedbackId: `${message.brandId}:${message.accountId}:transactional:carillon`,
    tracking,
    letter: {
      ...{ to: recipients('to'), cc: recipients('cc'), replyTo: addresses },
      files: letter.opaque ? [] : letter.files,
    },
  };
}

/** Opens every file, so that no message is begun whose files cannot be read. */
async function shareLetter(
  content: WholeContent,
  files: LetterFiles,
  deps: WholeComposeDeps,
): Promise<SharedLetter> {
  for (const file of content.letter.files) await files.check(file);
  const read: ReadFile = (file) => files.read(file);
  const prepared = isHeavy(content) ? await deps.prepareHeavy(content) : prepareWhole(content);
  let known: Promise<string> | undefined;
  const hash = (tokens: readonly string[]) => hashWhole(prepared, tokens, read);
  return {
    content,
    prepared,
    fields: {
      ...content.letter,
      files: content.letter.files.map((file) => ({ ...file, base64: () => files.base64(file) })),
    },
    ...{ read, eightBit: false, mayHaveDots: false },
    bodyHash: (tokens) => (prepared.tracked ? hash(tokens) : (known ??= hash(tokens))),
  };
}

/** The same for a letter whose body passes as it is. It is read once, because its bytes must be known before it is sent. */
async function shareOpaque(
  content: WholeContent,
  { opaque, files: [body] }: LetterPart,
  files: LetterFiles,
): Promise<SharedLetter> {
  if (!opaque || !body) throw new Error('the body of the message is missing');
  await files.check(body);
  const read: ReadFile = (file) => unfold(files.read(file));
  const { bodyHash, eightBit } = await scanBody(read(body));
  return {
    content,
    prepared: prepareOpaque(content, opaque.fields, body),
    fields: { ...content.letter, files: [] },
    ...{ read, eightBit, mayHaveDots: true },
    bodyHash: async () => bodyHash,
  };
}

async function composeCopy(
  message: LetterMessage,
  { content, prepared, fields, bodyHash, ...body }: SharedLetter,
  deps: WholeComposeDeps,
): Promise<OutgoingLetter> {
  const sending = await sendingDomainOf(message, deps);
  const to = addressOf(message.to, 'to');
  const signers = deps.signersFor(content.from.domain, sending);
  const html = prepared.tracked?.html;
  const tokens = html ? deps.links?.tokens(message, html) : undefined;
  const { accountId, letter } = message;
  // All copies have the Message-ID of the letter, so that mail clients see one message, and replies name it.
  const shown = messageReference(deps.referenceKey, { accountId, messageId: letter.id });
  const head = await buildWholeHead(
    prepared,
    { messageId: `${shown}@${deps.mailDomain}`, date: dateOf(message) },
    signers.length > 0 ? { signers, bodyHash: await bodyHash(tokens ?? []) } : null,
  );
  const built: StreamedMessage = {
    size: head.length + prepared.size,
    smtpUtf8: prepared.smtpUtf8 || to.smtpUtf8,
    eightBit: prepared.smtpUtf8 || body.eightBit,
    ...(body.mayHaveDots && { mayHaveDots: true }),
    pieces: () => wholePieces(head, prepared, tokens ?? [], body.read),
  };
  const sent = html && tokens ? new TrackedContent(content, html, tokens) : content;
  const reference = messageReference(deps.referenceKey, message);
  return {
    ...outgoingEmail(message, { content: sent, built, reference, to, sending }, deps),
    letter: fields,
  };
}

/**
 * Returns a function that composes the copies of letters. As with other emails, the result depends only on what is
 * stored. A copy that cannot be composed yields an error in its place.
 */
export function createWholeComposer(
  deps: WholeComposeDeps,
): (batch: readonly BatchMessage[]) => Promise<(OutgoingLetter | Error)[]> {
  return (batch) => {
    const files = createLetterFiles(deps.letterFiles ?? null);
    const shared = new Map<string, Promise<SharedLetter>>();
    const compose = async (message: LetterMessage): Promise<OutgoingLetter> => {
      const tracking = message.html === null ? null : (deps.links?.plan(message) ?? null);
      const key = `${message.letter.id} ${tracking?.id ?? ''}`;
      const content = () => contentOf(message, tracking, deps);
      const share = () =>
        message.letter.opaque
          ? shareOpaque(content(), message.letter, files)
          : shareLetter(content(), files, deps);
      const sharing = shared.get(key) ?? share();
      shared.set(key, sharing);
      return composeCopy(message, await sharing, deps);
    };
    return Promise.all(
      batch.map((message) => compose(message as LetterMessage).catch((error: unknown) => error as Error)),
    );
  };
}
