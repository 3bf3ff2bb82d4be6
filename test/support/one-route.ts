import pino from 'pino';
import { createBareApp } from '../../src/platform/http/app.ts';
import { createBodyBudgets } from '../../src/platform/http/body-budgets.ts';
import type { Middleware } from '../../src/platform/http/context.ts';
import { listen } from '../../src/platform/http/listen.ts';
import { errors } from '../../src/platform/http/middlewares/errors.ts';
import { requestId } from '../../src/platform/http/middlewares/request-id.ts';
import { unreadBody } from '../../src/platform/http/middlewares/unread-body.ts';
import { validate } from '../../src/platform/http/middlewares/validate.ts';
import type { RouteDefinition } from '../../src/platform/http/route.ts';

/**
 * Serves one route in a process that a test measures or kills, and prints its port. Every caller is the given tenant.
 * @param handler the last middleware of the route
 */
export async function serveOneRoute(
  route: RouteDefinition,
  handler: Middleware,
  scope: { accountId: number; brandId: number },
): Promise<void> {
  const log = pino({ level: 'silent' });
  const app = createBareApp(log);
  app.use(requestId());
  app.use(unreadBody());
  app.use(errors(log));
  app.use((ctx, next) => {
    const tenant = {
      ...scope,
      actor: { kind: 'api_key', id: 1, test: false },
      role: 'admin',
    } as const;
    ctx.state.principal = {
      tenant,
      rateLimitPerSecond: 0,
      rateLimitName: 'test',
      session: null,
      grant: null,
    };
    return next();
  });
  const budgets = createBodyBudgets(() => undefined);
  app.use(validate(route, { log, publicUrl: null, budgets, networkOf: () => 'test' }));
  app.use(handler);
  const serve = app.callback();
  const server = await listen((request, response) => void serve(request, response), '127.0.0.1', 0);
  process.stdout.write(`port ${server.port}\n`);
}
