import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';
import { z } from 'zod';
import { issueMessage } from './errors.ts';

const port = z.coerce.number().int().min(0).max(65535);
const flag = z
  .enum(['true', 'false', '1', '0', ''])
  .default('false')
  .transform((value) => value === 'true' || value === '1');
const list = z
  .string()
  .default('')
  .transform((value) =>
    value
      .split(',')
      .map((part) => part.trim())
      .filter((part) => part !== ''),
  );
/** CIDR ranges or single addresses. */
const networks = list.pipe(
  z.array(
    z
      .string()
      .refine(
        (text) => isIP(text) !== 0 || (isIP(text.split('/')[0] ?? '') !== 0 && ipaddr.isValidCIDR(text)),
        {
          error: ({ input }) => `${String(input)} is not an address range such as 10.1.0.0/16`,
        },
      ),
  ),
);
/** Ports, separated by commas; `none` for none of them. */
const ports = z
  .string()
  .transform((text) => (text.trim() === 'none' ? [] : text.split(',').map((part) => part.trim())))
  .pipe(z.array(z.coerce.number<string>().int().min(0).max(65535)).max(10))
  .optional();
const rate = (fallback: number) => z.coerce.number().positive().max(1).default(fallback);
const count = (fallback: number) => z.coerce.number().int().min(0).default(fallback);

const MAX_WEBHOOK_SECRETS = 5;
/** Currencies with hundredths only: amounts are cents here and at payment services. */
const currency = z
  .string()
  .trim()
  .toUpperCase()
  .refine((code) => Intl.supportedValuesOf('currency').includes(code), 'is not the code of a currency')
  .refine((code) => decimalsOf(code) === 2, 'must be a currency with hundredths');

/** A URL to which paths are appended. A slash at its end would be there twice. */
const baseUrl = z.url({ protocol: /^https?$/ }).transform((text) => text.replace(/\/+$/, ''));

function isOrigin(text: string): boolean {
  const { username, password, pathname, search, hash } = new URL(text);
  return username + password + search + hash === '' && pathname === '/';
}

function decimalsOf(code: string): number | undefined {
  if (!/^[A-Z]{3}$/.test(code)) return undefined;
  return new Intl.NumberFormat('en', { style: 'currency', currency: code }).resolvedOptions()
    .maximumFractionDigits;
}

const MAX_DAILY_VOLUME = 1_000_000_000;
const MAX_WARM_UP_DAYS = 100;

/** Files that Gmail refuses by their extensions, as of 2026: https://support.google.com/mail/answer/6590 */
const BLOCKED_EXTENSIONS =
  'ade adp apk appx appxbundle bat cab chm cmd com cpl diagcab diagcfg diagpkg dll dmg ex ex_ exe hta img ins iso isp ' +
  'jar jnlp js jse lib lnk mde mjs msc msi msix msixbundle msp mst nsh pif ps1 scr sct shb sys vb vbe vbs vhd vxd wsc ' +
  'wsf wsh xll';
/** File extensions without their dots, separated by spaces or commas; `none` for an empty set. */
const extensions = z
  .string()
  .toLowerCase()
  .transform((text) => (text.trim() === 'none' ? [] : text.split(/[\s,]+/).filter((part) => part !== '')))
  .pipe(
    z.array(z.string().regex(/^[a-z0-9_]{1,20}$/, 'must be extensions without their dots, such as exe bat')),
  )
  .transform((list): ReadonlySet<string> => new Set(list));

const secret = z.string().trim().min(32, 'must be at least 32 characters');
/** Each token that arrives from outside is checked with the key of every secret. */
const MAX_PREVIOUS_SECRETS = 20;
const mailboxToken = z.string().min(16, 'must be at least 16 characters');

/**
 * The driver takes these three modes of TLS for `verify-full`, and warns that its next major version will not. Writing
 * `verify-full` keeps the meaning, and the warning out of every command's output.
 */
const databaseUrl = z
  .string()
  .transform((text) =>
    /[?&]uselibpqcompat=true/.test(text)
      ? text
      : text.replace(/([?&]sslmode=)(?:prefer|require|verify-ca)(?=&|$)/, '$1verify-full'),
  );

/** No mail server accepts mail for or from this domain. */
export const DEFAULT_MAIL_DOMAIN = 'carillon.localhost';

