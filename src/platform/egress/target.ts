import net from 'node:net';
import { problem, type EgressProblem, type RefusalReason } from './problem.ts';

/** The parts of a URL that passed all checks that need no look-up. */
export interface Target {
  /** Such as `https://example.com:8443`. */
  origin: string;
  protocol: 'https:' | 'http:';
  /** Without brackets. */
  host: string;
  /** For SNI and the check of the certificate; null if `host` is an address. */
  serverName: string | null;
  /** Including the query. */
  path: string;
  /** Whether the port is one of the web's, 80 or 443. */
  hasWebPort: boolean;
}

const HTTP_PORT = 80;
const HTTPS_PORT = 443;
const FIRST_UNPRIVILEGED_PORT = 1024;

/**
 * Blocked ports from 1024 on, where a forged request could harm a well-known service: ports that browsers block
 * (https://fetch.spec.whatwg.org/#port-blocking), databases, queues and control planes. Below 1024 only the ports of
 * HTTP and HTTPS are open.
 */
const servicePorts = new Set([
  1433, 1434, 1521, 1719, 1720, 1723, 1883, 2049, 2181, 2375, 2376, 2379, 2380, 3128, 3306, 3389, 3659, 4045,
  4190, 4222, 5060, 5061, 5432, 5433, 5672, 5900, 5984, 5985, 5986, 6000, 6379, 6380, 6443, 6566, 6665, 6666,
  6667, 6668, 6669, 6679, 6697, 7000, 7001, 7233, 8500, 8600, 9042, 9092, 9100, 9160, 9200, 9300, 10080,
  10250, 10255, 11211, 15672, 26257, 27017, 27018, 28015, 50000, 50070,
]);

function isPortBlocked(port: number): boolean {
  if (port < FIRST_UNPRIVILEGED_PORT) return port !== HTTP_PORT && port !== HTTPS_PORT;
  return servicePorts.has(port);
}

function portOf(url: URL): number {
  if (url.port !== '') return Number(url.port);
  return url.protocol === 'https:' ? HTTPS_PORT : HTTP_PORT;
}

/**
 * Parses and checks an absolute URL. The WHATWG parser normalizes every notation of an IPv4 address (`2130706433`,
 * `0x7f.1`).
 */
export function readTarget(text: string): Target | EgressProblem<RefusalReason> {
  const url = URL.parse(text);
  if (!url || url.hostname === '') return problem('invalid_url');
  if (url.protocol !== 'https:' && url.protocol !== 'http:') return problem('scheme');
  if (url.username !== '' || url.password !== '') return problem('credentials');
  const port = portOf(url);
  if (isPortBlocked(port)) return problem('port');
  const host = url.hostname.startsWith('[') ? url.hostname.slice(1, -1) : url.hostname;
  return {
    origin: url.origin,
    protocol: url.protocol,
    host,
    serverName: net.isIP(host) === 0 ? host.replace(/\.$/, '') : null,
    path: `${url.pathname}${url.search}`,
    hasWebPort: port === HTTP_PORT || port === HTTPS_PORT,
  };
}
