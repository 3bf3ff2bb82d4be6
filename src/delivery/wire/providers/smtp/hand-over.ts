import { readFileSync } from 'node:fs';
import { ConfigError } from '../../../../config.ts';
import type { Resolver } from '../../../../platform/dns/resolver.ts';
import { createStop } from '../../../../platform/processes/stop.ts';
import { connectSmtp } from '../../smtp/client.ts';
import {
  type RequestedReports,
  requestedReports,
  type SmtpConnection,
  type SmtpOutcome,
  type SmtpTarget,
} from '../../smtp/contract.ts';
import {
  type EmailProvider,
  type HandOverResult,
  isOpen,
  type OutgoingMail,
  untried,
} from '../../adapters/port.ts';
import type { HandOverOutcome } from '../../../terms/hand-over-outcome.ts';
import { send } from './submission.ts';
import { smtpVerdict } from './verdict.ts';

export interface SmtpProviderOptions {
  target: SmtpTarget;
  /** The maximum number of connections. */
  connections: number;
  /** `provider`: the relay signs. */
  signing?: EmailProvider['signing'];
  resolver?: Resolver;
  /** Called at each connection with the largest message that the server takes, in bytes; null: it names no limit. */
  onSize?: (maxBytes: number | null) => void;
}

const IDLE_CLOSE_MS = 60_000;
const BUSY_CODES = new Set([450, 451, 452]);

const tlsModes = { required: 'starttls', opportunistic: 'opportunistic', off: 'none' } as const;
const parameters = ['tls', 'ca', 'name', 'dkim', 'dsn'];

class UrlProblem extends Error {}

function securityOf(url: URL): SmtpTarget['security'] {
  if (url.protocol === 'smtps:') return 'implicit';
  const tls = url.searchParams.get('tls') ?? (url.username ? 'required' : 'opportunistic');
  if (!Object.hasOwn(tlsModes, tls))
    throw new UrlProblem(`tls must be one of ${Object.keys(tlsModes).join(', ')}`);
  if (tls !== 'required' && url.username) throw new UrlProblem(`credentials need tls=required, not ${tls}`);
  return tlsModes[tls as keyof typeof tlsModes];
}

function reportsOf(url: URL): RequestedReports {
  const text = url.searchParams.get('dsn') ?? 'failure';
  const reports = requestedReports.find((each) => each === text);
  if (reports === undefined) throw new UrlProblem(`dsn must be one of ${requestedReports.join(', ')}`);
  return reports;
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    throw new UrlProblem('write % as %25 in the user name and the password');
  }
}

function authorityIn(file: string): Buffer {
  try {
    return readFileSync(file);
  } catch (error) {
    throw new UrlProblem(`the file that ca names cannot be read: ${(error as Error).message}`);
  }
}

/**
 * Reads `smtp://user:password@host:587?tls=required|opportunistic|off&name=…&ca=file&dsn=failure|success|off`
 * (`smtps://` for TLS from the first byte).
 * @param clientName the name in EHLO, unless the URL has a `name`
 * @param setting the setting that has the URL, for error messages
 * @throws ConfigError that names the problem, never the credentials
 */
export function smtpTargetFromUrl(
  url: URL,
  clientName: string,
  setting: string = 'EMAIL_PROVIDER_URL',
): SmtpTarget {
  try {
    return targetOf(url, clientName);
  } catch (error) {
    if (error instanceof UrlProblem) throw new ConfigError(`${setting}: ${error.message}`);
    throw error;
  }
}

function targetOf(url: URL, clientName: string): SmtpTarget {
  const unknown = [...url.searchParams.keys()].find((name) => !parameters.includes(name));
  if (unknown !== undefined)
    throw new UrlProblem(`unknown parameter ${unknown}; known are ${parameters.join(', ')}`);
  if (url.hostname === '') throw new UrlProblem('the URL has no host');
  const ca = url.searchParams.get('ca');
  const { username, password } = url;
  return {
    host: url.hostname.replace(/^\[|\]$/g, ''),
    port: url.port === '' ? (url.protocol === 'smtps:' ? 465 : 587) : Number(url.port),
    security: securityOf(url),
    clientName: url.searchParams.get('name') ?? clientName,
    reports: reportsOf(url),
    ...(username === '' ? {} : { auth: { user: decoded(username), pass: decoded(password) } }),
    ...(ca === null ? {} : { tls: { ca: authorityIn(ca) } }),
  };
}

