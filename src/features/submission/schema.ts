import { z } from 'zod';
import type { Config } from '../../config.ts';

type ListenSettings = Pick<
  Config,
  | 'CARILLON_DEV'
  | 'MAIL_TLS_CERT_FILE'
  | 'SUBMISSION_LISTEN_HOST'
  | 'SUBMISSION_PORTS'
  | 'SUBMISSION_TLS_CERT_FILE'
  | 'SUBMISSION_TLS_PORTS'
>;

const STARTTLS_PORTS = [587];
const TLS_PORTS = [465];
/** Programs cannot connect to these: to all addresses, or behind a proxy. */
const NO_NAMES: ReadonlySet<string> = new Set(['0.0.0.0', '::', '127.0.0.1', '::1', 'localhost']);

/**
 * The ports of the submission role.
 * @param tls whether it has a certificate
 */
export function submissionPorts(config: ListenSettings, tls: boolean) {
  return {
    ports: config.SUBMISSION_PORTS ?? STARTTLS_PORTS,
    tlsPorts: tls ? (config.SUBMISSION_TLS_PORTS ?? TLS_PORTS) : [],
  };
}

/** Where programs submit mail by SMTP. */
export const submissionAccess = z.object({
  host: z.string().nullable().meta({
    description:
      'What programs connect to; null: the settings do not say, and it is usually the host of the API.',
  }),
  ports: z.array(z.int()),
  tls_ports: z.array(z.int()).meta({ description: 'Ports with TLS from the first byte.' }),
  tls: z.boolean().meta({
    description:
      'Whether `ports` offer STARTTLS. Without it, programs on the same machine log in without TLS.',
  }),
});

export type SubmissionAccess = z.infer<typeof submissionAccess>;

/** What the settings of a process say about the submission role. @returns null: that it does not run */
export function submissionAccessOf(config: ListenSettings): SubmissionAccess | null {
  const { SUBMISSION_LISTEN_HOST: host, SUBMISSION_PORTS: given, SUBMISSION_TLS_PORTS: givenTls } = config;
  if (given === undefined && givenTls === undefined) return null;
  const tls = (config.SUBMISSION_TLS_CERT_FILE ?? config.MAIL_TLS_CERT_FILE) !== undefined;
  const { ports, tlsPorts } = submissionPorts(config, tls);
  if (ports.length + tlsPorts.length === 0) return null;
  const isNamed = config.CARILLON_DEV || !NO_NAMES.has(host);
  return { host: isNamed ? host : null, ports, tls_ports: tlsPorts, tls };
}
