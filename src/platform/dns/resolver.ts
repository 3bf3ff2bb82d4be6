import dns from 'node:dns';
import { Resolver as DnsPromises } from 'node:dns/promises';
import net from 'node:net';

const TIMEOUT_MS = 5_000;
const ATTEMPT_TIMEOUT_MS = 2_000;
const ATTEMPTS = 2;

/** An address that a name resolves to. */
export interface ResolvedAddress {
  address: string;
  family: 4 | 6;
}

/**
 * A name could not be resolved. `not_found`: the name servers say that it has no address. `unavailable`: they did not
 * respond properly, so a later look-up may succeed.
 */
export class ResolveError extends Error {
  readonly code: 'not_found' | 'unavailable';
  /** The name servers say that there is no such name (NXDOMAIN), so it has no records of other types either. */
  readonly noSuchName: boolean;

  constructor(code: 'not_found' | 'unavailable', host: string, cause?: unknown) {
    super(code === 'not_found' ? `${host} has no address` : `${host} could not be looked up`, { cause });
    this.name = 'ResolveError';
    this.code = code;
    this.noSuchName = (cause as { code?: unknown } | undefined)?.code === dns.NOTFOUND;
  }
}

/** A mail exchange of a name. */
export interface MxRecord {
  /** The name as the name server wrote it. */
  exchange: string;
  priority: number;
}

/** Resolves names. Every look-up of Carillon goes through a resolver. */
export interface Resolver {
  /**
   * Returns all A and AAAA addresses, IPv4 first. Address literals are returned as they are.
   * @throws ResolveError
   */
  resolveAddresses(host: string, options?: { timeoutMs?: number }): Promise<ResolvedAddress[]>;
  /** Returns TXT records, the strings of each joined. Follows CNAME records. @throws ResolveError */
  resolveTxt(name: string): Promise<string[]>;
  /** Returns MX records. Follows CNAME records. @throws ResolveError */
  resolveMx(name: string, options?: { timeoutMs?: number }): Promise<MxRecord[]>;
  /** Returns the target of a CNAME record. @throws ResolveError */
  resolveCname(name: string, options?: { timeoutMs?: number }): Promise<string[]>;
  /** Has the signature of `dns.lookup`, for clients that accept one. */
  lookup: net.LookupFunction;
}

/** Names that are never sent to a name server (RFC 6761, section 6.3). */
const LOCALHOST = /^(.+\.)?localhost\.?$/i;
const localAddresses: ResolvedAddress[] = [
  { address: '127.0.0.1', family: 4 },
  { address: '::1', family: 6 },
];

const absent = new Set<string>([dns.NOTFOUND, dns.NODATA, dns.BADNAME]);

function isAbsent(error: unknown): boolean {
  return absent.has((error as { code?: string }).code ?? '');
}

/** Runs a look-up with its own client, so that its queries can be canceled at the deadline. */
export async function withDeadline<T>(
  host: string,
  timeoutMs: number,
  servers: readonly string[],
  ask: (client: DnsPromises) => Promise<T>,
): Promise<T> {
  const client = new DnsPromises({ timeout: ATTEMPT_TIMEOUT_MS, tries: ATTEMPTS });
  if (servers.length > 0) client.setServers(servers);
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => {
      reject(new ResolveError('unavailable', host));
      client.cancel();
    }, timeoutMs);
  });
  try {
    return await Promise.race([ask(client), late]);
  } finally {
    clearTimeout(timer);
  }
}

async function askServers(client: DnsPromises, host: string): Promise<ResolvedAddress[]> {
  const answers = await Promise.allSettled([client.resolve4(host), client.resolve6(host)]);
  const found = answers.flatMap((answer, index) => {
    if (answer.status === 'rejected') return [];
    return answer.value.map((address): ResolvedAddress => ({ address, family: index === 0 ? 4 : 6 }));
  });
  if (found.length > 0) return found;
  const reasons = answers.flatMap((answer) =>
    answer.status === 'rejected' ? [answer.reason as unknown] : [],
  );
  throw new ResolveError(reasons.every(isAbsent) ? 'not_found' : 'unavailable', host, reasons[0]);
}

