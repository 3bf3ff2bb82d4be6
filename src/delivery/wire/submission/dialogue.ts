import ipaddr from 'ipaddr.js';
import type { Logger } from 'pino';
import type {
  SMTPServerAddress,
  SMTPServerAuthentication,
  SMTPServerDataStream,
  SMTPServerSession,
} from 'smtp-server';
import { type EmailAddress, parseEmailAddress } from '../../terms/addresses/email.ts';
import type { SubmissionCounts } from './counts.ts';
import type { KeyCaller, Logins } from './login.ts';
import { type Submit, SubmissionRefusal } from './port.ts';
import type { RateLimits, SubmissionRate } from './rate.ts';
import type { Spool } from './spool.ts';

export interface DialogueDeps {
  logins: Logins;
  spool: Spool;
  rate: SubmissionRate;
  burstOf: RateLimits['burstOf'];
  /** Of keys without a limit of their own. */
  ratePerKey: number;
  submit: Submit;
  /** Whether clients of this machine may log in without TLS. */
  clearLogins: boolean;
  /** Whether the server offers STARTTLS. */
  offersTls: boolean;
  counts: SubmissionCounts;
  log: Logger;
}

/** What the server does at each step of a session. Errors are refusals; see `replies.ts`. */
export interface Dialogue {
  /** Called again when TLS has begun: nothing that the client said before counts. */
  connected(session: SMTPServerSession): void;
  /** @returns the name of the caller */
  authenticate(auth: SMTPServerAuthentication, session: SMTPServerSession): Promise<string>;
  from(address: SMTPServerAddress, session: SMTPServerSession): Promise<void>;
  to(address: SMTPServerAddress, session: SMTPServerSession): void;
  /** @returns the text of the reply */
  data(stream: SMTPServerDataStream, session: SMTPServerSession): Promise<string>;
}

/** A letter has at most this many recipients. */
const MAX_RECIPIENTS = 100;
const MAX_FAILED_LOGINS = 10;

/** A mail whose data has not begun. */
interface Envelope {
  caller: KeyCaller;
  from: string;
  recipients: Map<string, EmailAddress>;
}

interface State {
  /** The API key of the login; null: none. */
  password: string | null;
  failedLogins: number;
  envelope: Envelope | null;
}

const needsTls = () => new SubmissionRefusal(530, '5.7.0', 'Must issue a STARTTLS command first');
const needsLogin = () => new SubmissionRefusal(530, '5.7.0', 'Authentication required');

export const isLoopback = (address: string): boolean =>
  ipaddr.isValid(address) && ipaddr.process(address).range() === 'loopback';

/** The login and the current mail of each session. */
class Sessions {
  readonly #states = new WeakMap<SMTPServerSession, State>();

  /** Forgets what the client has said. */
  begin(session: SMTPServerSession): State {
    const state: State = { password: null, failedLogins: 0, envelope: null };
    this.#states.set(session, state);
    return state;
  }

  of(session: SMTPServerSession): State {
    return this.#states.get(session) ?? this.begin(session);
  }
}

/**
 * Decides about each command of a client.
 *
 * The library offers AUTH in every session in which it is enabled, so sessions without TLS disable it. The library then
 * no longer requires a login, so each command here does.
 */
class SubmissionDialogue implements Dialogue {
  readonly #deps: DialogueDeps;
  readonly #sessions = new Sessions();

  constructor(deps: DialogueDeps) {
    this.#deps = deps;
  }

