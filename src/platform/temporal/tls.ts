import { createPrivateKey, X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { ConfigError, type Config } from '../../config.ts';

/** Settings that say how the engine is reached by TLS; any of them switches it on. */
export type TlsSettings = Pick<
  Config,
  | 'TEMPORAL_ADDRESS'
  | 'TEMPORAL_API_KEY'
  | 'TEMPORAL_TLS'
  | 'TEMPORAL_TLS_CERT_FILE'
  | 'TEMPORAL_TLS_KEY_FILE'
  | 'TEMPORAL_TLS_CA_FILE'
>;

/** All in PEM. */
export interface EngineTls {
  /** Who may sign the engine's certificate; without it those that sign for everybody. */
  ca?: Buffer;
  /** What we show an engine that asks for it (mTLS). */
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

/** @throws ConfigError where the file is not there, or `parse` does */
function readPem(config: TlsSettings, setting: FileSetting, parse: (pem: Buffer) => unknown): Buffer | null {
  const path = config[setting];
  if (!path) return null;
  let pem: Buffer;
  try {
    pem = readFileSync(path);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new ConfigError(`${setting}: ${path} cannot be read (${code}): set it to a file in PEM`);
  }
  try {
    parse(pem);
    return pem;
  } catch {
    const wanted = setting === 'TEMPORAL_TLS_KEY_FILE' ? 'private key without a password' : 'certificate';
    throw new ConfigError(`${setting}: ${path} holds no ${wanted} in PEM`);
  }
}

function parseCertificate(pem: Buffer): X509Certificate {
  // The class also takes DER, which the engine's libraries do not.
  if (!pem.includes('-----BEGIN CERTIFICATE-----')) throw new Error('not in PEM');
  return new X509Certificate(pem);
}

function readClient(config: TlsSettings): EngineTls['client'] {
  const certificate = readPem(config, 'TEMPORAL_TLS_CERT_FILE', parseCertificate);
  const key = readPem(config, 'TEMPORAL_TLS_KEY_FILE', createPrivateKey);
  if (!certificate && !key) return undefined;
  if (!certificate || !key) {
    throw new ConfigError(
      'TEMPORAL_TLS_CERT_FILE and TEMPORAL_TLS_KEY_FILE belong together: set both or none',
    );
  }
  if (!parseCertificate(certificate).checkPrivateKey(createPrivateKey(key))) {
    throw new ConfigError(
      'the key in TEMPORAL_TLS_KEY_FILE is not that of the certificate in TEMPORAL_TLS_CERT_FILE',
    );
  }
  return { certificate, key };
}

/**
 * What to reach the engine with.
 * @returns null where no TLS is asked for
 * @throws ConfigError, one line, where a file cannot be used or an engine of our own would be asked for TLS
 */
export function engineTls(config: TlsSettings): EngineTls | null {
  const asked = switches.filter((name) => Boolean(config[name]));
  if (asked.length === 0) return null;
  if (!config.TEMPORAL_ADDRESS) {
    throw new ConfigError(
      `${asked.join(', ')} without TEMPORAL_ADDRESS: set the address of that engine, or remove it for one of our own`,
    );
  }
  const ca = readPem(config, 'TEMPORAL_TLS_CA_FILE', parseCertificate);
  const client = readClient(config);
  return { ...(ca ? { ca } : {}), ...(client ? { client } : {}) };
}
