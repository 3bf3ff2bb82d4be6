import { LRUCache } from 'lru-cache';
import { getDomain } from 'tldts';
import type { Resolver } from '../../../platform/dns/resolver.ts';
import { lookUpAddresses, lookUpDomain, type DomainFinding, type HostAddresses } from './mail-hosts.ts';
import { FairGate } from '../../../platform/processes/fair-gate.ts';

/** Time limit for all look-ups of one domain. */
const DOMAIN_TIMEOUT_MS = 5_000;
/** Maximum number of domains being looked up at the same time, for all accounts together. */
const MAX_IN_FLIGHT = 100;
/** The same for one account, so that others always find free slots. */
const MAX_IN_FLIGHT_PER_ACCOUNT = 80;
/** After this many names without an answer, an operation asks for no others under the same registrable domain. */
const MAX_UNANSWERED_PER_ZONE = 5;
/** Maximum number of names under one registrable domain that one account looks up in an hour. */
const MAX_LOOKUPS_PER_ZONE = 1_000;
const MAX_DOMAINS = 50_000;
/** Maximum number of entries in each of the four other caches. */
const MAX_OTHERS = 20_000;
const FOUND_MS = 3_600_000;
/** Short, so that a new or repaired domain is found soon. */
const MISSING_MS = 300_000;
const OPERATION_MS = 3_600_000;
const HOUR_MS = 3_600_000;

export interface DomainQuestion {
  accountId: string;
  operationId: string;
}

/** Looks domains up for all accounts. */
export interface DomainLookups {
  find(domain: string, question: DomainQuestion): Promise<DomainFinding>;
  /** Returns the reachable addresses of a mail host; empty if there are none. */
  addressesOf(host: string, accountId: string): Promise<string[]>;
  forget(operationId: string): void;
}

export interface LookupDeps {
  resolver: Resolver;
  isReachable: (address: string) => boolean;
  /** In milliseconds. */
  now: () => number;
  domainTimeoutMs?: number;
}

/** One operation's look-ups under one registrable domain. */
interface Zone {
  unanswered: number;
  running: number;
  waiting: (() => void)[];
}

const TIMEOUT: DomainFinding = { kind: 'timeout' };

function createMemory(now: () => number) {
  const perf = { now };
  const settings = { max: MAX_OTHERS, perf, ttlResolution: 0 };
  return {
    /** Conclusive answers only. */
    domains: new LRUCache<string, DomainFinding>({ ...settings, max: MAX_DOMAINS }),
    hosts: new LRUCache<string, string[] | 'none'>(settings),
    /** Domains without an answer, and zones, per operation. */
    unanswered: new LRUCache<string, true>({ ...settings, ttl: OPERATION_MS }),
    zones: new LRUCache<string, Zone>({ ...settings, ttl: OPERATION_MS }),
    /** Number of look-ups per account, hour and registrable domain. */
    asked: new LRUCache<string, number>(settings),
    /** Look-ups that an operation has begun or that wait for their turn. */
    wanted: new Map<string, Promise<DomainFinding>>(),
    /** Running look-ups, shared by all accounts. */
    running: new Map<string, Promise<DomainFinding>>(),
    runningHosts: new Map<string, Promise<string[] | 'none' | 'timeout'>>(),
  };
}

type Memory = ReturnType<typeof createMemory>;

function ttlOf(finding: DomainFinding): number {
  return finding.kind === 'accepts_mail' || finding.kind === 'null_mx' ? FOUND_MS : MISSING_MS;
}

/** The registrable domain, such as `example.co.uk`. */
function zoneName(domain: string): string {
  return getDomain(domain) ?? domain;
}

function zoneOf(memory: Memory, operationId: string, domain: string): Zone {
  const key = `${operationId} ${zoneName(domain)}`;
  const zone = memory.zones.get(key) ?? { unanswered: 0, running: 0, waiting: [] };
  memory.zones.set(key, zone);
  return zone;
}

/** Counts a look-up. @returns whether the account has made too many under this registrable domain */
function isExcessive(memory: Memory, accountId: string, domain: string, now: number): boolean {
  const key = `${accountId} ${Math.floor(now / HOUR_MS)} ${zoneName(domain)}`;
  const asked = (memory.asked.get(key) ?? 0) + 1;
  memory.asked.set(key, asked);
  return asked > MAX_LOOKUPS_PER_ZONE;
}

/** The promise's result, or `timeout` if it takes longer than that. */
async function within<T>(promise: Promise<T>, timeoutMs: number): Promise<T | 'timeout'> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<'timeout'>((resolve) => (timer = setTimeout(() => resolve('timeout'), timeoutMs)));
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}

