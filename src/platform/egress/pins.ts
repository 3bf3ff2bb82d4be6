import { ResolveError, type Resolver } from '../dns/resolver.ts';
import type { AddressPolicy } from './addresses.ts';
import { problem, type EgressProblem, type RefusalReason } from './problem.ts';

const FRESH_MS = 5_000;
const MOST_PINS = 10_000;
const MOST_ADDRESSES = 4;

/** The addresses a host was resolved to and that were all found good. Connections go nowhere else. */
export interface Pin {
  addresses: string[];
  /** Whether EGRESS_ALLOW names all of them, so that plain HTTP may be spoken. */
  allowed: boolean;
}

type Verdict = Pin | EgressProblem<RefusalReason>;

interface Entry {
  verdict: Verdict;
  freshUntil: number;
}

export interface Pins {
  /** Without a wait where the host was resolved within the last 5 s. */
  recall(host: string): Verdict | null;
  resolve(host: string, timeoutMs: number): Promise<Verdict>;
}

async function judge(
  host: string,
  timeoutMs: number,
  resolver: Resolver,
  policy: AddressPolicy,
): Promise<Verdict> {
  try {
    const found = await resolver.resolveAddresses(host, { timeoutMs });
    const addresses = found.map((each) => each.address);
    if (!addresses.every((address) => policy.isReachable(address))) return problem('address');
    return { addresses: addresses.slice(0, MOST_ADDRESSES), allowed: addresses.every(policy.isAllowed) };
  } catch (error) {
    if (!(error instanceof ResolveError)) throw error;
    return problem(error.code === 'not_found' ? 'not_found' : 'dns');
  }
}

/** Look names up once, judge all their addresses, and remember the verdict for a few seconds. */
export function createPins(resolver: Resolver, policy: AddressPolicy, freshMs: number = FRESH_MS): Pins {
  const known = new Map<string, Entry>();
  const asked = new Map<string, Promise<Verdict>>();

  const ask = async (host: string, timeoutMs: number): Promise<Verdict> => {
    try {
      const verdict = await judge(host, timeoutMs, resolver, policy);
      if (known.size >= MOST_PINS) known.clear();
      // A name server that does not answer is asked again by the next request.
      if (!('reason' in verdict && verdict.reason === 'dns')) {
        known.set(host, { verdict, freshUntil: performance.now() + freshMs });
      }
      return verdict;
    } finally {
      asked.delete(host);
    }
  };
  return {
    recall(host) {
      const entry = known.get(host);
      return entry && entry.freshUntil > performance.now() ? entry.verdict : null;
    },
    resolve(host, timeoutMs) {
      const running = asked.get(host) ?? ask(host, timeoutMs);
      asked.set(host, running);
      return running;
    },
  };
}
