import pg from 'pg';
import { idempotency } from '../../src/platform/http/middlewares/idempotency.ts';
import type { OnceRoute } from '../../src/platform/http/route.ts';
import { serveOneRoute } from './one-route.ts';
import { createPreparedRoute } from './prepared-route.ts';

/**
 * A process for a test to kill while it handles a request. Its arguments: the URL of the database, the folder of
 * prepared files, the account, its brand, and the phase in which it stops forever. It prints its port, and the phase.
 */
const [url, folder = '', accountId, brandId, phase] = process.argv.slice(2);
const stop = () => {
  process.stdout.write(`in ${phase}\n`);
  return new Promise<void>(() => undefined);
};
const route = createPreparedRoute(folder, phase === 'prepare' ? { prepare: stop } : { create: stop });
const pool = new pg.Pool({ connectionString: url });
const handler = idempotency(pool, route as OnceRoute);
await serveOneRoute(route, handler, { accountId: Number(accountId), brandId: Number(brandId) });
