import { tooMany } from '../../errors.ts';
import type { RateVerdict } from '../processes/rate-verdict.ts';
import { createTokenBuckets, type TokenBuckets } from '../processes/token-buckets.ts';
import type { RateLeases } from './rate-leases.ts';

/** Size of a bucket, in seconds of requests. */
const BURST_SECONDS = 2;
/**
 * Maximum number of failed logins per minute: for one address from one network, from one network, for one address from
 * anywhere, and for one user from a network where the user has logged in lately.
 */
const FAILED_LOGINS = { ofAddressFromNetwork: 10, fromNetwork: 100, ofAddress: 100, fromKnownNetwork: 100 };
/** Maximum number of buckets for callers without a key or session. A bucket takes about 200 bytes. */
export const MAX_BUCKETS_OF_STRANGERS = 100_000;
/** Maximum number of wrong passwords per minute with which a user confirms sessions. */
const WRONG_CONFIRMATIONS_PER_MINUTE = 10;
const UNKNOWN_SECRETS_PER_MINUTE = 60;
const PASSWORD_RESETS_PER_MINUTE = 20;
/**
 * What programs of assistants may do per minute, from one network: begin authorizations, register themselves, and have
 * this service request the documents about them.
 */
const PROGRAM_LIMITS = { authorization: 60, registration: 10, 'client document': 10 };
/**
 * Maximum number of documents per minute for all networks. The first one of each network in a minute has a limit of its
 * own, so that a few networks that ask for many leave the others theirs.
 */
const CLIENT_DOCUMENTS_OF_ALL = { first: 300, further: 60 };

type Headers = Record<string, string>;

/** The most requests that count at once. @param perSecond a limit above 0 */
export const burstOf = (perSecond: number): number => perSecond * BURST_SECONDS;

export interface RateLimiter {
  /**
   * Counts one request, or one that counts as many.
   * @param caller unique name of the API key or user
   * @param perSecond limit for all processes together; 0 means no limit
   * @param tokens as how many requests it counts, at most {@link burstOf} the limit; all of them or none are counted
   * @returns the `RateLimit-*` headers of the response; a promise if the database is queried
   * @throws AppError `rate_limited`, with the same headers and `Retry-After`
   */
  request(caller: string, perSecond: number, tokens?: number): Headers | Promise<Headers>;
  /** Takes back the count of requests that turned out not to count, unless the database is unavailable. */
  giveBack(caller: string, tokens: number): Promise<void>;
  /**
   * Counts a login as failed before its password is checked, so that concurrent logins get no more tries than
   * consecutive ones.
   * @param network of the client, without spaces
   * @param email the address that logs in
   * @param isKnown whether the user of this email address has logged in from the network lately. Then the failures of
   *   others do not count
   * @returns a function that takes the count back if the login succeeds
   * @throws AppError `rate_limited`
   */
  login(network: string, email: string, isKnown?: boolean): () => void;
  /**
   * Counts a confirmation of a signed-in user's password as failed, before it is checked.
   * @returns a function that takes the count back if the password is right
   * @throws AppError `rate_limited`
   */
  confirmation(userId: number): () => void;
  /**
   * Counts one request with an unknown secret in its path, against the client's address.
   * @throws AppError `rate_limited`
   */
  unknownSecret(address: string): void;
  /**
   * Counts one request for a link that sets a new password.
   * @throws AppError `rate_limited`
   */
  passwordReset(network: string): void;
  /**
   * Counts what a program of an assistant does before a user has granted it anything.
   * @throws AppError `rate_limited`
   */
  program(does: keyof typeof PROGRAM_LIMITS, network: string): void;
}

function limitHeaders(verdict: RateVerdict): Headers {
  return {
    'RateLimit-Limit': String(verdict.limit),
    'RateLimit-Remaining': String(verdict.remaining),
    'RateLimit-Reset': String(verdict.resetSeconds),
  };
}

/** @param limit such as `10 a second` */
function refuse(verdict: RateVerdict, limit: string): never {
  const { retryAfterSeconds } = verdict;
  throw tooMany(`too many requests: at most ${limit}`, retryAfterSeconds, limitHeaders(verdict));
}

function headersOrRefusal(verdict: RateVerdict, perSecond: number): Headers {
  return verdict.allowed ? limitHeaders(verdict) : refuse(verdict, `${perSecond} a second`);
}

