import { stringify } from 'yaml';
import { z } from 'zod';
import { defineRoute, type RawResult, type RouteDefinition } from '../http/route.ts';
import { buildOpenApiDocument, type DocumentOptions } from './document.ts';
import { createPageFiles, pageFileNames, type PageFile } from './page-files.ts';

export interface DescriptionDeps extends DocumentOptions {
  /**
   * Returns every route that is served, including those of the description. Called when the description is first
   * requested.
   */
  routes: () => RouteDefinition[];
}

const tag = 'Description';
/** Many parsers still read YAML 1.1, in which `yes` and `2026-03-01` are no texts: texts like these are quoted. */
const YAML = { lineWidth: 110, aliasDuplicateObjects: false, compat: 'yaml-1.1' } as const;
const CACHE = { 'Cache-Control': 'public, max-age=300' };

/** Allows the scripts of the page and the request for the description. The icons of Swagger UI are `data:` images. */
const PAGE_POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; " +
  "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/** The description in both notations. All responses share the bytes. */
export interface Description {
  json(): Buffer;
  yaml(): Buffer;
}

/** Creates the description, which is built on first use. */
export function createDescription(deps: DescriptionDeps): Description {
  let document: object | null = null;
  const made: { json?: Buffer; yaml?: Buffer } = {};
  const described = () => (document ??= buildOpenApiDocument(deps.routes(), deps));
  return {
    json: () => (made.json ??= Buffer.from(JSON.stringify(described()))),
    yaml: () => (made.yaml ??= Buffer.from(stringify(described(), YAML))),
  };
}

function descriptionRoute(notation: 'json' | 'yaml', bytes: () => Buffer): RouteDefinition {
  const contentType = notation === 'json' ? 'application/json' : 'application/yaml';
  return defineRoute({
    method: 'GET',
    path: `/openapi.${notation}`,
    operationId: notation === 'json' ? 'getOpenApiJson' : 'getOpenApiYaml',
    tag,
    summary: `This description, in ${notation.toUpperCase()}`,
    auth: 'none',
    responses: { 200: { description: 'An OpenAPI 3.1 document.', schema: null, contentType } },
    handler: () => ({ status: 200, raw: { contentType, body: bytes() }, headers: CACHE }),
  });
}

function fileResult(file: PageFile, acceptEncoding: string | undefined): RawResult {
  const compressed = /\bgzip\b/.test(acceptEncoding ?? '');
  return {
    status: 200,
    raw: { contentType: file.contentType, body: compressed ? file.gzipped : file.plain },
    headers: { ...CACHE, Vary: 'Accept-Encoding', ...(compressed ? { 'Content-Encoding': 'gzip' } : {}) },
  };
}

function pageRoutes(): RouteDefinition[] {
  const fileOf = createPageFiles();
  return [
    defineRoute({
      method: 'GET',
      path: '/docs',
      operationId: 'getDocs',
      tag,
      summary: 'This description as a page',
      auth: 'none',
      responses: { 200: { description: 'The page.', schema: null, contentType: 'text/html' } },
      async handler({ ctx }) {
        const result = fileResult(await fileOf('index.html'), ctx.req.headers['accept-encoding']);
        return { ...result, headers: { ...result.headers, 'Content-Security-Policy': PAGE_POLICY } };
      },
    }),
    defineRoute({
      method: 'GET',
      path: '/docs/assets/:name',
      operationId: 'getDocsAsset',
      tag,
      summary: 'Scripts and styles of the page',
      auth: 'none',
      params: z.object({ name: z.enum(pageFileNames) }),
      responses: { 200: { description: 'The file.', schema: null, contentType: '*/*' } },
      handler: async ({ ctx, params }) =>
        fileResult(await fileOf(params.name), ctx.req.headers['accept-encoding']),
    }),
  ];
}

/** `GET /openapi.yaml`, `/openapi.json`, and `/docs` with its files. */
export function createOpenApiRoutes({ json, yaml }: Description): RouteDefinition[] {
  return [descriptionRoute('yaml', yaml), descriptionRoute('json', json), ...pageRoutes()];
}
