import type pg from 'pg';
import type { Logger } from 'pino';
import { Counter, Histogram } from 'prom-client';
import { requestFields, type Middleware } from '../context.ts';
import { createProcessRegistry } from '../operators.ts';

export interface HttpMetrics {
  /** @param route the path pattern, never the path itself; `unknown` if no route matches */
  observe(method: string, route: string, status: number, seconds: number): void;
  /** Adds a counter for a feature. @returns a function that increases it */
  counter(name: string, help: string): (count: number) => void;
  /** All metrics in Prometheus' text format. */
  text(): Promise<{ contentType: string; body: string }>;
}

const BUCKETS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];
const SLOW_SECONDS = 2;

/** Requests by route and status, event-loop lag, memory, processor time, and pool usage. */
export function createHttpMetrics(pool: pg.Pool): HttpMetrics {
  const registry = createProcessRegistry(pool);
  const requests = new Histogram({
    name: 'carillon_http_request_duration_seconds',
    help: 'Requests by method, route pattern and status',
    labelNames: ['method', 'route', 'status'],
    buckets: BUCKETS,
    registers: [registry],
  });
  // Finding a series by its labels costs more than observing a value, so each series is looked up once.
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
    counter(name, help) {
      const counter = new Counter({ name, help, registers: [registry] });
      return (count) => counter.inc(count);
    },
    async text() {
      return { contentType: registry.contentType, body: await registry.metrics() };
    },
  };
}

/** Measures each request, and logs slow ones. Runs outside of `errors`, so that it sees the final status. */
export function metrics({ observe }: Pick<HttpMetrics, 'observe'>, log: Logger): Middleware {
  return async function metrics(ctx, next) {
    const startedAtMs = performance.now();
    await next();
    const seconds = (performance.now() - startedAtMs) / 1000;
    observe(ctx.method, ctx.state.route?.path ?? 'unknown', ctx.status, seconds);
    const slow = seconds >= SLOW_SECONDS;
    if (!slow && !log.isLevelEnabled('debug')) return;
    const fields = { ...requestFields(ctx), status: ctx.status, duration_ms: Math.round(seconds * 1000) };
    if (slow) log.warn(fields, 'slow request');
    else log.debug(fields, 'request');
  };
}
