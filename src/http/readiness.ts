import net from 'node:net';
import type pg from 'pg';
import { missingMigrations } from '../db/migrate.ts';

export interface Readiness {
  /** Whether requests can be answered: database there, migrations applied, not stopping. */
  ready: boolean;
  checks: {
    database: 'ok' | 'unreachable';
    /** `ok`, or the names this version has and the database lacks. */
    migrations: 'ok' | 'unknown' | string[];
    /** Reported and not required: accepted mail flows without the engine. */
    engine: 'ok' | 'unreachable' | 'not_configured';
  };
}

export type CheckReadiness = () => Promise<Readiness>;

const ENGINE_TIMEOUT_MS = 1_000;
const DATABASE_TIMEOUT_MS = 3_000;

/** Whether something accepts connections at `host:port`. */
function reachable(address: string): Promise<boolean> {
  const mark = address.lastIndexOf(':');
  const port = Number(address.slice(mark + 1));
  return new Promise((resolve) => {
    const socket = net.connect({ host: address.slice(0, mark), port, timeout: ENGINE_TIMEOUT_MS });
    const settle = (is: boolean) => {
      socket.destroy();
      resolve(is);
    };
    socket.once('connect', () => settle(true));
    socket.once('error', () => settle(false));
    socket.once('timeout', () => settle(false));
  });
}

async function checkEngine(address: string | undefined): Promise<Readiness['checks']['engine']> {
  if (address === undefined) return 'not_configured';
  return (await reachable(address)) ? 'ok' : 'unreachable';
}

async function checkDatabase(pool: pg.Pool): Promise<Pick<Readiness['checks'], 'database' | 'migrations'>> {
  const late = new Promise<never>((_resolve, reject) => {
    setTimeout(() => reject(new Error('no answer')), DATABASE_TIMEOUT_MS).unref();
  });
  try {
    const missing = await Promise.race([missingMigrations(pool), late]);
    return { database: 'ok', migrations: missing.length === 0 ? 'ok' : missing };
  } catch {
    return { database: 'unreachable', migrations: 'unknown' };
  }
}

/** @param draining whether the process is stopping */
export function createReadinessCheck(
  pool: pg.Pool,
  engineAddress: string | undefined,
  draining: () => boolean,
): CheckReadiness {
  return async () => {
    const [database, engine] = await Promise.all([checkDatabase(pool), checkEngine(engineAddress)]);
    const ready = database.database === 'ok' && database.migrations === 'ok' && !draining();
    return { ready, checks: { ...database, engine } };
  };
}
