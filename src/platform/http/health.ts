import net from 'node:net';
import type pg from 'pg';
import { z } from 'zod';
import { AppError, errorBody } from '../../errors.ts';
import { missingMigrations } from '../db/migrate.ts';
import { missingFunctions } from '../db/sql/install.ts';
import type { HttpMetrics } from './middlewares/metrics.ts';
import { defineRoute, type RouteDefinition } from './route.ts';

export interface Readiness {
  /**
   * Whether the process can answer requests: the database answers, all migrations are applied, all functions of this
   * version are installed, and the process is not stopping.
   */
  ready: boolean;
  checks: {
    database: 'ok' | 'unreachable';
    /** `ok`, or the migrations that have not been applied. */
    migrations: 'ok' | 'unknown' | string[];
    /** `ok`, or the functions of the database that this version calls and that are not installed. */
    functions: 'ok' | 'unknown' | string[];
    /** Reported, but not required: accepted messages are sent without the engine. */
    engine: 'ok' | 'unreachable' | 'not_configured';
  };
}

export type CheckReadiness = () => Promise<Readiness>;

const ENGINE_TIMEOUT_MS = 1_000;
const DATABASE_TIMEOUT_MS = 3_000;
/** Anyone may call `/readyz`, and each check takes a connection of the pool and connects to the engine. */
const CACHE_MS = 1_000;

/** Whether a server accepts connections at `host:port`. */
function reachable(address: string): Promise<boolean> {
  const mark = address.lastIndexOf(':');
  const port = Number(address.slice(mark + 1));
  return new Promise((resolve) => {
    const socket = net.connect({ host: address.slice(0, mark), port, timeout: ENGINE_TIMEOUT_MS });
    const finish = (is: boolean) => {
      socket.destroy();
      resolve(is);
    };
    socket.once('connect', () => finish(true));
    socket.once('error', () => finish(false));
    socket.once('timeout', () => finish(false));
  });
}

async function checkEngine(address: string | undefined): Promise<Readiness['checks']['engine']> {
  if (address === undefined) return 'not_configured';
  return (await reachable(address)) ? 'ok' : 'unreachable';
}

const okOr = (missing: string[]) => (missing.length === 0 ? 'ok' : missing);

async function checkDatabase(pool: pg.Pool): Promise<Omit<Readiness['checks'], 'engine'>> {
  const late = new Promise<never>((_resolve, reject) => {
    setTimeout(() => reject(new Error('no answer')), DATABASE_TIMEOUT_MS).unref();
  });
  try {
    const missing = Promise.all([missingMigrations(pool), missingFunctions(pool)]);
    const [migrations, functions] = await Promise.race([missing, late]);
    return { database: 'ok', migrations: okOr(migrations), functions: okOr(functions) };
  } catch {
    return { database: 'unreachable', migrations: 'unknown', functions: 'unknown' };
  }
}

/** Runs one `check` at a time, and does not repeat it for a second after it has finished. */
function cached<T>(check: () => Promise<T>): () => Promise<T> {
  let kept: Promise<T> | null = null;
  return () => {
    kept ??= check().finally(() => setTimeout(() => (kept = null), CACHE_MS).unref());
    return kept;
  };
}

/**
 * The result of the checks is kept for a second, and calls within it share the result.
 * @param draining whether the process is stopping
 */
export function createReadinessCheck(
  pool: pg.Pool,
  engineAddress: string | undefined,
  draining: () => boolean,
): CheckReadiness {
  const check = cached(() => Promise.all([checkDatabase(pool), checkEngine(engineAddress)]));
  return async () => {
    const [database, engine] = await check();
    const complete = database.migrations === 'ok' && database.functions === 'ok';
    const ready = database.database === 'ok' && complete && !draining();
    return { ready, checks: { ...database, engine } };
  };
}

const okOrMissing = z.union([z.enum(['ok', 'unknown']), z.array(z.string())]);

const checksSchema = z.object({
  database: z.enum(['ok', 'unreachable']),
  migrations: okOrMissing,
  functions: okOrMissing,
  engine: z.enum(['ok', 'unreachable', 'not_configured']),
});

function healthz(): RouteDefinition {
  return defineRoute({
    method: 'GET',
    path: '/healthz',
    operationId: 'getHealth',
    tag: 'Operation',
    summary: 'Check that the process runs',
    auth: 'none',
    responses: { 200: { description: 'The process runs.', schema: z.object({ status: z.literal('ok') }) } },
    handler: () => ({ status: 200, body: { status: 'ok' } }),
  });
}

function readyz(check: CheckReadiness): RouteDefinition {
  return defineRoute({
    method: 'GET',
    path: '/readyz',
    operationId: 'getReadiness',
    tag: 'Operation',
    summary: 'Check that the process can answer requests',
    description: 'The workflow engine is reported, but not required: accepted messages are sent without it.',
    auth: 'none',
    responses: {
      200: {
        description: 'The process is ready.',
        schema: z.object({ status: z.literal('ready'), checks: checksSchema }),
      },
    },
    errors: ['unavailable'],
    async handler() {
      const { ready, checks } = await check();
      if (ready) return { status: 200, body: { status: 'ready', checks } };
      const error = new AppError('unavailable', 'the process cannot answer requests right now');
      return { status: error.status, body: { ...errorBody(error), checks } };
    },
  });
}

/**
 * `GET /metrics`, for Prometheus. Served on the port for operators, because the metrics show how the whole service is
 * used.
 */
export function metricsRoute(metrics: HttpMetrics): RouteDefinition {
  return defineRoute({
    method: 'GET',
    path: '/metrics',
    operationId: 'getMetrics',
    tag: 'Operation',
    summary: 'Metrics for Prometheus',
    auth: 'none',
    responses: {
      200: { description: 'Metrics in the Prometheus text format.', schema: null, contentType: 'text/plain' },
    },
    async handler() {
      return { status: 200, raw: await metrics.text() };
    },
  });
}

/** `GET /healthz` and `GET /readyz`. */
export function createHealthRoutes(check: CheckReadiness): RouteDefinition[] {
  return [healthz(), readyz(check)];
}
