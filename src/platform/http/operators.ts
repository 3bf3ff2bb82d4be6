/** Metrics of a process in Prometheus' format, and the port for operators on which each role serves them. */
import { setTimeout as delay } from 'node:timers/promises';
import type pg from 'pg';
import type { Logger } from 'pino';
import { collectDefaultMetrics, Gauge, Registry } from 'prom-client';
import type { Config } from '../../config.ts';
import { listen, type Listening } from './listen.ts';

/** The port for operators of the API if OPS_PORT is not set. */
const DEFAULT_OPS_PORT = 9464;
/** Roles on one host share their settings, but each has its own port. */
const PORT_OFFSETS = { api: 0, worker: 1, sender: 2, mail: 3, submission: 4 } as const;
export type OpsRole = keyof typeof PORT_OFFSETS;

/** Time limit for figures, in ms: those of a slow database must not delay the others. */
const READ_LIMIT_MS = 3_000;

/** One value for each set of labels. */
export interface Figure {
  labels: Readonly<Record<string, string>>;
  value: number;
}

/** A gauge that is read when metrics are requested. */
export interface FigureSource {
  name: string;
  help: string;
  labels: readonly string[];
  read(): Promise<readonly Figure[]> | readonly Figure[];
}

/** How long the first request for metrics waits for the first values of the event loop lag. */
const FIRST_LAG_MS = 50;

/**
 * Measures memory, processor time and event loop lag from the first request for metrics on. The lag is measured by a
 * timer of 10 ms, which costs a process without work more than all else that it does.
 */
class ProcessRegistry extends Registry {
  #measuring: Promise<void> | null = null;

  override async metrics(): Promise<string> {
    this.#measuring ??= this.#measure();
    await this.#measuring;
    return super.metrics();
  }

  #measure(): Promise<void> {
    collectDefaultMetrics({ register: this });
    return delay(FIRST_LAG_MS);
  }
}

/** Metrics of a process: memory, processor time, event loop lag and connection pool. */
export function createProcessRegistry(pool: pg.Pool): Registry {
  const registry = new ProcessRegistry();
  new Gauge({
    name: 'carillon_database_connections',
    help: 'Connections to PostgreSQL by pool and state; waiting: requests for a connection',
    labelNames: ['pool', 'state'],
    registers: [registry],
    collect() {
      this.set({ pool: 'hot', state: 'busy' }, pool.totalCount - pool.idleCount);
      this.set({ pool: 'hot', state: 'idle' }, pool.idleCount);
      this.set({ pool: 'hot', state: 'waiting' }, pool.waitingCount);
    },
  });
  return registry;
}

async function inTime<T>(reading: Promise<T> | T): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new Error('the figures took too long')), READ_LIMIT_MS);
  });
  try {
    return await Promise.race([reading, late]);
  } finally {
    clearTimeout(timer);
  }
}

/** Leaves out figures that cannot be read, for example because the database is down. */
function addSource(registry: Registry, { name, help, labels, read }: FigureSource, log: Logger): void {
  new Gauge({
    name,
    help,
    labelNames: [...labels],
    registers: [registry],
    async collect() {
      this.reset();
      try {
        for (const { labels: of, value } of await inTime(read())) this.set({ ...of }, value);
      } catch (err) {
        log.debug({ err, metric: name }, 'figures cannot be read');
      }
    },
  });
}

/** The port for operators of a role; 0 takes a free one. */
export function opsPortOf(role: OpsRole, { OPS_PORT }: Pick<Config, 'OPS_PORT'>): number {
  return OPS_PORT === 0 ? 0 : (OPS_PORT ?? DEFAULT_OPS_PORT) + PORT_OFFSETS[role];
}

interface RoleMetrics {
  config: Pick<Config, 'OPS_HOST' | 'OPS_PORT'>;
  pool: pg.Pool;
  log: Logger;
  sources?: readonly FigureSource[];
}

/**
 * Serves `GET /metrics` for a role without another HTTP server. Several processes of a role may run on one host: only
 * the first serves metrics.
 * @returns null if the port is taken
 */
export async function serveMetrics(
  role: Exclude<OpsRole, 'api'>,
  { config, pool, log, sources = [] }: RoleMetrics,
): Promise<{ port: number; stop(): Promise<void> } | null> {
  const registry = createProcessRegistry(pool);
  for (const source of sources) addSource(registry, source, log);
  const port = opsPortOf(role, config);
  let server: Listening;
  try {
    server = await listen(
      (request, response) => {
        const isMetrics = request.method === 'GET' && request.url?.split('?', 1)[0] === '/metrics';
        if (!isMetrics) {
          response.writeHead(404).end();
          return;
        }
        void registry.metrics().then(
          (text) => response.writeHead(200, { 'Content-Type': registry.contentType }).end(text),
          (err: unknown) => {
            log.warn({ err }, 'metrics cannot be written');
            response.writeHead(500).end();
          },
        );
      },
      config.OPS_HOST,
      port,
    );
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EADDRINUSE') throw error;
    // Several processes on one host are normal, and only those whose port was chosen must serve metrics.
    const level = config.OPS_PORT === undefined ? 'info' : 'warn';
    log[level]({ port }, 'metrics not served: the port is taken; set OPS_PORT');
    return null;
  }
  log.info({ ops_host: config.OPS_HOST, ops_port: server.port }, 'metrics are served');
  return { port: server.port, stop: () => server.stop(0) };
}