  connected(session: SMTPServerSession): void {
    this.#sessions.begin(session);
    session.disabledCommands = [
      // Joke commands of the library.
      ...['WIZ', 'SHELL', 'KILL'],
      ...(this.#mayLogIn(session) ? [] : ['AUTH']),
      // The library would use a certificate whose key is public.
      ...(this.#deps.offersTls ? [] : ['STARTTLS']),
    ];
  }

  async authenticate({ password }: SMTPServerAuthentication, session: SMTPServerSession): Promise<string> {
    const state = this.#sessions.of(session);
    if (!this.#mayLogIn(session)) throw needsTls();
    try {
      const { rateLimitName } = await this.#deps.logins.check(password ?? '', session.remoteAddress);
      state.password = password ?? '';
      return rateLimitName;
    } catch (error) {
      state.failedLogins += 1;
      if (state.failedLogins < MAX_FAILED_LOGINS) throw error;
      throw new SubmissionRefusal(421, '4.7.0', 'too many failed logins', { cause: error });
    }
  }

  async from({ address }: SMTPServerAddress, session: SMTPServerSession): Promise<void> {
    const state = this.#sessions.of(session);
    state.envelope = null;
    const password = this.#requireLogin(session);
    if (address === '')
      throw new SubmissionRefusal(
        550,
        '5.7.1',
        'a sender is required: this port takes mail to send, no bounces',
      );
    const caller = await this.#deps.logins.recheck(password);
    state.envelope = { caller, from: address, recipients: new Map() };
  }

  to({ address }: SMTPServerAddress, session: SMTPServerSession): void {
    const envelope = this.#requireEnvelope(session);
    const parsed = parseEmailAddress(address);
    if ('error' in parsed)
      throw new SubmissionRefusal(553, '5.1.3', `validation_error: ${address} ${parsed.error}`);
    if (envelope.recipients.has(parsed.key)) return;
    this.#requireRoom(envelope);
    envelope.recipients.set(parsed.key, parsed);
  }

  async data(stream: SMTPServerDataStream, session: SMTPServerSession): Promise<string> {
    const { caller, from, recipients } = this.#requireEnvelope(session);
    const smtpUtf8 = session.envelope.smtpUtf8 === true;
    this.#sessions.of(session).envelope = null;
    const { tenant, rateLimitName } = caller;
    const { spool, rate, submit, counts, log } = this.#deps;
    const { reply } = await spool.take(stream, tenant.accountId, async (mail, fault) => {
      if (fault) {
        counts.badLines(tenant.actor.id);
        throw new SubmissionRefusal(554, '5.6.0', `line ${fault.line} ${fault.problem}`);
      }
      await rate.count(rateLimitName, this.#perSecondOf(caller), recipients.size);
      return submit({ tenant, from, recipients: [...recipients.values()], smtpUtf8, mail });
    });
    log.debug({ account_id: tenant.accountId, actor_id: tenant.actor.id }, 'mail submitted');
    return reply;
  }

  #mayLogIn({ secure, remoteAddress }: SMTPServerSession): boolean {
    return secure || (this.#deps.clearLogins && isLoopback(remoteAddress));
  }

  #perSecondOf({ rateLimitPerSecond }: KeyCaller): number {
    return rateLimitPerSecond ?? this.#deps.ratePerKey;
  }

  /** @returns the API key of the login */
  #requireLogin(session: SMTPServerSession): string {
    if (!this.#mayLogIn(session)) throw this.#deps.offersTls ? needsTls() : needsLogin();
    const { password } = this.#sessions.of(session);
    if (session.user === undefined || session.user === false || password === null) throw needsLogin();
    return password;
  }

  #requireEnvelope(session: SMTPServerSession): Envelope {
    this.#requireLogin(session);
    const { envelope } = this.#sessions.of(session);
    if (!envelope) throw new SubmissionRefusal(503, '5.5.1', 'MAIL first');
    return envelope;
  }

  #requireRoom({ caller, recipients }: Envelope): void {
    const perSecond = this.#perSecondOf(caller);
    const burst = perSecond === 0 ? MAX_RECIPIENTS : Math.floor(this.#deps.burstOf(perSecond));
    if (recipients.size < Math.max(1, Math.min(MAX_RECIPIENTS, burst))) return;
    throw new SubmissionRefusal(452, '4.5.3', 'too many recipients; send the rest in another transaction');
  }
}

export function createDialogue(deps: DialogueDeps): Dialogue {
  return new SubmissionDialogue(deps);
}