/** Recursive name servers follow chains themselves, and give up sooner than this. */
const MAX_CNAMES = 8;

/** Queries records of a name. If it has only a CNAME record, queries those of the target. */
async function askFollowing<T>(
  client: DnsPromises,
  name: string,
  ask: (client: DnsPromises, name: string) => Promise<T[]>,
): Promise<T[]> {
  let at = name;
  for (let hops = 0; hops <= MAX_CNAMES; hops += 1) {
    const answer = await answerOf(name, ask(client, at));
    if (answer !== 'no data') return answer;
    const [target] = listOf(await answerOf(name, client.resolveCname(at)));
    if (target === undefined) throw new ResolveError('not_found', name);
    at = target;
  }
  throw new ResolveError('unavailable', name);
}

/** @throws ResolveError if there is no such name, or no answer */
async function answerOf<T>(name: string, asking: Promise<T[]>): Promise<T[] | 'no data'> {
  try {
    const found = await asking;
    // A server that does not follow a CNAME record returns an empty answer.
    return found.length > 0 ? found : 'no data';
  } catch (error) {
    if ((error as { code?: string }).code === dns.NODATA) return 'no data';
    throw new ResolveError(isAbsent(error) ? 'not_found' : 'unavailable', name, error);
  }
}

function listOf<T>(answer: T[] | 'no data'): T[] {
  return answer === 'no data' ? [] : answer;
}

function lookupWith(resolve: Resolver['resolveAddresses']): net.LookupFunction {
  return (host, options, callback) => {
    const family = Number(options.family ?? 0);
    resolve(host).then(
      (all) => {
        const wanted = all.filter((each) => family === 0 || each.family === family);
        const first = wanted[0];
        if (!first) callback(new ResolveError('not_found', host), '');
        else if (options.all) callback(null, wanted);
        else callback(null, first.address, first.family);
      },
      (error: NodeJS.ErrnoException) => callback(error, ''),
    );
  };
}

/**
 * @param servers addresses of name servers, optionally with ports (DNS_SERVERS). If empty, queries use the system's
 *   name servers, but not its hosts file, and `lookup` is the system's own.
 * @param options.recordTimeoutMs time limit for the records of one name
 * @throws TypeError (ERR_INVALID_IP_ADDRESS) if an entry is not an address
 */
export function createResolver(
  servers: readonly string[],
  { recordTimeoutMs = TIMEOUT_MS }: { recordTimeoutMs?: number } = {},
): Resolver {
  // Report a bad setting at the start, not at the first look-up.
  if (servers.length > 0) new DnsPromises().setServers(servers);
  const resolveAddresses: Resolver['resolveAddresses'] = async (host, options = {}) => {
    const family = net.isIP(host);
    if (family !== 0) return [{ address: host, family: family === 4 ? 4 : 6 }];
    if (LOCALHOST.test(host)) return localAddresses;
    return withDeadline(host, options.timeoutMs ?? TIMEOUT_MS, servers, (client) => askServers(client, host));
  };
  const records = <T>(
    name: string,
    ask: (client: DnsPromises, at: string) => Promise<T[]>,
    timeoutMs = recordTimeoutMs,
  ) => withDeadline(name, timeoutMs, servers, (client) => askFollowing(client, name, ask));
  return {
    resolveAddresses,
    resolveTxt: (name) =>
      records(name, async (client, at) => (await client.resolveTxt(at)).map((strings) => strings.join(''))),
    resolveMx: (name, options) => records(name, (client, at) => client.resolveMx(at), options?.timeoutMs),
    resolveCname: (name, options) =>
      withDeadline(name, options?.timeoutMs ?? recordTimeoutMs, servers, async (client) =>
        listOf(await answerOf(name, client.resolveCname(name))),
      ),
    lookup: servers.length > 0 ? lookupWith(resolveAddresses) : dns.lookup,
  };
}
