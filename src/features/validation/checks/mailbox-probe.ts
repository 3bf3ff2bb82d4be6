import { createHash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import { shakeHands } from '../../../delivery/wire/smtp/handshake.ts';
import type { MailHost } from './mail-hosts.ts';
import { createPatience, type Patience } from './patience.ts';
import {
  judgeFailure,
  openProbeSession,
  type ProbeSession,
  type ProbeTimeouts,
  type Recipient,
  type RecipientAnswer,
} from './probe-session.ts';
import { createSpacing, type Spacing } from './spacing.ts';
import { FairGate } from '../../../platform/processes/fair-gate.ts';
import { AccountQueue } from './account-queue.ts';

const DEFAULT_TIMEOUTS: ProbeTimeouts = { connectMs: 10_000, replyMs: 20_000, recipientMs: 40_000 };
/** Maximum number of connections to all mail servers, and of those on behalf of one account. */
const MAX_SESSIONS = 50;
const MAX_SESSIONS_PER_ACCOUNT = 10;
/** Limits of one connection. */
const MAX_RECIPIENTS = 20;
const MAX_SESSION_MS = 120_000;
/** A connection is closed if its next question has to wait longer than this. */
const MAX_IDLE_MS = 5_000;
/**
 * A server is not asked about a recipient that has waited longer than this. A page of an operation withdraws its
 * questions and asks again every two minutes. The wait counts from the first time, so it ends even if no connection
 * becomes free.
 */
const MAX_WAIT_MS = 600_000;
/** Maximum number of a domain's mail hosts to try until one answers. */
const MAX_HOSTS = 2;
/** After this many failures in a row, the server is not contacted for a while. */
const MAX_FAILURES = 3;
const FAILURE_MS = 600_000;
const CATCH_ALL_MS = 3_600_000;
const MAX_REMEMBERED = 20_000;

export interface Clock {
  /** In milliseconds. */
  now(): number;
  delay(ms: number): Promise<void>;
}

export interface ProbeDeps {
  /** The name in EHLO: this machine's name. */
  clientName: string;
  /**
   * Maximum number of recipients per minute to ask the operator of a mail server about, for all accounts in this
   * process.
   */
  perMinute: number;
  isReachable: (address: string) => boolean;
  /** Returns the addresses of a mail host. */
  addressesOf: (host: string, accountId: string) => Promise<string[]>;
  clock: Clock;
  timeouts?: ProbeTimeouts;
  /** Opens a connection to port 25 of an address. */
  connect?: typeof shakeHands;
}

export interface ProbeQuestion {
  recipient: Recipient;
  /** The mail hosts of its domain, most preferred first. */
  hosts: readonly MailHost[];
  accountId: string;
  operationId: string;
  signal?: AbortSignal;
}

/** What a probe finds out about a mailbox. */
export type MailboxFinding =
  'accepted' | 'missing' | 'full' | 'catch_all' | 'greylisted' | 'timeout' | 'refused' | 'not_checked';

/** Asks mail servers whether a mailbox exists. */
export interface MailboxProbe {
  /**
   * Resolves with `not_checked` if its turn comes too late.
   * @throws the signal's reason, or an Error after `close`
   */
  ask(question: ProbeQuestion): Promise<MailboxFinding>;
  /** Forgets which mail servers an operation no longer asks. */
  forget(operationId: string): void;
  close(): void;
}

interface Job extends ProbeQuestion {
  host: string;
  /** When its recipient was first asked about. */
  since: number;
  resolve: (finding: MailboxFinding) => void;
  reject: (error: unknown) => void;
}

/** All questions to one address, which has one connection at a time. */
interface HostQueue {
  address: string;
  /**
   * Host names that resolve to this address. While the queue works, their questions come here, so that a host has one
   * connection.
   */
  hosts: Set<string>;
  jobs: AccountQueue<Job>;
  session: ProbeSession | null;
}

/**
 * A local part that no mailbox of the domain has. It is the same each time, because a greylisting server accepts only
 * addresses that it has seen before.
 */
function unusedLocal(clientName: string, domain: string): string {
  const digest = createHash('sha256').update(`${clientName} ${domain}`).digest();
  return Array.from(digest.subarray(0, 20), (byte) => String.fromCharCode(97 + (byte % 26))).join('');
}

const findings: Record<Exclude<RecipientAnswer, 'accepted'>, MailboxFinding> = {
  missing: 'missing',
  full: 'full',
  greylisted: 'greylisted',
  refused: 'refused',
  blocked: 'refused',
  timeout: 'timeout',
  unsupported: 'not_checked',
};

function closed(): Error {
  return new Error('the probe is closed');
}

class Prober implements MailboxProbe {
  readonly #deps: Required<ProbeDeps>;
  readonly #queues = new Map<string, HostQueue>();
  readonly #queueOfHost = new Map<string, HostQueue>();
  readonly #sessions = new FairGate<string>({ slots: MAX_SESSIONS, perKey: MAX_SESSIONS_PER_ACCOUNT });
  readonly #spacing: Spacing;
  readonly #patience: Patience;
  /** By domain. */
  readonly #catchAll: LRUCache<string, boolean>;
  /** Number of failed connections in a row, by address. */
  readonly #failures: LRUCache<string, { count: number; finding: MailboxFinding }>;
  /** Start of the wait for recipients without an answer, by account and address. */
  readonly #waiting: LRUCache<string, number>;
  #closed = false;

  constructor(deps: Required<ProbeDeps>) {
    this.#deps = deps;
    this.#spacing = createSpacing(deps.perMinute, deps.clock.now);
    this.#patience = createPatience(deps.clock.now);
    const settings = { max: MAX_REMEMBERED, perf: { now: deps.clock.now }, ttlResolution: 0 };
    this.#catchAll = new LRUCache({ ...settings, ttl: CATCH_ALL_MS });
    this.#failures = new LRUCache({ ...settings, ttl: FAILURE_MS });
    this.#waiting = new LRUCache({ ...settings, ttl: 2 * MAX_WAIT_MS });
  }

  async ask(question: ProbeQuestion): Promise<MailboxFinding> {
    const key = `${question.accountId} ${question.recipient.address}`;
    const since = this.#waiting.get(key) ?? this.#deps.clock.now();
    this.#waiting.set(key, since);
    const isLate = this.#deps.clock.now() - since > MAX_WAIT_MS;
    const finding = isLate ? 'not_checked' : await this.#askHosts(question, since);
    this.#waiting.delete(key);
    return finding;
  }

  forget(operationId: string): void {
    this.#patience.forget(operationId);
  }

  close(): void {
    this.#closed = true;
    for (const queue of this.#queues.values()) queue.session?.destroy();
  }

  async #askHosts(question: ProbeQuestion, since: number): Promise<MailboxFinding> {
    // Such a domain accepts every recipient.
    if (this.#catchAll.get(question.recipient.domain)) return 'catch_all';
    for (const { name, addresses } of question.hosts.slice(0, MAX_HOSTS)) {
      const known = addresses.length > 0 ? addresses : await this.#deps.addressesOf(name, question.accountId);
      const queue = this.#queueTo(name, known);
      if (queue === null) continue;
      const finding = await this.#enqueue(queue, { ...question, host: name, since });
      if (finding !== 'timeout') return finding;
    }
    return 'timeout';
  }

  #queueTo(host: string, addresses: readonly string[]): HostQueue | null {
    const active = this.#queueOfHost.get(host);
    if (active) return active;
    const address = addresses.find(this.#deps.isReachable);
    if (address === undefined) return null;
    const queue = this.#queues.get(address) ?? {
      address,
      hosts: new Set<string>(),
      jobs: new AccountQueue<Job>(),
      session: null,
    };
    queue.hosts.add(host);
    this.#queueOfHost.set(host, queue);
    return queue;
  }

  #enqueue(queue: HostQueue, question: Omit<Job, 'resolve' | 'reject'>): Promise<MailboxFinding> {
    return new Promise((resolve, reject) => {
      queue.jobs.push(question.accountId, { ...question, resolve, reject });
      if (this.#queues.has(queue.address)) return;
      this.#queues.set(queue.address, queue);
      void this.#work(queue);
    });
  }

  async #work(queue: HostQueue): Promise<void> {
    for (let account = queue.jobs.next; account !== undefined; account = queue.jobs.next) {
      await this.#sessions.run(account, () => this.#serve(queue));
    }
    this.#queues.delete(queue.address);
    for (const host of queue.hosts) this.#queueOfHost.delete(host);
  }

  /** Asks questions over one connection until the connection reaches its limits. */
  async #serve(queue: HostQueue): Promise<void> {
    const endsAt = this.#deps.clock.now() + MAX_SESSION_MS;
    let asked = 0;
    for (let job = queue.jobs.shift(); job !== undefined; job = queue.jobs.shift()) {
      const stop = this.#stopOf(job);
      if (stop !== null) {
        job.reject(stop);
        continue;
      }
      const known = this.#withoutAsking(queue, job);
      if (known === null) await this.#inquire(queue, job).then(job.resolve, job.reject);
      else job.resolve(known);
      asked += known === null ? 1 : 0;
      if (asked >= MAX_RECIPIENTS || this.#deps.clock.now() > endsAt) break;
      if (known === null && queue.session === null) break;
    }
    await queue.session?.quit();
    queue.session = null;
  }

  #stopOf({ signal }: Job): unknown {
    return this.#closed ? closed() : signal?.aborted ? signal.reason : null;
  }

  #withoutAsking(queue: HostQueue, job: Job): MailboxFinding | null {
    const { since, recipient } = job;
    if (this.#deps.clock.now() - since > MAX_WAIT_MS) return 'not_checked';
    if (this.#catchAll.get(recipient.domain)) return 'catch_all';
    if (this.#patience.isOver({ ...job, address: queue.address })) return 'timeout';
    const failures = this.#failures.get(queue.address);
    return failures && failures.count >= MAX_FAILURES ? failures.finding : null;
  }

  async #inquire(queue: HostQueue, job: Job): Promise<MailboxFinding> {
    const finding = await this.#findOut(queue, job);
    this.#patience.record({ ...job, address: queue.address }, finding !== 'timeout');
    return finding;
  }

  async #findOut(queue: HostQueue, { recipient, host }: Job): Promise<MailboxFinding> {
    const answer = await this.#askServer(queue, host, recipient);
    const isGreylisted = answer === 'greylisted' && queue.session !== null;
    if (answer !== 'accepted' && !isGreylisted) return findings[answer];
    const { domain } = recipient;
    const other = this.#catchAll.has(domain) ? null : await this.#askForUnused(queue, host, domain);
    const acceptsAll = this.#catchAll.get(domain);
    if (acceptsAll === true) return 'catch_all';
    if (isGreylisted) return 'greylisted';
    if (acceptsAll === false) return 'accepted';
    // Without this answer, the first one means nothing.
    return other === null || other === 'accepted' || other === 'full' ? 'refused' : findings[other];
  }

  /**
   * Asks about a mailbox that does not exist, to find out whether the domain accepts every recipient. It asks even if
   * the real recipient is greylisted, so that the retry succeeds for both.
   */
  async #askForUnused(queue: HostQueue, host: string, domain: string): Promise<RecipientAnswer> {
    const address = `${unusedLocal(this.#deps.clientName, domain)}@${domain}`;
    const answer = await this.#askServer(queue, host, { address, domain, smtpUtf8: false });
    if (answer === 'accepted' || answer === 'missing' || answer === 'refused') {
      this.#catchAll.set(domain, answer === 'accepted');
    }
    return answer;
  }

  async #askServer(queue: HostQueue, host: string, recipient: Recipient): Promise<RecipientAnswer> {
    await this.#takeTurn(queue, host);
    const isReused = queue.session !== null;
    const answer = await this.#askOnce(queue, recipient);
    // The server may have closed the connection after the previous recipient.
    return answer === 'timeout' && isReused ? this.#askOnce(queue, recipient) : answer;
  }

  async #askOnce(queue: HostQueue, recipient: Recipient): Promise<RecipientAnswer> {
    if (this.#closed) throw closed();
    if (queue.session === null) {
      try {
        queue.session = await this.#open(queue.address);
        this.#failures.delete(queue.address);
      } catch (error) {
        return this.#countFailure(queue.address, judgeFailure(error));
      }
    }
    const answer = await queue.session.ask(recipient);
    if (this.#closed) throw closed();
    if (!queue.session.open) queue.session = null;
    return answer;
  }

  /** Waits until the server may be asked again. */
  async #takeTurn(queue: HostQueue, host: string): Promise<void> {
    const waitMs = this.#spacing.reserve(host, queue.address);
    if (waitMs > MAX_IDLE_MS) {
      await queue.session?.quit();
      queue.session = null;
    }
    if (waitMs > 0) await this.#deps.clock.delay(waitMs);
  }

  #open(address: string): Promise<ProbeSession> {
    const { clientName, timeouts, connect } = this.#deps;
    return openProbeSession(address, { clientName, timeouts, connect });
  }

  /**
   * Counts only failures to connect: what the server says about recipients depends on which ones each account asked
   * about.
   */
  #countFailure(address: string, answer: RecipientAnswer): RecipientAnswer {
    const finding = answer === 'accepted' ? 'timeout' : findings[answer];
    const count = (this.#failures.get(address)?.count ?? 0) + 1;
    this.#failures.set(address, { count, finding });
    return answer;
  }
}

/** Creates the probe of a process: its limits cover all accounts. */
export function createMailboxProbe(deps: ProbeDeps): MailboxProbe {
  return new Prober({
    timeouts: DEFAULT_TIMEOUTS,
    connect: shakeHands,
    ...deps,
  });
}
