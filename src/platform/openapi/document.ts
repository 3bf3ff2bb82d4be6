import type { RouteDefinition } from '../http/route.ts';
import { createComponents, type Components, type JsonObject } from './components.ts';
import { createErrorResponses } from './error-responses.ts';
import { describeOperation, templatedPath } from './operation.ts';
import { errorSchema, securitySchemes, sharedHeaders, sharedParameters } from './shared-parts.ts';

/** The `webhooks` section of the document: requests that the service sends. */
export interface WebhookSection {
  tag: { name: string; description: string };
  /** @returns a path item per event type; schemas go to `components` */
  describe(components: Components): JsonObject;
}

export interface DocumentOptions {
  /** The service's base address; null means the address that the document was fetched from. */
  publicUrl: string | null;
  webhooks: WebhookSection | null;
}

const INTRODUCTION = [
  'Email and SMS: transactional messages, their events, and what belongs to them.',
  'Every answer carries `X-Request-Id`. Every error has the same shape and a `code` to match on. A path that exists ' +
    'answers a method it does not know with 405 and `Allow`.',
  'Lists are bare arrays, newest first. Unknown fields and query parameters are refused; fields of a resource that ' +
    'only the service sets may be sent back and are ignored.',
  'Within v1, fields and values may be added; nothing is taken away.',
].join('\n\n');

/** Descriptions of tags; a tag without one stands by its name. */
const tagDescriptions: Record<string, string> = {
  Messages: 'One email or SMS a request.',
  Webhooks: 'Where events are sent to.',
  Uploads: 'Files such as logos and avatars.',
  Operation: 'For those who run the service.',
  Description: 'What you read here.',
  Login: 'For people; programs use an API key.',
  Account: 'Limits, sender defaults and onboarding.',
  Brand: 'The identity that messages are sent in.',
  Delivery: 'What may be sent now.',
};

/** What is not for those who send messages comes last. */
const LAST_TAGS = ['Operation', 'Description'];

function tagsOf(routes: RouteDefinition[], webhooks: WebhookSection | null): JsonObject[] {
  const names = [...new Set(routes.map((route) => route.tag))];
  const tags = names.map((name) => {
    const description = tagDescriptions[name];
    return { name, ...(description === undefined ? {} : { description }) };
  });
  const all = webhooks ? [...tags, webhooks.tag] : tags;
  return all.sort((one, other) => LAST_TAGS.indexOf(one.name) - LAST_TAGS.indexOf(other.name));
}

/**
 * The OpenAPI 3.1 description of these routes, from the very schemas that parse requests.
 * Plain JSON values, no two parts shared.
 */
export function buildOpenApiDocument(routes: RouteDefinition[], options: DocumentOptions): JsonObject {
  const components = createComponents();
  const errors = createErrorResponses();
  const paths: Record<string, JsonObject> = {};
  for (const route of routes) {
    const path = templatedPath(route.path);
    paths[path] = {
      ...paths[path],
      [route.method.toLowerCase()]: describeOperation(route, components, errors),
    };
  }
  const webhooks = options.webhooks?.describe(components) ?? {};
  const document = {
    openapi: '3.1.0',
    info: {
      title: 'Carillon',
      version: '1',
      summary: 'Email and SMS messaging',
      description: INTRODUCTION,
      license: { name: 'MIT', identifier: 'MIT' },
    },
    servers: [{ url: options.publicUrl ?? '/' }],
    security: [{ apiKey: [] }, { session: [] }],
    tags: tagsOf(routes, options.webhooks),
    paths,
    webhooks,
    components: {
      schemas: { Error: errorSchema, ...components.schemas() },
      responses: errors.responses(),
      headers: sharedHeaders,
      parameters: sharedParameters,
      securitySchemes,
    },
  };
  return structuredClone(document);
}