/** Every setting of Carillon. Settings come only from environment variables, and only this file reads `process.env`. */
const settings = z.object({
  NODE_ENV: z.string().default('production'),
  LOG_LEVEL: z.enum(['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent']).default('info'),
  /** `auto`: readable lines if standard output is a terminal, JSON otherwise. Child processes inherit the terminal. */
  LOG_FORMAT: z.enum(['auto', 'pretty', 'json']).default('auto'),
  CARILLON_DEV: flag,
  /** Folder of embedded data, blobs and `dev.json`. */
  CARILLON_HOME: z.string().default('.carillon'),
  /** Folder of downloaded or built tools, shared by all runs and by the tests. */
  CARILLON_CACHE: z.string().optional(),
  /** Parent folder of the cache if CARILLON_CACHE is not set; `~/.cache` by default. */
  XDG_CACHE_HOME: z.string().optional(),
  HOST: z.string().default('127.0.0.1'),
  PORT: port.default(3000),
  /**
   * Address of `/metrics` of the API; the worker, sender, mail and submission roles have the four ports after it. Without
   * OPS_PORT the API's is 9464; if that is taken, the process runs without metrics.
   */
  OPS_HOST: z.string().default('127.0.0.1'),
  OPS_PORT: port.optional(),
  /**
   * Maximum number of connections of one API process, and of one client address. The second does not apply to
   * TRUSTED_PROXIES.
   */
  MAX_CONNECTIONS: z.coerce.number().int().min(1).default(4_000),
  MAX_CONNECTIONS_PER_ADDRESS: z.coerce.number().int().min(1).default(1_000),
  /** Proxies in front of the API whose X-Forwarded-For is trusted. */
  TRUSTED_PROXIES: networks,
  /** Without a path: links and cookies belong to the whole host. Read as an origin, which has no slash at its end. */
  PUBLIC_URL: z
    .url({ protocol: /^https?$/ })
    .refine((text) => isOrigin(text), 'must have no path, query or user, such as https://mail.example.com')
    .transform((text) => new URL(text).origin)
    .optional(),
  DATABASE_URL: databaseUrl.optional(),
  /** Bypasses a transaction pooler, for connections that keep a session or have settings of their own. */
  DATABASE_DIRECT_URL: databaseUrl.optional(),
  DATABASE_POOL: z.coerce.number().int().min(2).max(200).optional(),
  POSTGRES_PORT: port.default(54329),
  TEMPORAL_ADDRESS: z.string().optional(),
  TEMPORAL_NAMESPACE: z.string().default('default'),
  TEMPORAL_API_KEY: z.string().optional(),
  TEMPORAL_TLS: flag,
  TEMPORAL_TLS_CERT_FILE: z.string().optional(),
  TEMPORAL_TLS_KEY_FILE: z.string().optional(),
  TEMPORAL_TLS_CA_FILE: z.string().optional(),
  /** The address of Temporal's Web UI, shown to users with `admin`. */
  TEMPORAL_UI_PUBLIC_URL: baseUrl.optional(),
  TEMPORAL_PORT: port.default(7233),
  TEMPORAL_UI_PORT: port.default(8233),
  MAILBOX_PORT: port.default(8025),
  /** The password of the mailbox page; `--dev` generates and stores one. */
  MAILBOX_TOKEN: mailboxToken.optional(),
  /** How much the `capture:` providers keep, beside at most 10,000 messages. */
  CAPTURED_MB: z.coerce.number().int().min(1).max(1_000_000).default(500),
  /** Where the mail role listens. Port 25 of MAIL_DOMAIN's MX must be forwarded to it. */
  MAIL_LISTEN_HOST: z.string().default('127.0.0.1'),
  MAIL_PORT: port.default(2525),
  /** PEM of a certificate for MAIL_DOMAIN and of its key; with both, the mail role offers STARTTLS. */
  MAIL_TLS_CERT_FILE: z.string().optional(),
  MAIL_TLS_KEY_FILE: z.string().optional(),
  /** ClamAV's clamd, which scans mail to inboxes: `tcp://host:3310` or `unix:///path`. */
  CLAMD_URL: z
    .url({ protocol: /^(tcp|unix)$/ })
    .refine((text) => {
      const { protocol, hostname, pathname } = new URL(text);
      return protocol === 'tcp:' ? hostname !== '' : hostname === '' && pathname.length > 1;
    }, 'must be like tcp://host:3310 or unix:///run/clamav/clamd.ctl')
    .optional(),
  /** Rspamd's normal worker, which says whether mail to inboxes is spam: `http://host:11333`. */
  RSPAMD_URL: z.url({ protocol: /^https?$/ }).optional(),
  /** Proxies in front of the mail role, which announce the client with the PROXY protocol (version 1). */
  MAIL_TRUSTED_PROXIES: networks,
  /**
   * Where the submission role takes mail from programs: ports with STARTTLS, and with TLS from the first byte. 587 and 465
   * by default; with --dev 2587, and no port with TLS.
   */
  SUBMISSION_LISTEN_HOST: z.string().default('127.0.0.1'),
  SUBMISSION_PORTS: ports,
  SUBMISSION_TLS_PORTS: ports,
  /** PEM of a certificate for the name that programs connect to, and of its key; those of MAIL_TLS_* by default. */
  SUBMISSION_TLS_CERT_FILE: z.string().optional(),
  SUBMISSION_TLS_KEY_FILE: z.string().optional(),
  /** Proxies in front of the submission role, which announce the client with the PROXY protocol (version 1). */
  SUBMISSION_TRUSTED_PROXIES: networks,
  /** Maximum number of connections of one process, and of one IPv4 address or one IPv6 /48. */
  SUBMISSION_CONNECTIONS: z.coerce.number().int().min(1).max(10_000).default(500),
  SUBMISSION_CONNECTIONS_PER_NETWORK: z.coerce.number().int().min(1).max(10_000).default(50),
  /** Maximum size of a mail that a program submits. */
  SUBMISSION_MAX_MB: z.coerce.number().int().min(1).max(25).default(25),
  /** Maximum number of mails a minute from a sender of a network to one inbox, and from the network to all; 0: no limit. */
  INBOX_SENDER_PER_MINUTE: count(60),
  INBOX_NETWORK_PER_MINUTE: count(600),
  EMAIL_PROVIDER_URL: z.string().optional(),
  SMS_PROVIDER_URL: z.string().optional(),
  MAIL_DOMAIN: z.string().default(DEFAULT_MAIL_DOMAIN),
  /** The host that receives mail for MAIL_DOMAIN and for the return paths of domains; MAIL_DOMAIN by default. */
  MAIL_HOST: z.string().optional(),
  SYSTEM_FROM: z.string().optional(),
  APP_SECRET: secret
    .refine((text) => !text.includes(','), 'must not contain a comma, which separates previous secrets')
    .optional(),
  /** Secrets that are still accepted, the latest first. */
  APP_SECRET_PREVIOUS: list.pipe(z.array(secret).max(MAX_PREVIOUS_SECRETS)),
  DNS_SERVERS: list,
  /**
   * The name of the worker's host in EHLO. If it is set, validations ask mail servers on port 25 whether mailboxes
   * exist.
   */
  VALIDATION_PROBE_NAME: z
    .string()
    .regex(/^[a-z0-9-]{1,63}(\.[a-z0-9-]{1,63})+$/i, 'must be a host name such as probe.example.com')
    .optional(),
  /** Maximum number of recipients per minute that one worker asks each operator of mail servers about. */
  VALIDATION_PROBES_PER_MINUTE: z.coerce.number().positive().max(6_000).default(30),
  /**
   * Private ranges whose mail servers count as mail servers, and may be queried. EGRESS_ALLOW is not for these:
   * validations would show tenants which internal mail servers there are.
   */
  VALIDATION_PROBE_ALLOW: networks,
  /** A service that validates addresses, for accounts for which it is enabled: `kickbox://KEY@api.kickbox.com`. */
  OUTSIDE_VALIDATOR_URL: z
    .url({ protocol: /^kickbox$/ })
    .refine((text) => {
      const { username, host } = new URL(text);
      return username !== '' && host !== '';
    }, 'must be like kickbox://KEY@api.kickbox.com')
    .optional(),
  EGRESS_ALLOW: networks,
  /** Private ranges whose websites may be scraped. EGRESS_ALLOW is not for these: tenants see what a page says. */
  SCRAPE_ALLOW: networks,
  /** Seconds between the attempts of a webhook delivery, separated by commas. */
  WEBHOOK_RETRY_SCHEDULE: z
    .string()
    .default('60,300,1800,7200,28800,86400')
    .transform((value) => value.split(',').map(Number))
    .pipe(z.array(z.number().positive()).min(1)),
  /** Requests per second for one API key, over all API processes; the burst is twice this. 0 means no limit. */
  RATE_LIMIT_PER_KEY: count(100),
  /** Treat `ada+news@example.com` and `ada@example.com` as one recipient in suppressions and opt-outs. */
  SUPPRESS_PLUS_ADDRESSES: flag,
  /** What POST /events does for an address that belongs to no contact: create the contact, or refuse the event. */
  UNKNOWN_EVENT_CONTACTS: z.enum(['create', 'refuse']).default('create'),
  SANDBOX_MONTHLY_CAP: count(100),
  HELD_MESSAGES_MAX: count(1_000_000),
  HELD_MESSAGES_MB: count(10_000),
  ALLOWANCE_FREE: count(1_000),
  ALLOWANCE_PAID: count(50_000),
  ALLOWANCE_TRUSTED: count(1_000_000),
  /** Number of free emails in a calendar month (UTC), by tier; an account may have its own. */
  MONTHLY_EMAILS_FREE: count(10_000),
  MONTHLY_EMAILS_PAID: count(100_000),
  MONTHLY_EMAILS_TRUSTED: count(1_000_000),
  /** ISO 4217. Prices, wallets and payments are in its hundredths. */
  CURRENCY: currency.default('USD'),
  /** If it is set, wallets can be topped up by payments through Stripe. */
  STRIPE_SECRET_KEY: z.string().trim().min(1).optional(),
  /** Signing secrets of the endpoint `/payments/stripe`; two while one is being replaced. */
  STRIPE_WEBHOOK_SECRET: list.pipe(z.array(z.string()).max(MAX_WEBHOOK_SECRETS)),
  STRIPE_API_URL: baseUrl.default('https://api.stripe.com'),
  /** Who runs the command, for the log of operators' changes; by default the user of the operating system. */
  CARILLON_OPERATOR: z.string().trim().max(200).optional(),
  /** Tiers whose accounts need an operator's approval for each campaign. */
  APPROVAL_TIERS: list.pipe(z.array(z.enum(['free', 'paid', 'trusted']))),
  /** Maximum number of emails of a sending domain on each day of its warm-up. */
  WARM_UP_SCHEDULE: z
    .string()
    .default('50,100,200,400,800,1500,3000,6000,12000,25000,50000,100000')
    .transform((value) => value.split(',').map(Number))
    .pipe(z.array(z.int().positive().max(MAX_DAILY_VOLUME)).min(1).max(MAX_WARM_UP_DAYS)),
  /** Maximum number of emails of a sending domain per minute; 0 means no limit. A domain may have its own. */
  PACING_PER_MINUTE: count(0),
  /**
   * A campaign stops itself when bounces or complaints reach these shares of its emails, if there are at least the
   * given numbers of emails and of bounces or complaints.
   */
  CAMPAIGN_MAX_BOUNCE_RATE: rate(0.05),
  CAMPAIGN_MIN_BOUNCES: count(10),
  CAMPAIGN_MAX_COMPLAINT_RATE: rate(0.003),
  CAMPAIGN_MIN_COMPLAINTS: count(5),
  CAMPAIGN_MIN_COUNTED: count(100),
  /** SMTP or HTTP connections of one sender process to its email provider. */
  SENDER_CONNECTIONS: z.coerce.number().int().min(1).max(200).default(16),
  /** What files of messages take at most in the memory of one sender process; each provider may always have one message. */
  SENDER_FILES_MB: z.coerce.number().int().min(8).max(10_000).default(96),
  SHUTDOWN_GRACE_SECONDS: count(30),
  /**
   * How long a sender that stops waits for replies to messages that its providers may have. An SMTP server has ten
   * minutes for such a reply.
   */
  SENDER_GRACE_SECONDS: z.coerce.number().int().min(0).max(86_400).default(620),
  MESSAGE_CONTENT_RETENTION_DAYS: count(30),
  MESSAGE_RETENTION_DAYS: count(400),
  FLOW_RUN_RETENTION_DAYS: count(400),
  /** How long mail to inboxes is kept as it arrived. What was read from it stays. */
  INBOX_RAW_RETENTION_DAYS: count(90),
  /** Maximum size of the files of a message together; provider limits are about 25 MB with what base64 adds. */
  ATTACHMENTS_MB: z.coerce.number().int().min(1).max(25).default(20),
  /** Maximum size of the files that one account has uploaded for messages, for 72 hours each. */
  ATTACHMENT_QUOTA_MB: count(2_000),
  /** Files that messages cannot have: by name, by content, and in zip files. `none`: all are accepted. */
  ATTACHMENT_BLOCKED_EXTENSIONS: extensions.prefault(BLOCKED_EXTENSIONS),
  /** Maximum size of all uploads of one account. */
  UPLOAD_QUOTA_MB: count(500),
  /** Maximum size of the files of all exports of one account. */
  EXPORT_QUOTA_MB: count(10_000),
  /** Maximum size of the mail in all inboxes of one account, as it arrived, and of its attachments. */
  INBOX_QUOTA_MB: count(5_000),
  /** Maximum size of the files of all unfinished imports of one account. */
  IMPORT_QUOTA_MB: count(5_000),
  /**
   * An endpoint like OpenAI's, up to and without `/chat/completions`, and the name of its model. If both are set, a
   * scrape also finds the tone of a brand.
   */
  AI_URL: baseUrl.optional(),
  AI_KEY: z.string().optional(),
  AI_MODEL: z.string().optional(),
  /** Set by npm. A start by npm ends when npm ends. */
  npm_lifecycle_event: z.string().optional(),
});

