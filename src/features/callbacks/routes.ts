import type pg from 'pg';
import type { Logger } from 'pino';
import { z } from 'zod';
import type { Config } from '../../config.ts';
import { limitSettings } from '../../delivery/ledger/limits/authority.ts';
import type { NamedProvider } from '../../delivery/wire/providers/named.ts';
import { createRecipientFence } from '../../delivery/ledger/consent/recipient-fence.ts';
import { notFound } from '../../errors.ts';
import { clientNetwork, createClientAddress } from '../../platform/auth/client-address.ts';
import type { Database } from '../../platform/db/database.ts';
import type { Waker } from '../../platform/db/wake.ts';
import type { Egress } from '../../platform/egress/client.ts';
import type { EventPublisher } from '../../platform/events/publish.ts';
import type { RateLimiter } from '../../platform/http/rate-limiter.ts';
import {
  defineRoute,
  type RawResult,
  type RouteDefinition,
  type RouteInput,
} from '../../platform/http/route.ts';
import type { Keyring } from '../../platform/secrets/keyring.ts';
import { handleInboundSms } from '../sms/service.ts';
import { createCallbackProviders } from './providers.ts';
import { createCallbackRecording } from './recording.ts';
import { type CallbackReply, createCallbacks } from './service.ts';

export interface CallbackRouteDeps {
  config: Config;
  database: Database;
  /** For the statements that record reports. */
  recordingPool: pg.Pool;
  log: Logger;
  keyring: Keyring;
  egress: Egress;
  rateLimiter: RateLimiter;
  waker: Waker;
  events: EventPublisher;
}

const MAX_BODY_BYTES = 1024 * 1024;
const NO_BODY = Buffer.alloc(0);

const params = z.strictObject({ kind: z.string(), token: z.string() });
type CallbackInput = RouteInput<z.output<typeof params>>;

const responses = { 200: { description: 'Everything in the callback is recorded', schema: null } };
const facts = {
  path: '/callbacks/:kind/:token',
  tag: 'Callbacks',
  auth: 'none',
  opaque: true,
  params,
  maxBodyBytes: MAX_BODY_BYTES,
  responses,
} as const;

const rawReply = (raw: CallbackReply): RawResult => ({ status: 200, raw });

/** The callback URLs of named providers. Each provider sends its reports there. */
export function createCallbackRoutes(deps: CallbackRouteDeps): RouteDefinition[] {
  const { config, database, recordingPool, log, keyring, egress, rateLimiter, waker, events } = deps;
  const { pool } = database;
  const clientAddress = createClientAddress(config.TRUSTED_PROXIES);
  const providers = createCallbackProviders(pool, keyring, log);
  const fence = createRecipientFence(pool);
  const recording = createCallbackRecording({ pool: recordingPool, keyring, events, waker, fence, log });
  const inbound = { pool, keyring, waker, fence, limits: limitSettings(config) };
  const callbacks = createCallbacks({
    keyring,
    egress,
    recording,
    takeSms: (provider, sms) => handleInboundSms(inbound, provider, sms),
    log,
  });

  /**
   * Only wrong tokens count against the limit: all customers of a service share its addresses, so another customer
   * could otherwise exhaust the limit.
   * @throws AppError not_found, rate_limited
   */
  async function providerOf({ params: { kind, token }, ctx }: CallbackInput): Promise<NamedProvider> {
    const provider = await providers.find(kind, token);
    if (provider?.kind.callbacks) return provider;
    rateLimiter.unknownSecret(clientNetwork(clientAddress(ctx.req)));
    throw notFound('callback');
  }

  async function take(input: CallbackInput, provider: NamedProvider, body: Buffer): Promise<RawResult> {
    const { ctx, publicUrl } = input;
    const url = `${publicUrl}${ctx.path}${ctx.search}`;
    const request = { headers: ctx.req.headers, body, url, now: new Date() };
    return rawReply(await callbacks.take(provider, request));
  }

  return [
    defineRoute({
      ...facts,
      method: 'POST',
      operationId: 'takeCallback',
      summary: 'Receive a report of a provider',
      idempotency: 'none',
      async handler(input) {
        // Check the token first, so that no body is read for a stranger.
        const provider = await providerOf(input);
        return take(input, provider, await input.readBytes('provider'));
      },
    }),
    defineRoute({
      ...facts,
      method: 'GET',
      operationId: 'takeCallbackQuery',
      summary: 'Receive a report in the query string, or a check of the URL',
      async handler(input) {
        const provider = await providerOf(input);
        // Some services check that the URL exists before they use it.
        const isCheck = input.ctx.method === 'HEAD' || input.ctx.querystring === '';
        return isCheck ? rawReply({ contentType: 'text/plain', body: '' }) : take(input, provider, NO_BODY);
      },
    }),
  ];
}
