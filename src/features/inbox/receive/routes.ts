import type pg from 'pg';
import type { Logger } from 'pino';
import { z } from 'zod';
import type { Config } from '../../../config.ts';
import { createRecipientFence } from '../../../delivery/ledger/consent/recipient-fence.ts';
import { createArrivalRates } from '../../../delivery/wire/inbound/arrival-rates.ts';
import { MAX_MAIL_BYTES } from '../../../delivery/wire/inbound/inboxes.ts';
import { factsOfCopies } from '../../../delivery/wire/inbound/letter-complaints.ts';
import { keepOperatorMail } from '../../../delivery/wire/inbound/operator-mails.ts';
import { mailKeys } from '../../../delivery/wire/inbound/recipients.ts';
import { createReportRecording } from '../../../delivery/wire/inbound/record-reports.ts';
import { AppError, notFound } from '../../../errors.ts';
import { clientNetwork, createClientAddress } from '../../../platform/auth/client-address.ts';
import type { Database } from '../../../platform/db/database.ts';
import type { Waker } from '../../../platform/db/wake.ts';
import type { EventPublisher } from '../../../platform/events/publish.ts';
import { ClientGone } from '../../../platform/http/body.ts';
import type { RateLimiter } from '../../../platform/http/rate-limiter.ts';
import { defineRoute, type RouteDefinition } from '../../../platform/http/route.ts';
import type { Keyring } from '../../../platform/secrets/keyring.ts';
import { createHomeStore } from '../../../platform/storage/local-disk.ts';
import { resolveInboxAddress } from '../inboxes/resolve.ts';
import { createMailAcceptance } from './accept.ts';
import { createDeliveries, type Deliveries } from './deliveries.ts';
import { requireMail, requireMailType } from './mail-body.ts';

export interface InboundRouteDeps {
  config: Config;
  database: Database;
  /** For the statements that record reports. */
  recordingPool: pg.Pool;
  keyring: Keyring;
  rateLimiter: RateLimiter;
  waker: Waker;
  events: EventPublisher;
  log: Logger;
}

const MEGABYTE = 1024 * 1024;

function createService(deps: InboundRouteDeps): Deliveries {
  const { config, database, recordingPool, keyring, waker, events, log } = deps;
  const { pool } = database;
  return createDeliveries({
    pool,
    mailDomain: config.MAIL_DOMAIN,
    keys: mailKeys(keyring),
    record: createReportRecording({ pool: recordingPool, waker, events, fence: createRecipientFence(pool) }),
    factsOfCopies: (facts) => factsOfCopies(recordingPool, facts),
    keep: (mail) => keepOperatorMail(recordingPool, mail),
    inboxes: createMailAcceptance({
      pool: recordingPool,
      store: createHomeStore(config.CARILLON_HOME),
      waker,
      resolve: (address) => resolveInboxAddress(pool, address, config.MAIL_DOMAIN),
      quotaBytes: config.INBOX_QUOTA_MB * MEGABYTE,
      log,
    }),
    rates: createArrivalRates({
      senderPerMinute: config.INBOX_SENDER_PER_MINUTE,
      networkPerMinute: config.INBOX_NETWORK_PER_MINUTE,
    }),
    log,
  });
}

/** A failure of the storage is temporary, like one of the database. The client must not lose the mail. */
function temporary(error: unknown): unknown {
  if (error instanceof AppError || error instanceof ClientGone) return error;
  return new AppError('unavailable', 'the mail cannot be stored now; try again later', {
    cause: error,
    headers: { 'Retry-After': '60' },
  });
}

/** `POST /inbound/<token>`: takes mail from servers that cannot deliver it to port 25 of the mail role. */
export function createInboundRoutes(deps: InboundRouteDeps): RouteDefinition[] {
  const deliveries = createService(deps);
  const clientAddress = createClientAddress(deps.config.TRUSTED_PROXIES);
  return [
    defineRoute({
      method: 'POST',
      path: '/inbound/:token',
      operationId: 'deliverMail',
      tag: 'Inboxes',
      summary: 'Deliver a mail to inboxes',
      auth: 'none',
      opaque: true,
      idempotency: 'none',
      params: z.strictObject({ token: z.string() }),
      maxBodyBytes: MAX_MAIL_BYTES,
      responses: { 200: { description: 'The mail is stored', schema: z.object({ accepted: z.int() }) } },
      async handler({ params, ctx, openBody }) {
        // The token, the type and the recipients are checked before the body is read.
        const accountId = await deliveries.accountOf(params.token);
        if (accountId === null) {
          deps.rateLimiter.unknownSecret(clientNetwork(clientAddress(ctx.req)));
          throw notFound('token');
        }
        requireMailType(ctx.headers);
        const envelope = await deliveries.readEnvelope(accountId, new URLSearchParams(ctx.querystring));
        const pieces = openBody();
        try {
          await deliveries.take(envelope, pieces, (head) => requireMail(head, ctx.headers));
        } catch (error) {
          // Lets the rest be discarded, so that the client can read the response. It may take until the next piece arrives.
          void pieces.return().catch(() => undefined);
          throw temporary(error);
        }
        return { status: 200, body: { accepted: envelope.recipients.length } };
      },
    }),
  ];
}
