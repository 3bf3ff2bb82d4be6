import { z } from 'zod';
import { createFileSink } from '../../src/platform/http/file-sink.ts';
import { handle } from '../../src/platform/http/middlewares/handle.ts';
import { defineRoute, type HandledRoute } from '../../src/platform/http/route.ts';
import { createHomeStore } from '../../src/platform/storage/local-disk.ts';
import { serveOneRoute } from './one-route.ts';

/**
 * A process for a test to measure and to kill. It stores files of up to 300 MB in the home given in its first argument,
 * and prints its port. Its responses contain the process's peak memory in bytes.
 */
const [home = ''] = process.argv.slice(2);
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

await serveOneRoute(route, handle(route as HandledRoute), { accountId: 7, brandId: 7 });
