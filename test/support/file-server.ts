import pino from 'pino';
import { z } from 'zod';
import { createBareApp } from '../../src/platform/http/app.ts';
import { createBodyBudgets } from '../../src/platform/http/body-budgets.ts';
import { createFileSink } from '../../src/platform/http/file-sink.ts';
import { listen } from '../../src/platform/http/listen.ts';
import { errors } from '../../src/platform/http/middlewares/errors.ts';
import { handle } from '../../src/platform/http/middlewares/handle.ts';
import { requestId } from '../../src/platform/http/middlewares/request-id.ts';
import { unreadBody } from '../../src/platform/http/middlewares/unread-body.ts';
import { validate } from '../../src/platform/http/middlewares/validate.ts';
import { defineRoute, type Handler } from '../../src/platform/http/route.ts';
import { createHomeStore } from '../../src/platform/storage/local-disk.ts';

/**
 * A process for a test to measure and to kill. It stores files of up to 300 MB in the home of its first argument, and
 * prints its port. The response has the highest memory use of the process in bytes.
 */
const [home = ''] = process.argv.slice(2);
const log = pino({ level: 'silent' });
const store = createHomeStore(home);
const route = defineRoute({
  method: 'POST',
  path: '/',
  operationId: 'storeFile',
  tag: 'Probe',
  summary: 'Store a file',
  auth: 'brand',
  testKeys: 'refused',
  idempotency: 'none',
  body: z.object({ note: z.string().optional() }),
  multipart: {
    file: 'file',
    maxFileBytes: 300 * 1024 * 1024,
    sink: createFileSink({ store, kind: 'imports', maxAtOnce: 4 }),
  },
  responses: { 200: { description: 'What was stored', schema: null } },
  handler({ stored }) {
    stored?.keep();
    const body = { size: stored?.size, sha256: stored?.sha256, peak: process.resourceUsage().maxRSS * 1_024 };
    return { status: 200, body };
  },
});

const app = createBareApp(log);
app.use(requestId());
app.use(unreadBody());
app.use(errors(log));
app.use((ctx, next) => {
  const tenant = {
    accountId: 7,
    brandId: 7,
    actor: { kind: 'api_key', id: 1, test: false },
    role: 'admin',
  } as const;
  ctx.state.principal = { tenant, rateLimitPerSecond: 0, rateLimitName: 'test', session: null };
  return next();
});
const budgets = createBodyBudgets(() => undefined);
app.use(validate(route, { log, publicUrl: null, budgets, networkOf: () => 'test' }));
app.use(handle(route.handler as Handler));
const serve = app.callback();
const server = await listen((request, response) => void serve(request, response), '127.0.0.1', 0);
process.stdout.write(`port ${server.port}\n`);
