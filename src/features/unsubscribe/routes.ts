import { z } from 'zod';
import type { Config } from '../../config.ts';
import { createRecipientFence } from '../../delivery/ledger/consent/recipient-fence.ts';
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
import { askPage, donePage, preferencePage, unknownPage } from './page.ts';
import { createPreferences, readPreferenceForm } from './preferences.ts';
import { createUnsubscribe, type Unsubscriber } from './service.ts';
import type { LinkPurpose } from './tokens.ts';

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

const pageRoute = {
  tag: 'Unsubscribe',
  auth: 'none',
  opaque: true,
  params,
  maxBodyBytes: MAX_BODY_BYTES,
  responses: { 200: { description: 'A page.', schema: null, contentType: 'text/html' } },
} as const;

type Links = ReturnType<typeof createUnsubscribe>;
type PreferenceActions = ReturnType<typeof createPreferences>;

/** Verifies a link and returns a page for its recipient. */
type WithLink = (
  input: UnsubscribeInput,
  answer: (found: Unsubscriber) => RawResult | Promise<RawResult>,
) => Promise<RawResult>;

/** @returns a function that throws AppError rate_limited */
function createWithLink(
  links: Links,
  { config, rateLimiter }: Pick<UnsubscribeRouteDeps, 'config' | 'rateLimiter'>,
  purpose: LinkPurpose,
): WithLink {
  const clientAddress = createClientAddress(config.TRUSTED_PROXIES);
  return async ({ ctx, params: { token } }, answer) => {
    const network = clientNetwork(clientAddress(ctx.req));
    // The limit of a network may need the database, so it counts only genuine links.
    const target = links.verify(token, purpose);
    if (target) {
      await rateLimiter.request(`unsubscribe from ${network}`, REQUESTS_PER_SECOND);
      const found = await links.find(target);
      if (found) return answer(found);
    }
    rateLimiter.unknownSecret(network);
    return unknownPage();
  };
}

function unsubscribeRoutes(links: Links, withLink: WithLink): RouteDefinition[] {
  const path = '/unsubscribe/:token';
  return [
    defineRoute({
      ...pageRoute,
      path,
      method: 'GET',
      operationId: 'showUnsubscribe',
      summary: 'Ask whether to unsubscribe',
      handler: (input) => withLink(input, ({ brand, address }) => askPage(brand, address)),
    }),
    defineRoute({
      ...pageRoute,
      path,
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

function preferenceRoutes(
  links: Links,
  preferences: PreferenceActions,
  withLink: WithLink,
): RouteDefinition[] {
  const path = '/preferences/:token';
  const show = async ({ brand, target }: Unsubscriber, saved: boolean) =>
    preferencePage(brand, await preferences.find(target), saved);

  /** If no contact has the address any more, it is unsubscribed by the HMAC in the link. */
  async function unsubscribe(found: Unsubscriber): Promise<RawResult> {
    const { contactId, address } = await preferences.find(found.target);
    if (contactId === null) await links.unsubscribe({ ...found, address: null });
    else await preferences.unsubscribe(found.target, contactId);
    return donePage(found.brand, address);
  }

  async function change(found: Unsubscriber, readBytes: UnsubscribeInput['readBytes']): Promise<RawResult> {
    const wanted = readPreferenceForm(await readBytes());
    if (wanted?.kind === 'unsubscribe') return unsubscribe(found);
    const { contactId } = await preferences.find(found.target);
    if (wanted && contactId !== null) await preferences.leave(contactId, wanted.listIds);
    return show(found, wanted !== null);
  }

  return [
    defineRoute({
      ...pageRoute,
      path,
      method: 'GET',
      operationId: 'showPreferences',
      summary: 'Show the lists of a contact',
      handler: (input) => withLink(input, (found) => show(found, false)),
    }),
    defineRoute({
      ...pageRoute,
      path,
      method: 'POST',
      operationId: 'changePreferences',
      summary: 'Leave lists, or unsubscribe from everything',
      idempotency: 'none',
      handler: (input) => withLink(input, (found) => change(found, input.readBytes)),
    }),
  ];
}

/**
 * The page of an unsubscribe link, one-click unsubscribe (RFC 8058), and the preference page. Scanners fetch links, so
 * only a POST changes anything: one-click unsubscribe accepts any body, the preference page that of its forms.
 */
export function createUnsubscribeRoutes(deps: UnsubscribeRouteDeps): RouteDefinition[] {
  const { config, database, keyring } = deps;
  const { pool } = database;
  const fence = createRecipientFence(pool);
  const linkDeps = { pool, keyring, fence, plusAddresses: config.SUPPRESS_PLUS_ADDRESSES };
  const links = createUnsubscribe(linkDeps);
  return [
    ...unsubscribeRoutes(links, createWithLink(links, deps, 'unsubscribe')),
    ...preferenceRoutes(links, createPreferences(linkDeps), createWithLink(links, deps, 'preferences')),
  ];
}
