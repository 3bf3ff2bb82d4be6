/** What a person can correct when PostgreSQL cannot be reached, in one sentence. */
interface Kind {
  matches(code: string, message: string, url: string): boolean;
  /** Completes "the database …". */
  problem(message: string, code: string): string;
}

/** The files that the URL names for TLS. */
function namedFiles(url: string): string[] {
  const query = URL.parse(url)?.searchParams;
  return ['sslrootcert', 'sslcert', 'sslkey'].flatMap((name) => query?.get(name) || []);
}

/** Whether an error of the system is about the database's address, and not about another server's. */
function isOfDatabase(error: object, url: string): boolean {
  const { port, hostname } = error as { port?: number; hostname?: string };
  const database = URL.parse(url);
  if (!database) return true;
  return (
    (port === undefined || String(port) === (database.port || '5432')) &&
    (hostname === undefined || hostname === database.hostname)
  );
}

const UNTRUSTED = /^(?:CERT_|DEPTH_ZERO_|SELF_SIGNED_|UNABLE_TO_|ERR_TLS_CERT)/;

/** The codes that begin with a digit are PostgreSQL's (its manual, appendix A); the others are those of the system and of TLS. */
const kinds: readonly Kind[] = [
  {
    matches: (code) => code.startsWith('28'),
    problem: (message) => `refuses the login (${message}): correct the user and password in DATABASE_URL`,
  },
  {
    matches: (_code, message) => /client password must be/.test(message),
    problem: () => 'asks for a password, and DATABASE_URL has none',
  },
  {
    matches: (code, message) =>
      code.startsWith('3D') ||
      (code === '42501' && /^permission denied for (?:database|schema)\b/.test(message)),
    problem: (message) =>
      `cannot be used (${message}): create it or grant access to it, or correct DATABASE_URL`,
  },
  {
    matches: (_code, message) => /does not support SSL/.test(message),
    problem: () =>
      'offers no TLS, which sslmode in DATABASE_URL asks for: turn on TLS in PostgreSQL, or remove sslmode',
  },
  {
    matches: (code) => UNTRUSTED.test(code),
    problem: (_message, code) =>
      `has a certificate that is not trusted (${code}): name its authority in DATABASE_URL by sslrootcert=/path/to/ca.pem, and its host as in the certificate`,
  },
  {
    matches: (code) => code === 'ERR_INVALID_URL',
    problem: () =>
      'has no valid address: DATABASE_URL must be like postgres://user:password@host:5432/carillon, with special characters percent-encoded',
  },
  {
    // pg reads the files of sslrootcert, sslcert and sslkey before it connects.
    matches: (code, message, url) =>
      code === 'ENOENT' && namedFiles(url).some((path) => message.includes(path)),
    problem: (message) => `needs a file that DATABASE_URL names (${message})`,
  },
];

/** The system's codes of an address that does not answer; 08: PostgreSQL's class of connection errors. */
const UNREACHABLE = /^(ECONN|ENOTFOUND|EAI_|ETIMEDOUT|EHOST|ENETUNREACH|EPIPE|08)/;

/**
 * Explains why a connection to PostgreSQL failed, if settings or a server that is down are the reason.
 * @param error of a connection or of the first statement on it
 * @param url of the database
 * @returns a sentence without the password; null for any other error
 */
export function connectionProblem(error: unknown, url: string): string | null {
  if (typeof error !== 'object' || error === null) return null;
  const { code: given, message = '' } = error as { code?: unknown; message?: string };
  const code = typeof given === 'string' ? given : '';
  const host = URL.parse(url)?.host;
  const database = host ? `the database at ${host}` : 'the database';
  const kind = kinds.find((each) => each.matches(code, message, url));
  if (kind) return `${database} ${kind.problem(message, code)}`;
  if (!isOfDatabase(error, url)) return null;
  if (UNREACHABLE.test(code) || /timeout (expired|exceeded)/.test(message))
    return `${database} is unavailable (${code || message}): start it, or correct DATABASE_URL`;
  return null;
}
