import type { RouteDefinition } from '../http/route.ts';
import { createComponents, type Components, type JsonObject } from './components.ts';
import { createErrorResponses } from './error-responses.ts';
import { describeOperation, describeResponses, templatedPath } from './operation.ts';
import {
  credentials,
  errorSchema,
  securitySchemes,
  sharedHeaders,
  sharedParameters,
} from './shared-parts.ts';

/** The `webhooks` section of the document: requests that the service sends. */
export interface WebhookSection {
  tag: { name: string; description: string };
  /** @returns a path item for each event type; the schemas are added to `components` */
  describe(components: Components): JsonObject;
}

export interface DocumentOptions {
  /** The service's base URL; null means the address that the document was fetched from. */
  publicUrl: string | null;
  webhooks: WebhookSection | null;
}

const INTRODUCTION = [
  'Send transactional email and SMS, and receive events about them.',
  'Every response has the header `X-Request-Id`. Every error has the same shape and a `code` to match on. A known path ' +
    'answers an unsupported method with 405 and `Allow`.',
  'Lists are bare arrays, newest first. Unknown fields and query parameters are refused. Read-only fields of a ' +
    'resource may be sent back and are ignored. Text must not contain the character NUL.',
  'Within v1, fields and values may be added, but none are removed.',
].join('\n\n');

/** Descriptions of tags. A tag may have none. */
const tagDescriptions: Record<string, string> = {
  Messages: 'One email or SMS per request.',
  Domains: 'Domains that a brand sends from.',
  Inboxes: 'Addresses at which a brand receives mail, and the senders that it blocks.',
  Imports: 'Contacts and suppressions from CSV files.',
  Validation: 'Checks of the email addresses of an audience, on request and for a fee.',
  Webhooks: 'Endpoints that receive events.',
  Contacts: 'The people a brand writes to.',
  Lists: 'Lists of contacts, which clients fill.',
  Segments: 'Contacts selected by what they are and what they did.',
  Drafts: 'Changes of templates, campaigns, flows and segments that are not published yet.',
  Search: 'Resources of the brand by an address, an id or a name.',
  Campaigns: 'One content sent to a list or segment.',
  Templates: 'Contents of emails and SMS, with Liquid.',
  Previews: 'Pages that show a message or content for a minute.',
  Suppressions: 'Addresses that the account does not write to.',
  Events: 'What contacts did, as your own systems report it.',
  Uploads: 'Files such as logos and avatars.',
  Attachments: 'Files that messages send.',
  Conversations: 'Mail that arrived in inboxes of the brand, and answers to it.',
  Exports: 'Data of the brand as CSV files.',
  Operation: 'For operators of the service.',
  Description: 'This description of the API.',
  Login: 'For users; programs use an API key.',
  Users: 'The logged-in user, and the users of the account.',
  Invitations: 'How people become users of the account.',
  Audit: 'Who changed what.',
  MCP: 'What assistants may do for users.',
  'API keys': 'Credentials of programs, each for one brand.',
  OAuth: 'How programs find where users sign in, to connect assistants to `/mcp`.',
  Sessions: 'Where a user is signed in, and what the user may choose.',
  Account: 'Limits, sender defaults and onboarding.',
  Brand: 'The identity that messages are sent as.',
  Stats: 'Figures over time.',
  Delivery: 'What the account may send right now.',
};

/** The tags that matter least to senders of messages come last. */
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
 * Builds the OpenAPI 3.1 description of the routes from the schemas that also parse requests. Opaque routes are left out.
 * @returns plain JSON values; no two parts share an object
 */
export function buildOpenApiDocument(all: RouteDefinition[], options: DocumentOptions): JsonObject {
  const routes = all.filter((route) => !route.opaque);
  const components = createComponents();
  const errors = createErrorResponses();
  const responses = routes.map((route) => describeResponses(route, components, errors));
  const webhooks = options.webhooks?.describe(components) ?? {};
  const paths: Record<string, JsonObject> = {};
  for (const [place, route] of routes.entries()) {
    const path = templatedPath(route.path);
    paths[path] = {
      ...paths[path],
      [route.method.toLowerCase()]: describeOperation(route, components, responses[place] as JsonObject),
    };
  }
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
    security: [...credentials],
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
