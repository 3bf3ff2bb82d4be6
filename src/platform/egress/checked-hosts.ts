import { LRUCache } from 'lru-cache';
import { ResolveError, type Resolver } from '../dns/resolver.ts';
import type { AddressPolicy } from './addresses.ts';
import { problem, type EgressProblem, type RefusalReason } from './problem.ts';

const FRESH_MS = 5_000;
const MAX_HOSTS = 10_000;
const MAX_ADDRESSES = 4;

/** The addresses of a host, all of which may be reached. Connections are made only to these. */
export interface CheckedHost {
  addresses: string[];
  /** Whether EGRESS_ALLOW contains all of them, so that plain HTTP is allowed. */
  allowed: boolean;
}

type Verdict = CheckedHost | EgressProblem<RefusalReason>;

interface Entry {
  verdict: Verdict;
  freshUntil: number;
}

export interface CheckedHosts {
  /** @returns the verdict of a look-up in the last 5 s; null if there was none */
  recall(host: string): Verdict | null;
  /** Looks up the host. Calls for the same host share a running look-up. */
  resolve(host: string, timeoutMs: number): Promise<Verdict>;
}

async function judgeHost(
  host: string,
  timeoutMs: number,
  resolver: Resolver,
  policy: AddressPolicy,
): Promise<Verdict> {
  try {
    const found = await resolver.resolveAddresses(host, { timeoutMs });
    const addresses = found.map((each) => each.address);
    if (!addresses.every((address) => policy.isReachable(address))) return problem('address');
    return { addresses: addresses.slice(0, MAX_ADDRESSES), allowed: addresses.every(policy.isAllowed) };
  } catch (error) {
    if (!(error instanceof ResolveError)) throw error;
    return problem(error.code === 'not_found' ? 'not_found' : 'dns');
  }
}

/** Looks names up, judges all their addresses, and remembers the verdict for a few seconds. */
export function createCheckedHosts(
  resolver: Resolver,
  policy: AddressPolicy,
  freshMs: number = FRESH_MS,
): CheckedHosts {
  const known = new LRUCache<string, Entry>({ max: MAX_HOSTS });
  const running = new Map<string, Promise<Verdict>>();

  const lookUp = async (host: string, timeoutMs: number): Promise<Verdict> => {
    try {
      const verdict = await judgeHost(host, timeoutMs, resolver, policy);
      // Do not remember that the name servers failed, so that the next request queries them again.
      if (!('reason' in verdict && verdict.reason === 'dns')) {
        known.set(host, { verdict, freshUntil: performance.now() + freshMs });
      }
      return verdict;
    } finally {
      running.delete(host);
    }
  };
  return {
    recall(host) {
      const entry = known.get(host);
      return entry && entry.freshUntil > performance.now() ? entry.verdict : null;
    },
    resolve(host, timeoutMs) {
      const lookup = running.get(host) ?? lookUp(host, timeoutMs);
      running.set(host, lookup);
      return lookup;
    },
  };
}
