import { type Config, ConfigError } from '../config.ts';
import { openTlsFiles, type TlsFiles } from '../delivery/wire/listening/tls-files.ts';

type Prefix = 'MAIL' | 'SUBMISSION';

/**
 * Opens the certificate that the settings of a role name.
 * @returns null if they name none
 * @throws ConfigError if only one of its two files is set, one cannot be read, or they do not fit each other
 */
export async function openTlsSettings(config: Config, prefix: Prefix): Promise<TlsFiles | null> {
  const names = { cert: `${prefix}_TLS_CERT_FILE`, key: `${prefix}_TLS_KEY_FILE` } as const;
  const [cert, key] = [config[names.cert], config[names.key]];
  if (cert === undefined && key === undefined) return null;
  if (cert === undefined || key === undefined)
    throw new ConfigError(`set both ${names.cert} and ${names.key}, or neither`);
  try {
    return await openTlsFiles({ cert, key });
  } catch (error) {
    throw new ConfigError(`${names.cert} and ${names.key} cannot be used: ${(error as Error).message}`);
  }
}
