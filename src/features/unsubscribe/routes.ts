import { z } from 'zod';
import type { Config } from '../../config.ts';
import { createRecipientFence } from '../../delivery/recipient-fence.ts';
import { clientNetwork, createClientAddress } from '../../platform/auth/client-address.ts';
import type { Database } from '../../platform/db/database.ts';
import type { RateLimiter } from '../../platform/http/rate-limiter.ts';
import {
  defineRoute,
  type RawResult,
  type RouteDefinition,
  type RouteInput,
} from '../../platform/http/route.ts';
import type { Keyring } from '../../platform/secrets/keyring.ts';
import { askPage, donePage, unknownPage } from './page.ts';
import { createUnsubscribe, type Unsubscriber } from './service.ts';

export interface UnsubscribeRouteDeps {
  config: Pick<Config, 'TRUSTED_PROXIES' | 'SUPPRESS_PLUS_ADDRESSES'>;
  database: Database;
  keyring: Keyring;
  rateLimiter: RateLimiter;
}

/** A mail service unsubscribes many of its users from one network. */
const REQUESTS_PER_SECOND = 50;
const MAX_BODY_BYTES = 16 * 1024;

const params = z.strictObject({ token: z.string() });
type UnsubscribeInput = RouteInput<z.output<typeof params>>;

const facts = {
  path: '/unsubscribe/:token',
  tag: 'Unsubscribe',
  auth: 'none',
  opaque: true,
  params,
  maxBodyBytes: MAX_BODY_BYTES,
  responses: { 200: { description: 'A page.', schema: null, contentType: 'text/html' } },
} as const;

/**
 * The page of an unsubscribe link, and one-click unsubscribe (RFC 8058). Scanners fetch links, so only a POST acts, with
 * whatever body.
 */
export function createUnsubscribeRoutes(deps: UnsubscribeRouteDeps): RouteDefinition[] {
  const { config, database, keyring, rateLimiter } = deps;
  const { pool } = database;
  const fence = createRecipientFence(pool);
  const links = createUnsubscribe({ pool, keyring, fence, plusAddresses: config.SUPPRESS_PLUS_ADDRESSES });
  const clientAddress = createClientAddress(config.TRUSTED_PROXIES);

  /** @throws AppError rate_limited */
  async function withLink(
    { ctx, params: { token } }: UnsubscribeInput,
    answer: (found: Unsubscriber) => RawResult | Promise<RawResult>,
  ): Promise<RawResult> {
    const network = clientNetwork(clientAddress(ctx.req));
    // The limit of a network may need the database, so only genuine links are counted in it.
    const target = links.verify(token);
    if (target) {
      await rateLimiter.request(`unsubscribe from ${network}`, REQUESTS_PER_SECOND);
      const found = await links.find(target);
      if (found) return answer(found);
    }
    rateLimiter.unknownSecret(network);
    return unknownPage();
  }

  return [
    defineRoute({
      ...facts,
      method: 'GET',
      operationId: 'showUnsubscribe',
      summary: 'Ask whether to unsubscribe',
      handler: (input) => withLink(input, ({ brand, address }) => askPage(brand, address)),
    }),
    defineRoute({
      ...facts,
      method: 'POST',
      operationId: 'unsubscribe',
      summary: 'Unsubscribe',
      idempotency: 'none',
      handler: (input) =>
        withLink(input, async (found) => {
          await links.unsubscribe(found);
          return donePage(found.brand, found.address);
        }),
    }),
  ];
}
