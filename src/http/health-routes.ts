import { z } from 'zod';
import { AppError } from '../errors.ts';
import type { HttpMetrics } from './metrics.ts';
import type { CheckReadiness } from './readiness.ts';
import { errorBody } from './respond.ts';
import { defineRoute, type RouteDefinition } from './route.ts';

const checksSchema = z.object({
  database: z.enum(['ok', 'unreachable']),
  migrations: z.union([z.enum(['ok', 'unknown']), z.array(z.string())]),
  engine: z.enum(['ok', 'unreachable', 'not_configured']),
});

function healthz(): RouteDefinition {
  return defineRoute({
    method: 'GET',
    path: '/healthz',
    operationId: 'getHealth',
    tag: 'Operation',
    summary: 'Whether the process runs',
    auth: 'none',
    responses: { 200: { description: 'It runs', schema: z.object({ status: z.literal('ok') }) } },
    handler: () => ({ status: 200, body: { status: 'ok' } }),
  });
}

function readyz(check: CheckReadiness): RouteDefinition {
  return defineRoute({
    method: 'GET',
    path: '/readyz',
    operationId: 'getReadiness',
    tag: 'Operation',
    summary: 'Whether the process can answer requests',
    description: 'The workflow engine is reported and not required: accepted mail flows without it.',
    auth: 'none',
    responses: {
      200: {
        description: 'It can',
        schema: z.object({ status: z.literal('ready'), checks: checksSchema }),
      },
    },
    errors: ['unavailable'],
    async handler() {
      const { ready, checks } = await check();
      if (ready) return { status: 200, body: { status: 'ready', checks } };
      const error = new AppError('unavailable', 'the process cannot answer requests now');
      return { status: error.status, body: { ...errorBody(error), checks } };
    },
  });
}

/** `GET /metrics`, for Prometheus. */
export function metricsRoute(metrics: HttpMetrics): RouteDefinition {
  return defineRoute({
    method: 'GET',
    path: '/metrics',
    operationId: 'getMetrics',
    tag: 'Operation',
    summary: 'Figures for Prometheus',
    auth: 'none',
    responses: {
      200: { description: 'Prometheus text format', schema: null, contentType: 'text/plain' },
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
