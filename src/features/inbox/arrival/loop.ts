/** The loop that reads accepted mails and writes what they say. Any number of processes may run it. */
import { setTimeout as sleep } from 'node:timers/promises';
import type pg from 'pg';
import type { Logger } from 'pino';
import { createCoalescer } from '../../../platform/db/coalescer.ts';
import { inTransaction, isConnectionError } from '../../../platform/db/queryable.ts';
import { isStatementTimeout } from '../../../platform/db/statement-limit.ts';
import type { Waker } from '../../../platform/db/wake.ts';
import { repeat, type Repeating } from '../../../platform/processes/repeat.ts';
import type { BlobStore } from '../../../platform/storage/blob-store.ts';
import { type MailReader, SlowMailError } from '../mail/mail.ts';
import { INBOUND_CHANNEL } from '../receive/accept.ts';
import {
  type ClaimedMail,
  giveBack,
  MailClaims,
  postpone,
  postponeUntried,
  renewClaims,
} from './accepted-mails.ts';
import { ReadingLines, readMail } from './reading.ts';
import { StrangerLimits } from './strangers.ts';
import type { MailToWrite } from './take-mails.ts';
import { type WriteDeps, writeMails } from './write.ts';

/** The process ends the reader after the loop. */
export interface InboundLoopDeps extends Omit<WriteDeps, 'waker' | 'strangers'> {
  pool: pg.Pool;
  waker: Pick<Waker, 'wake' | 'listen'>;
  reader: Pick<MailReader, 'read'>;
  store: Pick<BlobStore, 'open' | 'remove'>;
  /** Maximum size of the raw mail and the attachments of one account. */
  quotaBytes: number;
  log: Logger;
}

export interface InboundLoop {
  /** Claims nothing more, gives back the mails that wait to be read, and finishes the others. */
  stop(): Promise<void>;
}

const MAX_CLAIM = 50;
/** Claims more only while it has fewer mails than this, so that it holds the texts of few at a time. */
const MAX_HELD = 100;
/** Of one account, so that the mails of others are claimed although its mails take long. */
const MAX_HELD_OF_ACCOUNT = 75;
const MAX_GROUP = 25;
const GROUPS_AT_ONCE = 2;
/** Of the texts of a group. A transaction needs several copies of them. One mail has at most a million. */
const MAX_GROUP_CHARACTERS = 4_000_000;
const IDLE_MS = 1_000;
const RENEWAL_MS = 4_000;
/** How long mails gather under a steady load: a claim costs as much as a few mails. */
const GATHER_MS = 15;

const DEADLOCK = '40P01';

/** Whether the database is unavailable or busy, rather than that it refuses a mail. */
const isOfDatabase = (error: unknown): boolean =>
  isConnectionError(error) || isStatementTimeout(error) || (error as { code?: unknown }).code === DEADLOCK;

