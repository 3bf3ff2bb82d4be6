import { collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import type { Database } from '../db/database.ts';

export interface HttpMetrics {
  /** @param route its path pattern, never the path itself; `unknown` where there is none */
  observe(method: string, route: string, status: number, seconds: number): void;
  /** Prometheus' text format. */
  text(): Promise<{ contentType: string; body: string }>;
}

const BUCKETS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

interface Pool {
  total: number;
  idle: number;
  waiting: number;
}

function poolsOf(database: Database): Record<string, Pool> {
  const { pool, knex } = database;
  const rooms = (
    knex.client as { pool?: { numUsed(): number; numFree(): number; numPendingAcquires(): number } }
  ).pool;
  return {
    hot: { total: pool.totalCount, idle: pool.idleCount, waiting: pool.waitingCount },
    rooms: {
      total: rooms ? rooms.numUsed() + rooms.numFree() : 0,
      idle: rooms?.numFree() ?? 0,
      waiting: rooms?.numPendingAcquires() ?? 0,
    },
  };
}

function watchPools(registry: Registry, database: Database): void {
  new Gauge({
    name: 'carillon_database_connections',
    help: 'Connections to PostgreSQL by pool and state; waiting: requests for one',
    labelNames: ['pool', 'state'],
    registers: [registry],
    collect() {
      for (const [pool, { total, idle, waiting }] of Object.entries(poolsOf(database))) {
        this.set({ pool, state: 'busy' }, total - idle);
        this.set({ pool, state: 'idle' }, idle);
        this.set({ pool, state: 'waiting' }, waiting);
      }
    },
  });
}

/** Requests by route and status, the event loop's lag, memory, processor time, and the pools' use. */
export function createHttpMetrics(database: Database): HttpMetrics {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  watchPools(registry, database);
  const requests = new Histogram({
    name: 'carillon_http_request_duration_seconds',
    help: 'Requests by method, route pattern and status',
    labelNames: ['method', 'route', 'status'],
    buckets: BUCKETS,
    registers: [registry],
  });
  // Finding a series by its labels costs more than observing it, so each is looked up once.
  const series = new Map<string, { observe(seconds: number): void }>();
  return {
    observe(method, route, status, seconds) {
      const key = `${method} ${route} ${status}`;
      let one = series.get(key);
      if (!one) {
        one = requests.labels(method, route, String(status));
        series.set(key, one);
      }
      one.observe(seconds);
    },
    async text() {
      return { contentType: registry.contentType, body: await registry.metrics() };
    },
  };
}
