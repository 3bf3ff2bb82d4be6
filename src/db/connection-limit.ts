import { ConfigError } from '../config.ts';
import type { Queryable } from './queryable.ts';

/** Beside the pool: liveness, listening and notifying have connections of their own. */
const OWN_CONNECTIONS = 3;

interface Connections {
  /** That PostgreSQL gives to others than its superuser. */
  most: number;
  /** Of anybody, the one that asks aside. */
  used: number;
}

/**
 * See that PostgreSQL has room for a process's connections, before the process fails for want of one under load.
 * @param poolMax the pool's size
 * @param warn told where there is room for this process, but not beside all that are connected now
 * @throws ConfigError where the process can never have them all
 */
export async function requireConnections(
  db: Queryable,
  poolMax: number,
  warn: (facts: Record<string, number>, message: string) => void,
): Promise<void> {
  const { rows } = await db.query<Connections>(
    `select current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int as most,
       (select count(*) from pg_stat_activity where backend_type = 'client backend' and pid <> pg_backend_pid()) as used`,
  );
  const { most, used } = rows[0] as Connections;
  const needed = poolMax + OWN_CONNECTIONS;
  if (needed > most) {
    throw new ConfigError(
      `this process may open ${needed} connections to PostgreSQL, which allows ${most}: lower DATABASE_POOL, or raise max_connections there`,
    );
  }
  if (needed + used > most) {
    warn({ needed, used, most }, 'PostgreSQL may run out of connections: raise max_connections');
  }
}