export type Config = z.infer<typeof settings>;

/** The names of all settings. */
export const settingNames = Object.keys(settings.shape);

/** A bad or missing setting. `message` says what to change; it may have several lines. */
export class ConfigError extends Error {}

/** 2525 is a usual port for both mail that arrives and mail that programs submit. */
function twiceUsedPorts(config: Config): string[] {
  const { MAIL_PORT, MAIL_LISTEN_HOST, SUBMISSION_LISTEN_HOST } = config;
  if (MAIL_PORT === 0 || MAIL_LISTEN_HOST !== SUBMISSION_LISTEN_HOST) return [];
  const settingsOfPorts = ['SUBMISSION_PORTS', 'SUBMISSION_TLS_PORTS'] as const;
  return settingsOfPorts
    .filter((name) => config[name]?.includes(MAIL_PORT))
    .map((name) => `${name}: ${MAIL_PORT} is MAIL_PORT, too`);
}

/**
 * Reads the settings.
 * @param env by default the environment of this process
 * @throws ConfigError listing every bad setting, one per line
 */
export function loadConfig(env: Record<string, string | undefined> = process.env): Config {
  const given = Object.fromEntries(
    Object.entries(env).filter(([, value]) => value !== undefined && value !== ''),
  );
  const parsed = settings.safeParse(given, { error: issueMessage });
  const lines = parsed.success
    ? twiceUsedPorts(parsed.data)
    : parsed.error.issues.map((issue) => `${issue.path.join('.')}: ${issue.message}`);
  if (parsed.success && lines.length === 0) return parsed.data;
  throw new ConfigError(`bad settings:\n${lines.map((line) => `  ${line}`).join('\n')}`);
}

/**
 * Requires settings that have no default. `--dev` generates them.
 * @throws ConfigError naming the missing ones
 */
export function requireSettings<K extends keyof Config>(
  config: Config,
  ...names: K[]
): { [P in K]-?: NonNullable<Config[P]> } {
  const missing = names.filter((name) => config[name] === undefined || config[name] === '');
  if (missing.length > 0) throw new ConfigError(`missing settings: ${missing.join(', ')}`);
  return config as unknown as { [P in K]-?: NonNullable<Config[P]> };
}

/** Returns the environment of a child process: this process's own, with some settings changed. */
export function childEnvironment(
  changes: Partial<Record<keyof Config, string>>,
): Record<string, string | undefined> {
  return { ...process.env, ...changes };
}

/** The address that opens the mailbox of `--dev` in a browser on this machine. */
export const mailboxUrl = (port: number, token: string): string =>
  `http://127.0.0.1:${port}/?${new URLSearchParams({ token }).toString()}`;
