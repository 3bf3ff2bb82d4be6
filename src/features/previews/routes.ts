import type { Config } from '../../config.ts';
import { z } from 'zod';
import type { ContentEngine } from '../../delivery/content/templates/content.ts';
import { notFound } from '../../errors.ts';
import type { Database } from '../../platform/db/database.ts';
import { defineRoute, type RouteDefinition } from '../../platform/http/route.ts';
import type { Keyring } from '../../platform/secrets/keyring.ts';
import { createSignedIds, type SignedIds } from '../../platform/secrets/signed-id.ts';
import { createContentReader } from '../messages/service.ts';
import { createBrandOf } from '../templates/service.ts';
import { findPreview, insertPreview } from './model.ts';
import { createPreviewBody, previewSchema } from './schema.ts';
import { type PreviewDeps, renderPreview } from './service.ts';

export interface PreviewRouteDeps {
  config: Pick<Config, 'PUBLIC_URL'>;
  database: Database;
  keyring: Keyring;
  contents: ContentEngine;
}

const tag = 'Previews';
const LIFETIME = 'The page can be opened for 60 seconds.';

/**
 * The page runs nothing and has an origin of its own, so that nothing in it can reach the API. It loads images over
 * https only, except those of a service without https, and its requests for them have no referrer.
 */
function pageHeaders(publicUrl: string | null): Record<string, string> {
  const own = publicUrl?.startsWith('http:') ? ` ${new URL(publicUrl).origin}` : '';
  return {
    'Content-Security-Policy': [
      'sandbox',
      "default-src 'none'",
      `img-src https: data:${own}`,
      "style-src 'unsafe-inline'",
      "form-action 'none'",
      "base-uri 'none'",
      "frame-ancestors 'self'",
    ].join('; '),
    'Cache-Control': 'no-store',
    'Referrer-Policy': 'no-referrer',
    'X-Frame-Options': 'SAMEORIGIN',
  };
}

function createRoute(deps: PreviewDeps, signedIds: SignedIds): RouteDefinition {
  return defineRoute({
    method: 'POST',
    path: '/v1/my/previews',
    operationId: 'createPreview',
    tag,
    summary: 'Make a page that shows a message or content',
    description:
      'Shows a message, a template, the content of a campaign or of a flow’s step, or a content that is not saved. ' +
      `${LIFETIME} It is not tracked: opening it records nothing, and links to unsubscribe lead nowhere. A content that ` +
      'cannot be rendered is a 422.',
    auth: 'brand',
    testKeys: 'refused',
    // The page needs no credentials, and a message may have texts of strangers.
    assistants: { without: ['message_id'] },
    audit: 'none',
    idempotency: 'none',
    body: createPreviewBody,
    responses: { 201: { description: 'The URL of the page.', schema: previewSchema } },
    async handler({ tenant, body, publicUrl }) {
      const { id, expires_at } = await insertPreview(
        deps.pool,
        tenant,
        await renderPreview(deps, tenant, body),
      );
      const url = `${publicUrl}/previews/${signedIds.sign('preview', { accountId: tenant.accountId, id })}`;
      return { status: 201, body: { url, expires_at: expires_at.toISOString() } };
    },
  });
}

function showRoute({ pool, publicUrl }: PreviewDeps, signedIds: SignedIds): RouteDefinition {
  const headers = pageHeaders(publicUrl);
  return defineRoute({
    method: 'GET',
    path: '/previews/:token',
    operationId: 'showPreview',
    tag,
    summary: 'Show a preview',
    description: LIFETIME,
    auth: 'none',
    opaque: true,
    params: z.strictObject({ token: z.string() }),
    responses: { 200: { description: 'The page.', schema: null, contentType: 'text/html' } },
    async handler({ params: { token } }) {
      const row = signedIds.verify('preview', token);
      const page = row && (await findPreview(pool, row, row.id));
      if (page === null) throw notFound('preview');
      return {
        status: 200,
        raw: { contentType: 'text/html; charset=utf-8', body: page },
        headers,
      };
    },
  });
}

/** `POST /v1/my/previews`, and the pages. */
export function createPreviewRoutes({
  config,
  database: { pool },
  keyring,
  contents,
}: PreviewRouteDeps): RouteDefinition[] {
  const publicUrl = config.PUBLIC_URL ?? null;
  const brandOf = createBrandOf(pool, keyring, publicUrl);
  const readMessage = createContentReader({ pool, contents, brandOf });
  const deps: PreviewDeps = { pool, contents, brandOf, publicUrl, readMessage };
  const signedIds = createSignedIds(keyring);
  return [createRoute(deps, signedIds), showRoute(deps, signedIds)];
}
