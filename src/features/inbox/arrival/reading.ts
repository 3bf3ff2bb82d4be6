/** Reads claimed mails, a few at a time. */
import { FairGate } from '../../../platform/processes/fair-gate.ts';
import type { BlobStore } from '../../../platform/storage/blob-store.ts';
import type { AcceptedMail, MailReader, ReadMail } from '../mail/mail.ts';
import type { ClaimedMail } from './accepted-mails.ts';
import { readUnreadable } from './unreadable.ts';

/** Larger mails have a line of their own, so that they do not hold up the others. */
const BIG_MAIL_BYTES = 4 * 1024 * 1024;
const SMALL_AT_ONCE = 12;
/** So many mails of one account, at most. Its mails, however slow, do not hold up those of others. */
const SMALL_OF_ACCOUNT = 9;
const BIG_AT_ONCE = 1;
/** How often a mail is tried, before only its header is kept. */
const MAX_ATTEMPTS = 5;

const toAccepted = (mail: ClaimedMail): AcceptedMail => ({
  accountId: mail.account_id,
  rawKey: mail.raw_key,
  size: mail.size,
  envelopeFrom: mail.envelope_from,
  recipient: mail.recipient,
  ip: mail.ip,
  helo: mail.helo,
});

/**
 * Reads a mail. A mail that was claimed too often has made processes end, or cannot be written: only its header is read.
 * @throws the reader's error: the storage is unavailable, or no thread could be started
 */
export async function readMail(
  { reader, store }: { reader: Pick<MailReader, 'read'>; store: Pick<BlobStore, 'open'> },
  mail: ClaimedMail,
): Promise<ReadMail> {
  if (mail.attempts > MAX_ATTEMPTS) {
    return readUnreadable(store, mail, `the mail could not be read or stored ${MAX_ATTEMPTS} times`);
  }
  try {
    return await reader.read(toAccepted(mail));
  } catch (error) {
    const blob = await store.open(mail.raw_key);
    // Without a message, no later attempt can succeed.
    if (!blob) return readUnreadable(store, mail, 'the stored message is missing');
    blob.stream.destroy();
    throw error;
  }
}

/** Mails that wait to be read, and those that are being read. The slots go to the accounts in turn. */
class Line {
  readonly #waiting = new Set<ClaimedMail>();
  readonly #gate: FairGate;
  readonly #work: (mail: ClaimedMail) => Promise<void>;

  constructor(slots: number, perAccount: number, work: (mail: ClaimedMail) => Promise<void>) {
    this.#gate = new FairGate({ slots, perKey: perAccount });
    this.#work = work;
  }

  add(mail: ClaimedMail): void {
    this.#waiting.add(mail);
    void this.#gate.run(mail.account_id, async () => {
      // Not if it was taken back.
      if (this.#waiting.delete(mail)) await this.#work(mail);
    });
  }

  takeWaiting(): ClaimedMail[] {
    const mails = [...this.#waiting];
    this.#waiting.clear();
    return mails;
  }
}

/** The lines in which claimed mails wait: one for big mails, and one for all others. */
export class ReadingLines {
  readonly #small: Line;
  readonly #big: Line;

  /** @param work reads a mail; never throws */
  constructor(work: (mail: ClaimedMail) => Promise<void>) {
    this.#small = new Line(SMALL_AT_ONCE, SMALL_OF_ACCOUNT, work);
    this.#big = new Line(BIG_AT_ONCE, BIG_AT_ONCE, work);
  }

  add(mail: ClaimedMail): void {
    (mail.size > BIG_MAIL_BYTES ? this.#big : this.#small).add(mail);
  }

  /** Removes and returns the mails that are not being read yet. */
  takeWaiting(): ClaimedMail[] {
    return [...this.#small.takeWaiting(), ...this.#big.takeWaiting()];
  }
}
