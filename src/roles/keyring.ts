import type { Config } from '../config.ts';
import { upkeep } from '../features/upkeep.ts';
import type { WhenAvailable } from '../platform/db/availability.ts';
import type { Database } from '../platform/db/database.ts';
import type { Keyring } from '../platform/secrets/keyring.ts';
import { openKeyring } from '../platform/secrets/stored-keys.ts';

/**
 * Opens the keys of a role, before it registers its process or does anything else.
 * @throws ConfigError if the database does not know APP_SECRET; the database is closed then
 */
export async function openRoleKeyring(
  database: Database,
  config: Config,
  whenAvailable: WhenAvailable,
): Promise<Keyring> {
  try {
    return await whenAvailable(() => openKeyring(database.pool, config, upkeep));
  } catch (error) {
    await database.close();
    throw error;
  }
}