class Loop implements InboundLoop {
  readonly #deps: InboundLoopDeps;
  readonly #strangers: StrangerLimits;
  readonly #claims = new MailClaims();
  /** The mails that this process has claimed, with their results. */
  readonly #held = new Map<ClaimedMail, PromiseWithResolvers<void>>();
  readonly #lines = new ReadingLines((mail) => this.#process(mail));
  readonly #writer = createCoalescer<MailToWrite, void>({
    maxGroupSize: MAX_GROUP,
    bytes: {
      of: ({ read }) => (read.text?.length ?? 0) + (read.html?.length ?? 0),
      max: MAX_GROUP_CHARACTERS,
    },
    concurrency: GROUPS_AT_ONCE,
    run: (group) => this.#writeGroup(group),
  });
  /** When it last claimed mails, in ms. */
  #claimedAt = -Infinity;
  readonly #claiming: Repeating;
  readonly #renewing: NodeJS.Timeout;
  readonly #unlisten: () => void;

  constructor(deps: InboundLoopDeps) {
    this.#deps = deps;
    this.#strangers = new StrangerLimits(deps);
    this.#claiming = repeat(() => this.#claim(), { log: deps.log, name: 'claiming accepted mail' });
    this.#unlisten = deps.waker.listen(INBOUND_CHANNEL, () => this.#claiming.wake());
    this.#renewing = setInterval(() => void this.#renew(), RENEWAL_MS);
  }

  async stop(): Promise<void> {
    this.#unlisten();
    await this.#claiming.stop();
    const waiting = this.#lines.takeWaiting();
    await giveBack(this.#deps.pool, waiting).catch((error: unknown) => {
      this.#deps.log.warn({ err: error, mails: waiting.length }, 'mail was not given back');
    });
    for (const mail of waiting) this.#release(mail);
    await Promise.all([...this.#held.values()].map(({ promise }) => promise));
    clearInterval(this.#renewing);
  }

  /** @returns milliseconds until the next claim, unless the loop is woken earlier */
  async #claim(): Promise<number> {
    const gathering = this.#claimedAt + GATHER_MS - performance.now();
    if (gathering > 0) await sleep(gathering);
    this.#claimedAt = performance.now();
    const room = Math.min(MAX_CLAIM, MAX_HELD - this.#held.size);
    if (room <= 0) return IDLE_MS;
    const held = new Map<number, number>();
    for (const { account_id: id } of this.#held.keys()) held.set(id, (held.get(id) ?? 0) + 1);
    const mails = await this.#claims.claim(this.#deps.pool, room, held, MAX_HELD_OF_ACCOUNT);
    for (const mail of mails) {
      this.#held.set(mail, Promise.withResolvers());
      this.#lines.add(mail);
    }
    return mails.length > 0 ? 0 : IDLE_MS;
  }

  async #renew(): Promise<void> {
    if (this.#held.size === 0) return;
    await renewClaims(this.#deps.pool, [...this.#held.keys()]).catch((error: unknown) => {
      this.#deps.log.warn({ err: error, mails: this.#held.size }, 'claims of mail were not renewed');
    });
  }

  #release(mail: ClaimedMail): void {
    this.#held.get(mail)?.resolve();
    this.#held.delete(mail);
    if (this.#held.size === MAX_HELD - MAX_CLAIM) this.#claiming.wake();
  }

  /** Reads a mail. It is written in the background, so that the next one can be read. */
  async #process(claimed: ClaimedMail): Promise<void> {
    try {
      const read = await readMail(this.#deps, claimed);
      void this.#writer.submit({ claimed, read }).then(
        () => this.#release(claimed),
        (error: unknown) => this.#failToWrite(claimed, error),
      );
    } catch (error) {
      await this.#fail(
        claimed,
        error,
        'not read',
        error instanceof SlowMailError ? postpone : postponeUntried,
      );
    }
  }

  #failToWrite(mail: ClaimedMail, error: unknown): Promise<void> {
    return this.#fail(mail, error, 'not written', isOfDatabase(error) ? postponeUntried : postpone);
  }

  /** Lets a mail wait. If this fails, too, the mail is claimed again when the claim has ended. */
  async #fail(mail: ClaimedMail, error: unknown, what: string, wait: typeof postpone): Promise<void> {
    const { pool, log } = this.#deps;
    const { id, account_id, attempts } = mail;
    log.warn({ err: error, account_id, inbound_mail_id: id, attempts }, `mail was ${what}: retrying later`);
    await wait(pool, mail).catch(() => undefined);
    this.#release(mail);
  }

  async #writeGroup(group: MailToWrite[]): Promise<void[]> {
    try {
      await this.#write(group);
    } catch (error) {
      if (group.length === 1 || isConnectionError(error)) throw error;
      this.#deps.log.warn(
        { err: error, mails: group.length },
        'a group of mails was not written: trying each',
      );
      await this.#writeEach(group);
    }
    return group.map(() => undefined);
  }

  /** One mail must not make the others fail. */
  async #writeEach(group: readonly MailToWrite[]): Promise<void> {
    for (const mail of group) {
      try {
        await this.#write([mail]);
      } catch (error) {
        await this.#failToWrite(mail.claimed, error);
      }
    }
  }

  async #write(group: readonly MailToWrite[]): Promise<void> {
    const { pool, store, log } = this.#deps;
    const accounts = group.map(({ claimed }) => claimed.account_id);
    const written = await this.#strangers.judging(accounts, (strangers) =>
      inTransaction(pool, (trx) => writeMails(trx, { ...this.#deps, strangers }, group)),
    );
    written.afterCommit();
    const { arrived, scanned, quarantined, duplicates, stale, surplus } = written;
    log.debug({ arrived, scanned, quarantined, duplicates, stale: stale.length }, 'mail was written');
    // Housekeeping removes those that are left over.
    const keys = stale.flatMap(({ read }) => read.attachments.map(({ storageKey }) => storageKey));
    await Promise.allSettled([...keys, ...surplus].map((key) => store.remove(key)));
  }
}

/**
 * Starts the loop: claims accepted mails when it is woken and every second, reads them, and writes them in groups. A mail
 * that a process has claimed is claimed again twelve seconds after the process has died. If a mail has made five processes
 * end, or could not be written five times, its header is kept, in quarantine.
 */
export function startInboundLoop(deps: InboundLoopDeps): InboundLoop {
  return new Loop(deps);
}
