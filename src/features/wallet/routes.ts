import type pg from 'pg';
import type { Logger } from 'pino';
import { z } from 'zod';
import type { Config } from '../../config.ts';
import { systemSender } from '../../delivery/terms/sender-identity.ts';
import { AppError, notFound } from '../../errors.ts';
import { clientNetwork, createClientAddress } from '../../platform/auth/client-address.ts';
import type { Database } from '../../platform/db/database.ts';
import { pageOf } from '../../platform/db/paging.ts';
import type { Waker } from '../../platform/db/wake.ts';
import type { Egress } from '../../platform/egress/client.ts';
import { paginate } from '../../platform/http/pagination.ts';
import type { RateLimiter } from '../../platform/http/rate-limiter.ts';
import { defineRoute, type RouteDefinition } from '../../platform/http/route.ts';
import { listWalletEntries } from './entries.ts';
import { createNotificationTaking } from './notifications.ts';
import { createNotifications, createPaymentService } from './payments/services.ts';
import { listWalletEntriesQuery, walletEntrySchema } from './schema.ts';

export interface WalletRouteDeps {
  config: Config;
  database: Database;
  log: Logger;
  egress: Egress;
  rateLimiter: RateLimiter;
  waker: Pick<Waker, 'wake'>;
}

/** A notification has a few kilobytes. */
const MAX_NOTIFICATION_BYTES = 256 * 1024;

const notificationParams = z.strictObject({ service: z.string() });

function listRoute(pool: pg.Pool): RouteDefinition {
  return defineRoute({
    method: 'GET',
    path: '/v1/my/wallet/entries',
    operationId: 'listWalletEntries',
    tag: 'Account',
    summary: 'List the entries of the wallet, newest first',
    description:
      'The changes of the account’s balance: credits, payments and charges. The messages of a month are one ' +
      'entry, posted seven days after its end; the balance already includes their cost before that.',
    auth: 'account',
    testKeys: 'refused',
    roles: ['owner', 'admin'],
    assistants: { allBrands: 'always' },
    query: listWalletEntriesQuery,
    paginated: true,
    responses: { 200: { description: 'A page of entries.', schema: z.array(walletEntrySchema) } },
    async handler(input) {
      const page = pageOf(input.query);
      const { entries, count } = await listWalletEntries(pool, input.tenant, input.query, page);
      return paginate(input, page, entries, count);
    },
  });
}

/** The public URL to which payment services report payments, such as `/payments/stripe`. */
function notificationRoute(deps: WalletRouteDeps): RouteDefinition {
  const { config, database, log, egress, rateLimiter, waker } = deps;
  const clientAddress = createClientAddress(config.TRUSTED_PROXIES);
  const services = createNotifications(config);
  const payments = createPaymentService(config, egress);
  const taking = createNotificationTaking({
    pool: database.pool,
    payments,
    from: systemSender(config),
    waker,
    log,
  });
  return defineRoute({
    method: 'POST',
    path: '/payments/:service',
    operationId: 'takePaymentNotification',
    tag: 'Callbacks',
    summary: 'Notification of a payment service',
    auth: 'none',
    opaque: true,
    idempotency: 'none',
    params: notificationParams,
    maxBodyBytes: MAX_NOTIFICATION_BYTES,
    responses: { 200: { description: 'The notification was recorded', schema: null } },
    async handler({ params: { service }, ctx, readBytes }) {
      const notifications = Object.hasOwn(services, service) ? services[service] : undefined;
      if (!notifications) throw notFound('payment service');
      const report = notifications.read(ctx.req.headers, await readBytes(), new Date());
      if (!report) {
        rateLimiter.unknownSecret(clientNetwork(clientAddress(ctx.req)));
        log.warn({ service }, 'payment notification refused');
        throw new AppError('forbidden', 'the signature is not valid');
      }
      await taking.take(report);
      return { status: 200, raw: { contentType: 'text/plain', body: '' } };
    },
  });
}

/** `GET /v1/my/wallet/entries`, and the notifications of payment services. */
export function createWalletRoutes(deps: WalletRouteDeps): RouteDefinition[] {
  return [listRoute(deps.database.pool), notificationRoute(deps)];
}
