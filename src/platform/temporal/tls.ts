import { createPrivateKey, X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { ConfigError, type Config } from '../../config.ts';

/** Settings for TLS to the engine; any of them except the address turns TLS on. */
export type TlsSettings = Pick<
  Config,
  | 'TEMPORAL_ADDRESS'
  | 'TEMPORAL_API_KEY'
  | 'TEMPORAL_TLS'
  | 'TEMPORAL_TLS_CERT_FILE'
  | 'TEMPORAL_TLS_KEY_FILE'
  | 'TEMPORAL_TLS_CA_FILE'
>;

/** Certificates and keys, all in PEM. */
export interface EngineTls {
  /** The authorities that may sign the engine's certificate; by default the public ones. */
  ca?: Buffer;
  /** Carillon's own certificate, for engines that ask for one (mTLS). */
  client?: { certificate: Buffer; key: Buffer };
}

type FileSetting = 'TEMPORAL_TLS_CERT_FILE' | 'TEMPORAL_TLS_KEY_FILE' | 'TEMPORAL_TLS_CA_FILE';

const switches = [
  'TEMPORAL_API_KEY',
  'TEMPORAL_TLS',
  'TEMPORAL_TLS_CERT_FILE',
  'TEMPORAL_TLS_KEY_FILE',
  'TEMPORAL_TLS_CA_FILE',
] as const;

/** @throws ConfigError if the file cannot be read, or `parse` throws */
function readPem(config: TlsSettings, setting: FileSetting, parse: (pem: Buffer) => unknown): Buffer | null {
  const path = config[setting];
  if (!path) return null;
  let pem: Buffer;
  try {
    pem = readFileSync(path);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new ConfigError(`${setting}: ${path} cannot be read (${code}): set it to a PEM file`);
  }
  try {
    parse(pem);
    return pem;
  } catch {
    const wanted = setting === 'TEMPORAL_TLS_KEY_FILE' ? 'private key without a password' : 'certificate';
    throw new ConfigError(`${setting}: ${path} contains no ${wanted} in PEM`);
  }
}

function parseCertificate(pem: Buffer): X509Certificate {
  // The class also accepts DER, which the engine's libraries do not.
  if (!pem.includes('-----BEGIN CERTIFICATE-----')) throw new Error('not in PEM');
  return new X509Certificate(pem);
}

function readClient(config: TlsSettings): EngineTls['client'] {
  const certificate = readPem(config, 'TEMPORAL_TLS_CERT_FILE', parseCertificate);
  const key = readPem(config, 'TEMPORAL_TLS_KEY_FILE', createPrivateKey);
  if (!certificate && !key) return undefined;
  if (!certificate || !key) {
    throw new ConfigError(
      'TEMPORAL_TLS_CERT_FILE and TEMPORAL_TLS_KEY_FILE belong together: set both or neither',
    );
  }
  if (!parseCertificate(certificate).checkPrivateKey(createPrivateKey(key))) {
    throw new ConfigError(
      'the key in TEMPORAL_TLS_KEY_FILE does not belong to the certificate in TEMPORAL_TLS_CERT_FILE',
    );
  }
  return { certificate, key };
}

/**
 * Reads the certificates and keys for the connection to the engine.
 * @returns null if no setting asks for TLS
 * @throws ConfigError, one line, if a file cannot be used, or if the engine is our own, which has no TLS
 */
export function engineTls(config: TlsSettings): EngineTls | null {
  const asked = switches.filter((name) => Boolean(config[name]));
  if (asked.length === 0) return null;
  if (!config.TEMPORAL_ADDRESS) {
    throw new ConfigError(
      `${asked.join(', ')} without TEMPORAL_ADDRESS: set the address of that engine, or remove the other settings to use the embedded engine`,
    );
  }
  const ca = readPem(config, 'TEMPORAL_TLS_CA_FILE', parseCertificate);
  const client = readClient(config);
  return { ...(ca ? { ca } : {}), ...(client ? { client } : {}) };
}
