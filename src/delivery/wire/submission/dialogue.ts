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
  connected(session: SMTPServerSession): void;
  /** TLS has begun: nothing that the client said before counts. */
  secured(session: SMTPServerSession): void;
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

const isLoopback = (address: string) =>
  ipaddr.isValid(address) && ipaddr.process(address).range() === 'loopback';

/**
 * Decides about each command of a client.
 *
 * The library offers AUTH whenever it is enabled, so it is disabled for each session without TLS. But then the library no
 * longer asks for a login, so each command here does.
 */
export function createDialogue(deps: DialogueDeps): Dialogue {
  const { logins, spool, rate, burstOf, counts, log } = deps;
  const states = new WeakMap<SMTPServerSession, State>();

  function begin(session: SMTPServerSession): State {
    const state: State = { password: null, failedLogins: 0, envelope: null };
    states.set(session, state);
    return state;
  }
  const stateOf = (session: SMTPServerSession) => states.get(session) ?? begin(session);

  const mayLogIn = ({ secure, remoteAddress }: SMTPServerSession) =>
    secure || (deps.clearLogins && isLoopback(remoteAddress));

  /** The commands that the library refuses. The first three are jokes that it knows. */
  const disabledCommands = (session: SMTPServerSession) => [
    ...['WIZ', 'SHELL', 'KILL'],
    ...(mayLogIn(session) ? [] : ['AUTH']),
    // The library would use a certificate whose key is public.
    ...(deps.offersTls ? [] : ['STARTTLS']),
  ];

  /** @returns the API key of the login */
  function requireLogin(session: SMTPServerSession): string {
    if (!mayLogIn(session)) throw deps.offersTls ? needsTls() : needsLogin();
    const { password } = stateOf(session);
    if (!session.user || password === null) throw needsLogin();
    return password;
  }

  function requireEnvelope(session: SMTPServerSession): Envelope {
    requireLogin(session);
    const { envelope } = stateOf(session);
    if (!envelope) throw new SubmissionRefusal(503, '5.5.1', 'MAIL first');
    return envelope;
  }

  const perSecondOf = ({ rateLimitPerSecond }: KeyCaller) => rateLimitPerSecond ?? deps.ratePerKey;

  function requireRoom({ caller, recipients }: Envelope): void {
    const perSecond = perSecondOf(caller);
    const most = perSecond === 0 ? MAX_RECIPIENTS : Math.min(MAX_RECIPIENTS, Math.floor(burstOf(perSecond)));
    if (recipients.size < most) return;
    throw new SubmissionRefusal(452, '4.5.3', 'too many recipients; send the rest in another transaction');
  }

  return {
    connected(session) {
      begin(session);
      session.disabledCommands = disabledCommands(session);
    },

    secured(session) {
      begin(session);
      session.disabledCommands = disabledCommands(session);
    },

    async authenticate({ password }, session) {
      const state = stateOf(session);
      if (!mayLogIn(session)) throw needsTls();
      try {
        const { rateLimitName } = await logins.check(password ?? '', session.remoteAddress);
        state.password = password ?? '';
        return rateLimitName;
      } catch (error) {
        state.failedLogins += 1;
        if (state.failedLogins < MAX_FAILED_LOGINS) throw error;
        throw new SubmissionRefusal(421, '4.7.0', 'too many failed logins', { cause: error });
      }
    },

    async from({ address }, session) {
      const state = stateOf(session);
      state.envelope = null;
      const password = requireLogin(session);
      if (address === '')
        throw new SubmissionRefusal(
          550,
          '5.7.1',
          'a sender is required: this port takes mail to send, no bounces',
        );
      const caller = await logins.recheck(password);
      state.envelope = { caller, from: address, recipients: new Map() };
    },

    to({ address }, session) {
      const envelope = requireEnvelope(session);
      const parsed = parseEmailAddress(address);
      if ('error' in parsed)
        throw new SubmissionRefusal(553, '5.1.3', `validation_error: ${address} ${parsed.error}`);
      if (envelope.recipients.has(parsed.key)) return;
      requireRoom(envelope);
      envelope.recipients.set(parsed.key, parsed);
    },

    async data(stream, session) {
      const { caller, from, recipients } = requireEnvelope(session);
      const smtpUtf8 = session.envelope.smtpUtf8 === true;
      stateOf(session).envelope = null;
      const { tenant, rateLimitName } = caller;
      const { reply } = await spool.take(stream, tenant.accountId, async (mail, fault) => {
        if (fault) {
          counts.badLines(tenant.actor.id);
          throw new SubmissionRefusal(554, '5.6.0', `line ${fault.line} ${fault.problem}`);
        }
        await rate.count(rateLimitName, perSecondOf(caller), recipients.size);
        return deps.submit({ tenant, from, recipients: [...recipients.values()], smtpUtf8, mail });
      });
      log.debug({ account_id: tenant.accountId, actor_id: tenant.actor.id }, 'mail submitted');
      return reply;
    },
  };
}
