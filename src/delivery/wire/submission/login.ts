import { hash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import { AppError } from '../../../errors.ts';
import { parseKey } from '../../../platform/auth/api-key.ts';
import type { Tenant } from '../../../platform/auth/tenant.ts';
import { createTokenBuckets } from '../../../platform/processes/token-buckets.ts';
import { networkOf } from '../listening/connections.ts';
import { SubmissionRefusal } from './port.ts';

/** The caller that an API key stands for. */
export interface KeyCaller {
  tenant: Tenant;
  /** Null: the default; 0: no limit. */
  rateLimitPerSecond: number | null;
  rateLimitName: string;
}

export interface LoginDeps {
  /**
   * @returns null if the key is unknown or revoked
   * @throws AppError `unavailable`
   */
  findKey: (text: string) => Promise<KeyCaller | null>;
  /** Monotonic, in milliseconds. */
  nowMs?: () => number;
}

export interface Logins {
  /**
   * Checks a password, which must be an API key.
   * @param address of the client
   * @throws SubmissionRefusal
   */
  check(password: string, address: string): Promise<KeyCaller>;
  /** Checks the key of a login again, at each mail. @throws SubmissionRefusal if it has been revoked */
  recheck(password: string): Promise<KeyCaller>;
}

/**
 * Of one network. Guesses that cannot be keys have a limit of their own, so that a program that sends them does not keep
 * out others of its network.
 */
const FAILURES_PER_MINUTE = 20;
const MAX_NETWORKS = 100_000;
/** How long an unknown key is refused without another query. */
const REFUSED_MS = 60_000;
const MAX_REFUSED = 10_000;
/** Failures of its network do not keep out a key that has logged in from there in this time. */
const KNOWN_MS = 24 * 60 * 60_000;
const MAX_KNOWN = 100_000;

const tooMany = () => new SubmissionRefusal(454, '4.7.0', 'too many failed logins; try again in a minute');
const notAKey = () => new SubmissionRefusal(535, '5.7.8', 'the password must be an API key');
const unknownKey = () => new SubmissionRefusal(535, '5.7.8', 'the API key is unknown or revoked');

/** Keys are secrets: caches know their hashes only. */
const digestOf = (text: string) => hash('sha256', text, 'base64');

/** @returns a function that starts a check, or returns the result of the one of the same name that is still running */
function createSharedChecks() {
  const checks = new Map<string, Promise<KeyCaller>>();
  return (name: string, check: () => Promise<KeyCaller>): Promise<KeyCaller> => {
    const running = checks.get(name);
    if (running) return running;
    const started = check().finally(() => checks.delete(name));
    checks.set(name, started);
    return started;
  };
}

/** Checks logins, and limits how many may fail. */
export function createLogins({ findKey, nowMs = () => performance.now() }: LoginDeps): Logins {
  const failures = createTokenBuckets(nowMs, MAX_NETWORKS);
  const refusedAt = new LRUCache<string, number>({ max: MAX_REFUSED });
  const knownAt = new LRUCache<string, number>({ max: MAX_KNOWN });
  // A program that opens many connections at once counts as one login. Otherwise, a wrong key would fail once for each.
  const once = createSharedChecks();
  const isWithin = (at: number | undefined, ms: number) => at !== undefined && nowMs() - at < ms;

  /** Counts a failure before it is certain, so that parallel logins get no more tries than successive ones. */
  function count(name: string): void {
    const { allowed } = failures.take(name, FAILURES_PER_MINUTE / 60, FAILURES_PER_MINUTE);
    if (!allowed) throw tooMany();
  }

  async function find(password: string): Promise<KeyCaller | null> {
    try {
      return await findKey(password);
    } catch (error) {
      if (!(error instanceof AppError && error.code === 'unavailable')) throw error;
      throw new SubmissionRefusal(454, '4.3.0', 'the API key cannot be checked now; try again later', {
        cause: error,
      });
    }
  }

  async function checkKey(password: string, digest: string, network: string): Promise<KeyCaller> {
    const known = `${network} ${digest}`;
    const counted = isWithin(knownAt.get(known), KNOWN_MS) ? null : `unknown key from ${network}`;
    if (counted !== null) count(counted);
    if (isWithin(refusedAt.get(digest), REFUSED_MS)) throw unknownKey();
    const giveBack = () => counted !== null && failures.giveBack(counted);
    const caller = await find(password).catch((error: unknown) => {
      giveBack();
      throw error;
    });
    if (!caller) {
      knownAt.delete(known);
      refusedAt.set(digest, nowMs());
      throw unknownKey();
    }
    giveBack();
    knownAt.set(known, nowMs());
    return caller;
  }

  return {
    async check(password, address) {
      const network = networkOf(address);
      if (parseKey(password) === null) {
        count(`no key from ${network}`);
        throw notAKey();
      }
      const digest = digestOf(password);
      return once(`${network} ${digest}`, () => checkKey(password, digest, network));
    },
    async recheck(password) {
      const caller = await find(password);
      if (!caller) throw unknownKey();
      return caller;
    },
  };
}