function loginCounts(
  network: string,
  email: string,
  isKnown: boolean,
): [caller: string, perMinute: number][] {
  if (isKnown) return [[`login from known ${network} of ${email}`, FAILED_LOGINS.fromKnownNetwork]];
  // Check the network's own limit first, so that addresses that a client makes up cost no memory.
  return [
    [`login from ${network}`, FAILED_LOGINS.fromNetwork],
    [`login from ${network} of ${email}`, FAILED_LOGINS.ofAddressFromNetwork],
    [`login of ${email}`, FAILED_LOGINS.ofAddress],
  ];
}

/**
 * The part for callers with a key or session.
 * @param processes number of processes that count requests
 */
export function createRequestLimiter(
  processes: () => number,
  buckets: TokenBuckets,
  leases?: RateLeases,
): Pick<RateLimiter, 'request' | 'giveBack'> {
  function takeShare(caller: string, perSecond: number, tokens: number): Headers {
    const share = perSecond / processes();
    return headersOrRefusal(buckets.take(caller, share, burstOf(share), tokens), perSecond);
  }
  return {
    request(caller, perSecond, tokens = 1) {
      if (perSecond === 0) return {};
      if (!leases || processes() === 1) return takeShare(caller, perSecond, tokens);
      const verdict = leases.take(caller, perSecond, burstOf(perSecond), tokens);
      const answer = (given: RateVerdict) => headersOrRefusal(given, perSecond);
      return verdict instanceof Promise
        ? verdict.then(answer, () => takeShare(caller, perSecond, tokens))
        : answer(verdict);
    },
    async giveBack(caller, tokens) {
      if (!leases || processes() === 1) return buckets.giveBack(caller, tokens);
      // The bucket fills by itself, so a failure costs the caller at most two seconds.
      await leases.giveBack(caller, tokens).catch(() => undefined);
    },
  };
}

/**
 * Rate limits. A single process keeps them in its memory. Several processes share each caller's limit by leases,
 * however unevenly the requests reach them. For logins and unknown secrets, and for all requests while the database is
 * unavailable, each process allows an equal share of the limit.
 * @param strangers the buckets of logins and unknown secrets
 * @param processes number of processes that share a limit
 * @param requestProcesses number of processes that share a limit of requests
 */
export function createRateLimiter(
  processes: () => number,
  buckets: TokenBuckets = createTokenBuckets(),
  leases?: RateLeases,
  strangers = buckets,
  requestProcesses = processes,
): RateLimiter {
  function takePerMinute(caller: string, perMinute: number): RateVerdict {
    const burst = perMinute / processes();
    return strangers.take(caller, burst / 60, burst);
  }
  function requirePerMinute(caller: string, perMinute: number): void {
    const verdict = takePerMinute(caller, perMinute);
    if (!verdict.allowed) refuse(verdict, `${perMinute} a minute`);
  }
  return {
    ...createRequestLimiter(requestProcesses, buckets, leases),
    login(network, email, isKnown = false) {
      const taken: string[] = [];
      const giveBack = () => taken.forEach((caller) => strangers.giveBack(caller));
      for (const [caller, perMinute] of loginCounts(network, email, isKnown)) {
        const verdict = takePerMinute(caller, perMinute);
        if (!verdict.allowed) {
          giveBack();
          refuse(verdict, `${perMinute} a minute`);
        }
        taken.push(caller);
      }
      return giveBack;
    },
    confirmation(userId) {
      const name = `confirmation of user ${userId}`;
      requirePerMinute(name, WRONG_CONFIRMATIONS_PER_MINUTE);
      return () => strangers.giveBack(name);
    },
    unknownSecret(address) {
      requirePerMinute(`secret from ${address}`, UNKNOWN_SECRETS_PER_MINUTE);
    },
    passwordReset(network) {
      requirePerMinute(`password reset from ${network}`, PASSWORD_RESETS_PER_MINUTE);
    },
    program(does, network) {
      requirePerMinute(`${does} from ${network}`, PROGRAM_LIMITS[does]);
      if (does !== 'client document') return;
      const which = takePerMinute(`first ${does} from ${network}`, 1).allowed ? 'first' : 'further';
      requirePerMinute(`${which} ${does}`, CLIENT_DOCUMENTS_OF_ALL[which]);
    },
  };
}
