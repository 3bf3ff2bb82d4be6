import { AppError, notFound } from '../../errors.ts';
import { bundleFolder, LICENCES_FILE, PROJECT } from '../../local/console/bundle-files.ts';
import type { OwnOrigin } from '../../platform/auth/own-origin.ts';
import type { HttpContext } from '../../platform/http/context.ts';
import { defineRoute, type RawResult, type RouteDefinition } from '../../platform/http/route.ts';
import { type Asset, createBundle } from './bundle.ts';
import { consolePage, missingPage, redirectTo } from './page.ts';

export interface ConsoleRouteDeps {
  ownOrigin: OwnOrigin;
  /** The folder of the bundle; another one in tests. */
  folder?: string | undefined;
}

const PATH = '/console';
const ASSETS = `${PATH}/assets`;
/** The build gives a file another name when its content changes. */
const HASHED = /-[\w-]{8}[.]\w+$/;
/** The notices of the packages in the bundle. */
const LICENCES = `${PATH}/${LICENCES_FILE}`;
const IMMUTABLE = 'public, max-age=31536000, immutable';

const shared = {
  method: 'GET',
  tag: 'Console',
  auth: 'none',
  opaque: true,
  assistants: 'never',
  responses: { 200: { description: 'The page or file.', schema: null, contentType: '*/*' } },
} as const;

function encodingOf(ctx: HttpContext, asset: Asset): { body: Buffer; encoding?: 'br' | 'gzip' } {
  for (const encoding of ['br', 'gzip'] as const) {
    const body = asset[encoding];
    // Asked for each by itself: of two that the client likes the same, Koa would take the one that it names first.
    if (body && ctx.acceptsEncodings(encoding) === encoding) return { body, encoding };
  }
  return { body: asset.plain };
}

function assetResult(ctx: HttpContext, name: string, asset: Asset): RawResult {
  const { body, encoding } = encodingOf(ctx, asset);
  return {
    status: 200,
    raw: { contentType: asset.contentType, body },
    headers: {
      'Cache-Control': HASHED.test(name) ? IMMUTABLE : 'public, max-age=300',
      'Cross-Origin-Resource-Policy': 'same-origin',
      Vary: 'Accept-Encoding',
      ...(encoding ? { 'Content-Encoding': encoding } : {}),
    },
  };
}

/** Returns the name of the file that a path names; null for a page. */
function fileNameOf(path: string): string | null {
  if (path === LICENCES) return LICENCES_FILE;
  if (path !== ASSETS && !path.startsWith(`${ASSETS}/`)) return null;
  return path.slice(ASSETS.length + 1);
}

function landingRoute(ownOrigin: OwnOrigin): RouteDefinition {
  return defineRoute({
    method: 'GET',
    path: '/',
    operationId: 'getLanding',
    tag: 'Description',
    summary: 'Redirect browsers to the console',
    description:
      'Only if `Accept` contains `text/html`; other clients get 404. Where there is no console, which is anywhere but at ' +
      '`PUBLIC_URL`, browsers are redirected to this description.',
    auth: 'none',
    responses: { 302: { description: 'The address of the page.', schema: null, contentType: 'text/plain' } },
    errors: ['not_found'],
    handler({ ctx: { req } }) {
      if (!req.headers.accept?.includes('text/html')) {
        throw new AppError('not_found', 'there is nothing at this path');
      }
      return {
        status: 302,
        raw: { contentType: 'text/plain; charset=utf-8', body: 'The API is described at /docs.\n' },
        headers: { Location: ownOrigin.of(req.headers) ? `.${PATH}` : './docs', Vary: 'Accept' },
      };
    },
  });
}

/**
 * `GET /console` and everything below it: the page, which reads from its address what to show, and its files in
 * `/console/assets`. A missing file is a 404 and never the page, which a browser would take for a broken script. `GET /`
 * leads there.
 */
export function createConsoleRoutes({ ownOrigin, folder }: ConsoleRouteDeps): RouteDefinition[] {
  const bundle = createBundle(folder ?? bundleFolder(PROJECT));

  async function answer(ctx: HttpContext): Promise<RawResult> {
    const name = fileNameOf(ctx.path);
    if (!ownOrigin.of(ctx.req.headers)) {
      // Names such as links.<domain> lead here, too. A page there would be part of a customer's site.
      const instead = name === null ? ownOrigin.insteadOf(ctx.req.headers) : null;
      if (!instead) throw notFound('page');
      return redirectTo(`${instead.origin}${ctx.path}${ctx.search}`);
    }
    const built = await bundle();
    if (name === null) return built ? consolePage(built.page) : missingPage();
    const asset = built?.files.get(name);
    if (!asset) throw notFound('file');
    return assetResult(ctx, name, asset);
  }

  const handler = ({ ctx }: { ctx: HttpContext }) => answer(ctx);
  return [
    landingRoute(ownOrigin),
    defineRoute({ ...shared, path: PATH, operationId: 'getConsole', summary: 'The console', handler }),
    defineRoute({
      ...shared,
      path: `${PATH}/{*path}`,
      operationId: 'getConsolePage',
      summary: 'Pages and files of the console',
      handler,
    }),
  ];
}