interface Slot {
  connection: SmtpConnection | null;
  timer: NodeJS.Timeout | null;
}

/**
 * A pool of pipelined connections. Each batch is sent over one of them. A reply that the server is busy (450, 451, 452)
 * halves the number of connections in use; each batch without such a reply adds one.
 */
class SmtpProvider implements EmailProvider {
  readonly name = 'smtp';
  readonly concurrency: number;
  readonly signing?: 'provider';
  readonly #options: SmtpProviderOptions;
  readonly #slots: readonly Slot[];
  readonly #free: Slot[];
  readonly #waiting: ((slot: Slot | null) => void)[] = [];
  readonly #stop = createStop();
  #allowed: number;
  #inUse = 0;
  #closed = false;

  constructor(options: SmtpProviderOptions) {
    this.#options = options;
    this.concurrency = options.connections;
    if (options.signing) this.signing = options.signing;
    this.#allowed = options.connections;
    this.#slots = Array.from({ length: options.connections }, () => ({ connection: null, timer: null }));
    this.#free = [...this.#slots];
  }

  async handOver(batch: readonly OutgoingMail[]): Promise<HandOverResult[]> {
    const slot = await this.#take();
    if (!slot) return untried(batch);
    let results: HandOverResult[] = [];
    try {
      results = await this.#transferAll(slot, batch);
      return results;
    } finally {
      const open = results.filter(isOpen);
      if (open.length === 0) this.#give(slot);
      else void Promise.all(open.map(({ later }) => later)).then(() => this.#give(slot));
    }
  }

  /** Begins nothing more, and opens no connections. A connection whose message has its 354 finishes that message. */
  stop(): void {
    for (const { connection } of this.#slots) connection?.leave();
    for (const resolve of this.#waiting.splice(0)) resolve(null);
    this.#stop.request();
  }

  async #transferAll(slot: Slot, batch: readonly OutgoingMail[]): Promise<HandOverResult[]> {
    const first = await this.#transfer(slot, batch);
    if (this.#stop.requested || !mayGoOn(first)) return first;
    const rest = await this.#transfer(
      slot,
      batch.filter((_email, index) => first[index]?.kind === 'not_tried'),
    );
    return first.map((result) => (result.kind === 'not_tried' ? (rest.shift() ?? result) : result));
  }

  /** Sends emails over the slot's connection. If an email loses the connection, the emails after it are `not_tried`. */
  async #transfer(slot: Slot, batch: readonly OutgoingMail[]): Promise<HandOverResult[]> {
    const kept = slot.connection?.open === true;
    try {
      const connection = await this.#stop.race(this.#connect(slot));
      if (!connection) return untried(batch);
      const { reports = 'failure' } = this.#options.target;
      const sending = batch.map((email) => send(connection, email, reports));
      const outcomes = await this.#stop.race(Promise.all(sending));
      if (!outcomes) return await resultsAtStop(sending, kept);
      this.#adapt(outcomes);
      return verdicts(outcomes, kept);
    } catch (error) {
      return batch.map(() => ({ kind: 'fault', reason: (error as Error).message }));
    }
  }

  async close(): Promise<void> {
    this.#closed = true;
    await Promise.all(this.#free.map((slot) => this.#quit(slot)));
  }

  async #connect(slot: Slot): Promise<SmtpConnection> {
    if (slot.timer) clearTimeout(slot.timer);
    slot.timer = null;
    if (slot.connection?.open) return slot.connection;
    const { resolver } = this.#options;
    slot.connection = await connectSmtp(this.#options.target, resolver ? { lookup: resolver.lookup } : {});
    if (this.#stop.requested) slot.connection.leave();
    this.#options.onSize?.(slot.connection.capabilities.size || null);
    return slot.connection;
  }

  #adapt(outcomes: SmtpOutcome[]): void {
    const busy = outcomes.some((outcome) => outcome.kind === 'refused' && BUSY_CODES.has(outcome.reply.code));
    this.#allowed = busy
      ? Math.max(1, Math.floor(this.#allowed / 2))
      : Math.min(this.concurrency, this.#allowed + 1);
  }

  /** @returns null if the provider stops */
  async #take(): Promise<Slot | null> {
    if (this.#stop.requested) return null;
    const slot = this.#inUse < this.#allowed ? this.#next() : undefined;
    if (slot) {
      this.#inUse += 1;
      return slot;
    }
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  /** Prefers a slot that is already connected. */
  #next(): Slot | undefined {
    const index = this.#free.findLastIndex((slot) => slot.connection?.open);
    return this.#free.splice(index === -1 ? this.#free.length - 1 : index, 1)[0];
  }

  #give(slot: Slot): void {
    this.#inUse -= 1;
    this.#free.push(slot);
    if (this.#closed) return void this.#quit(slot);
    slot.timer = setTimeout(() => void this.#quit(slot), IDLE_CLOSE_MS);
    slot.timer.unref();
    while (this.#waiting.length > 0 && this.#inUse < this.#allowed && this.#free.length > 0) {
      const next = this.#next();
      if (!next) return;
      this.#inUse += 1;
      this.#waiting.shift()?.(next);
    }
  }

  async #quit(slot: Slot): Promise<void> {
    if (slot.timer) clearTimeout(slot.timer);
    const { connection } = slot;
    slot.connection = null;
    await connection?.quit().catch(() => undefined);
  }
}

/**
 * If the connection ended during a message, the messages after it were not tried.
 * @param kept whether the connection was reused: the server may have closed it while it was idle, and then the first
 *   message was not tried either
 */
function verdicts(outcomes: SmtpOutcome[], kept: boolean): HandOverOutcome[] {
  if (kept && outcomes[0] && isStale(outcomes[0])) return outcomes.map(() => ({ kind: 'not_tried' }));
  const ended = outcomes.some(endedConnection);
  return outcomes.map((outcome) => {
    const verdict = smtpVerdict(outcome);
    if (verdict.kind === 'deferred' && endedConnection(outcome)) return { ...verdict, connectionLost: true };
    return ended && verdict.kind === 'fault' ? { kind: 'not_tried' } : verdict;
  });
}

/** The results of messages, some of which have no outcome yet. @param kept see {@link verdicts} */
async function resultsAtStop(
  sending: readonly Promise<SmtpOutcome>[],
  kept: boolean,
): Promise<HandOverResult[]> {
  // Of two promises that are resolved already, the first wins.
  const now = await Promise.all(sending.map((each) => Promise.race([each, Promise.resolve(null)])));
  const known = verdicts(
    now.filter((outcome) => outcome !== null),
    kept,
  );
  return sending.map((each, index): HandOverResult => {
    if (now[index]) return known.shift() ?? { kind: 'not_tried' };
    return { kind: 'open', later: each.then(verdictAlone) };
  });
}

function verdictAlone(outcome: SmtpOutcome): HandOverOutcome {
  return verdicts([outcome], false)[0] ?? { kind: 'unknown', reason: 'no verdict' };
}

/** Messages that were not tried go over a new connection, unless the server has asked for a pause (421). */
function mayGoOn(outcomes: readonly HandOverResult[]): boolean {
  const closing = outcomes.some((outcome) => outcome.kind === 'deferred' && outcome.connectionLost);
  return !closing && outcomes.some(({ kind }) => kind === 'not_tried');
}

/** The connection ended before any reply to the first message. */
function isStale(first: SmtpOutcome): boolean {
  return first.kind === 'not_sent' && first.inTransfer === true && first.error.stage === 'mail';
}

function endedConnection(outcome: SmtpOutcome): boolean {
  if (outcome.kind === 'refused') return outcome.stage !== 'mail' && outcome.connectionLost;
  return outcome.kind === 'ambiguous' || (outcome.kind === 'not_sent' && outcome.inTransfer === true);
}

/** Creates a provider that sends by SMTP. It connects with the first batch. */
export function createSmtpProvider(options: SmtpProviderOptions): EmailProvider {
  return new SmtpProvider(options);
}
