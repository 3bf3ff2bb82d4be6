/** Answers the questions that threads have about the senders of mails, without keeping a thread waiting. */
import type { DnsAnswer, DnsAnswers, DnsQuestion } from '../../../platform/dns/answers.ts';
import { unauthenticated } from './authenticate.ts';
import type { ReadContents } from './jobs.ts';
import type { AcceptedMail, MailAuthentication } from './mail.ts';
import { UnreadableMailError, type MailJobs } from './mail-jobs.ts';

/** For all questions of a mail together. */
const MAX_QUESTION_MS = 15_000;
const MAX_QUESTIONS = 100;
/** SPF makes at most ten look-ups one after another. */
const MAX_SPF_ROUNDS = 12;
/** Names of keys and DMARC records are known after one or two. */
const MAX_ROUNDS = 5;

/** The answers to the questions of one mail. */
class Inquiry {
  readonly answers = new Map<DnsQuestion, DnsAnswer>();
  readonly #source: DnsAnswers;
  readonly #over: Promise<null>;
  #ended = false;
  readonly #timer: NodeJS.Timeout;

  constructor(source: DnsAnswers, maxMs: number) {
    const { promise, resolve } = Promise.withResolvers<null>();
    this.#source = source;
    this.#over = promise;
    this.#timer = setTimeout(() => {
      this.#ended = true;
      resolve(null);
    }, maxMs);
  }

  /** Whether no further questions may be asked for the mail. */
  get ended(): boolean {
    return this.#ended || this.answers.size >= MAX_QUESTIONS;
  }

  async ask(questions: readonly DnsQuestion[]): Promise<void> {
    const asked = questions.slice(0, MAX_QUESTIONS - this.answers.size).map(async (question) => {
      this.answers.set(question, await this.#source.answer(question));
    });
    await Promise.race([Promise.all(asked), this.#over]);
  }

  close(): void {
    clearTimeout(this.#timer);
  }
}

/** SPF learns of the next record from the last one, so its rounds come first: they do not need the mail. */
async function askForSpf(jobs: MailJobs, mail: AcceptedMail, inquiry: Inquiry): Promise<void> {
  for (let round = 0; round < MAX_SPF_ROUNDS && !inquiry.ended; round += 1) {
    const { unknown } = await jobs.run('spf', mail, { answers: [...inquiry.answers] });
    if (unknown.length === 0) return;
    await inquiry.ask(unknown);
  }
}

async function authenticateInRounds(
  jobs: MailJobs,
  mail: AcceptedMail,
  senderKey: string | null,
  inquiry: Inquiry,
): Promise<MailAuthentication> {
  await askForSpf(jobs, mail, inquiry);
  for (let round = 1; ; round += 1) {
    const last = round === MAX_ROUNDS || inquiry.ended;
    const details = { senderKey, answers: [...inquiry.answers], last };
    const { authentication, unknown } = await jobs.run('authentication', mail, details);
    if (unknown.length === 0) return authentication;
    await inquiry.ask(unknown);
  }
}

/**
 * Completes the authentication of a mail whose thread did not know all records.
 * @throws the error of the storage, or ThreadUnavailableError
 */
export async function completeAuthentication(
  jobs: MailJobs,
  source: DnsAnswers,
  mail: AcceptedMail,
  { unknown, authentication, header }: ReadContents,
  maxMs = MAX_QUESTION_MS,
): Promise<MailAuthentication> {
  if (unknown.length === 0) return authentication;
  const inquiry = new Inquiry(source, maxMs);
  try {
    await inquiry.ask(unknown);
    return await authenticateInRounds(jobs, mail, header.senderKey, inquiry);
  } catch (error) {
    if (error instanceof UnreadableMailError) return unauthenticated('temperror');
    throw error;
  } finally {
    inquiry.close();
  }
}