function isSilent(zone: Zone): boolean {
  return zone.unanswered >= MAX_UNANSWERED_PER_ZONE;
}

/** Waits for a free place in the zone. The limit holds even if none of the running look-ups is answered. */
async function enter(zone: Zone): Promise<void> {
  while (!isSilent(zone) && zone.running >= MAX_UNANSWERED_PER_ZONE - zone.unanswered) {
    await new Promise<void>((resolve) => zone.waiting.push(resolve));
  }
  zone.running += 1;
}

function leave(zone: Zone): void {
  zone.running -= 1;
  zone.waiting.shift()?.();
}

/** Looks up mail hosts. A look-up serves all domains that wait for the host, each for as long as it has time left. */
function createHostLookups(
  memory: Memory,
  { resolver, isReachable }: LookupDeps,
  timeoutMs: number,
): HostAddresses {
  const lookUp = async (host: string) => {
    const found = await lookUpAddresses(resolver, isReachable, host, timeoutMs);
    if (found !== 'timeout') memory.hosts.set(host, found, { ttl: found === 'none' ? MISSING_MS : FOUND_MS });
    return found;
  };
  return async (host, leftMs) => {
    const known = memory.hosts.get(host);
    if (known !== undefined) return known;
    const running =
      memory.runningHosts.get(host) ?? lookUp(host).finally(() => memory.runningHosts.delete(host));
    memory.runningHosts.set(host, running);
    return within(running, leftMs);
  };
}

/** Looks up domains. A running look-up serves all accounts. */
function createSharedLookups(
  memory: Memory,
  { resolver, now }: LookupDeps,
  addressesOf: HostAddresses,
  timeoutMs: number,
): (domain: string) => Promise<DomainFinding> {
  const lookUp = async (domain: string): Promise<DomainFinding> => {
    const finding = await lookUpDomain(domain, { resolver, addressesOf, timeoutMs, now });
    if (finding.kind !== 'timeout') memory.domains.set(domain, finding, { ttl: ttlOf(finding) });
    return finding;
  };
  return (domain) => {
    // Another account's look-up may have found it while this one waited for its turn.
    const known = memory.domains.get(domain);
    if (known) return Promise.resolve(known);
    const running = memory.running.get(domain) ?? lookUp(domain).finally(() => memory.running.delete(domain));
    memory.running.set(domain, running);
    return running;
  };
}

/** Creates the look-ups of a process. An inconclusive answer is remembered for its operation only. */
export function createDomainLookups(deps: LookupDeps): DomainLookups {
  const { now, domainTimeoutMs = DOMAIN_TIMEOUT_MS } = deps;
  const memory = createMemory(now);
  const gate = new FairGate<string>({ slots: MAX_IN_FLIGHT, perKey: MAX_IN_FLIGHT_PER_ACCOUNT });
  const addressesOf = createHostLookups(memory, deps, domainTimeoutMs);
  const share = createSharedLookups(memory, deps, addressesOf, domainTimeoutMs);

  const ask = async (domain: string, question: DomainQuestion): Promise<DomainFinding> => {
    const zone = zoneOf(memory, question.operationId, domain);
    await enter(zone);
    try {
      if (isSilent(zone)) return TIMEOUT;
      if (isExcessive(memory, question.accountId, domain, now())) return TIMEOUT;
      const finding = await gate.run(question.accountId, () => share(domain));
      if (finding.kind === 'timeout') {
        zone.unanswered += 1;
        memory.unanswered.set(`${question.operationId} ${domain}`, true);
      }
      return finding;
    } finally {
      leave(zone);
    }
  };
  return {
    find(domain, question) {
      const known = memory.domains.get(domain);
      if (known) return Promise.resolve(known);
      const key = `${question.operationId} ${domain}`;
      if (memory.unanswered.has(key)) return Promise.resolve(TIMEOUT);
      const wanted = memory.wanted.get(key) ?? ask(domain, question).finally(() => memory.wanted.delete(key));
      memory.wanted.set(key, wanted);
      return wanted;
    },
    async addressesOf(host, accountId) {
      const found = await gate.run(accountId, () => addressesOf(host, domainTimeoutMs));
      return Array.isArray(found) ? found : [];
    },
    forget(operationId) {
      const prefix = `${operationId} `;
      for (const part of [memory.unanswered, memory.zones]) {
        for (const key of [...part.keys()]) if (key.startsWith(prefix)) part.delete(key);
      }
    },
  };
}
