import { readFileSync } from 'node:fs';
import { connectSmtp, type SmtpConnection, type SmtpOutcome, type SmtpTarget } from '../../smtp/client.ts';
import type { Resolver } from '../../dns/resolver.ts';
import type { HandOverOutcome } from '../outcome.ts';
import type { EmailProvider, OutgoingEmail } from './port.ts';
import { smtpVerdict } from './smtp-verdict.ts';

export interface SmtpProviderOptions {
  target: SmtpTarget;
  /** Connections kept at most. */
  connections: number;
  resolver?: Resolver;
}

const IDLE_CLOSE_MS = 60_000;
const BUSY_CODES = new Set([450, 451, 452]);

/**
 * Read `smtp://user:password@host:587?tls=required|opportunistic|off&name=…&ca=file` (`smtps://` for TLS from the
 * first byte).
 * @param clientName what EHLO says unless the URL's `name` does
 */
export function smtpTargetFromUrl(url: URL, clientName: string): SmtpTarget {
  const implicit = url.protocol === 'smtps:';
  const tls = url.searchParams.get('tls') ?? (url.username ? 'required' : 'opportunistic');
  const security = implicit
    ? 'implicit'
    : tls === 'required'
      ? 'starttls'
      : tls === 'off'
        ? 'none'
        : 'opportunistic';
  const ca = url.searchParams.get('ca');
  return {
    host: url.hostname.replace(/^\[|\]$/g, ''),
    port: url.port === '' ? (implicit ? 465 : 587) : Number(url.port),
    security,
    clientName: url.searchParams.get('name') ?? clientName,
    ...(url.username === ''
      ? {}
      : { auth: { user: decodeURIComponent(url.username), pass: decodeURIComponent(url.password) } }),
    ...(ca === null ? {} : { tls: { ca: readFileSync(ca) } }),
  };
}

interface Slot {
  connection: SmtpConnection | null;
  timer: NodeJS.Timeout | null;
}

/**
 * A pool of pipelined connections; each window travels over one of them. Fewer are used while the server says
 * that it is busy (450, 451, 452), more again after windows without such replies.
 */
class SmtpProvider implements EmailProvider {
  readonly name = 'smtp';
  readonly concurrency: number;
  readonly #options: SmtpProviderOptions;
  readonly #free: Slot[];
  readonly #waiting: ((slot: Slot) => void)[] = [];
  #allowed: number;
  #inUse = 0;
  #closed = false;

  constructor(options: SmtpProviderOptions) {
    this.#options = options;
    this.concurrency = options.connections;
    this.#allowed = options.connections;
    this.#free = Array.from({ length: options.connections }, () => ({ connection: null, timer: null }));
  }

  async handOver(window: readonly OutgoingEmail[]): Promise<HandOverOutcome[]> {
    const slot = await this.#take();
    try {
      const connection = await this.#connect(slot);
      const outcomes = await Promise.all(window.map((email) => send(connection, email)));
      this.#adapt(outcomes);
      return verdicts(outcomes);
    } catch (error) {
      return window.map(() => ({ kind: 'fault', reason: (error as Error).message }));
    } finally {
      this.#give(slot);
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
    return slot.connection;
  }

  #adapt(outcomes: SmtpOutcome[]): void {
    const busy = outcomes.some((outcome) => outcome.kind === 'refused' && BUSY_CODES.has(outcome.reply.code));
    this.#allowed = busy
      ? Math.max(1, Math.floor(this.#allowed / 2))
      : Math.min(this.concurrency, this.#allowed + 1);
  }

  async #take(): Promise<Slot> {
    const slot = this.#inUse < this.#allowed ? this.#next() : undefined;
    if (slot) {
      this.#inUse += 1;
      return slot;
    }
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  /** A slot that is connected already, else an empty one. */
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
    if (connection?.open) await connection.quit().catch(() => undefined);
  }
}

function send(connection: SmtpConnection, email: OutgoingEmail): Promise<SmtpOutcome> {
  const { data, smtpUtf8, eightBit } = email.built;
  return connection.send({ from: email.returnPath, to: email.to, smtpUtf8, eightBit, data });
}

/** Where a message's refusal ended the connection, those pipelined behind it were not tried. */
function verdicts(outcomes: SmtpOutcome[]): HandOverOutcome[] {
  const lost = outcomes.some(endedConnection);
  return outcomes.map((outcome) => {
    const verdict = smtpVerdict(outcome);
    if (verdict.kind === 'deferred' && endedConnection(outcome)) return { ...verdict, connectionLost: true };
    return lost && verdict.kind === 'fault' ? { kind: 'not_tried' } : verdict;
  });
}

function endedConnection(outcome: SmtpOutcome): boolean {
  return outcome.kind === 'refused' && outcome.stage !== 'mail' && outcome.connectionLost;
}

/** A provider that hands over by SMTP. No connection is made before the first window. */
export function createSmtpProvider(options: SmtpProviderOptions): EmailProvider {
  return new SmtpProvider(options);
}
