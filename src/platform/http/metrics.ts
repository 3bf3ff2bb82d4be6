import type pg from 'pg';
import { collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';

export interface HttpMetrics {
  /** @param route its path pattern, never the path itself; `unknown` where there is none */
  observe(method: string, route: string, status: number, seconds: number): void;
  /** Prometheus' text format. */
  text(): Promise<{ contentType: string; body: string }>;
}

const BUCKETS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

function watchPool(registry: Registry, pool: pg.Pool): void {
  new Gauge({
    name: 'carillon_database_connections',
    help: 'Connections to PostgreSQL by pool and state; waiting: requests for one',
    labelNames: ['pool', 'state'],
    registers: [registry],
    collect() {
      this.set({ pool: 'hot', state: 'busy' }, pool.totalCount - pool.idleCount);
      this.set({ pool: 'hot', state: 'idle' }, pool.idleCount);
      this.set({ pool: 'hot', state: 'waiting' }, pool.waitingCount);
    },
  });
}

/** Requests by route and status, the event loop's lag, memory, processor time, and the pool's use. */
export function createHttpMetrics(pool: pg.Pool): HttpMetrics {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  watchPool(registry, pool);
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
