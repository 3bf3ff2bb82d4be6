/** What users attach to a conversation: templates, reports of campaigns, and the description of the API. */
import {
  type CallToolResult,
  type ListResourcesResult,
  ProtocolError,
  ProtocolErrorCode,
  type ReadResourceResult,
  type Resource,
  ResourceNotFoundError,
  type ResourceTemplateType,
} from '@modelcontextprotocol/server';
import { z } from 'zod';
import type { McpScope } from '../../platform/auth/grant-caller.ts';
import { ID_DIGITS } from '../../platform/db/paging.ts';

/** What resources are read with, as the user of the grant. */
export interface ResourceSource {
  /** Calls a tool, which checks scopes and the brand. */
  call(tool: string, args: Record<string, unknown>): Promise<CallToolResult>;
  /** Returns the description of the API in YAML. */
  description(): string;
}

/** The newest of each kind are listed. Assistants find older ones by tools. */
const MAX_LISTED = 50;
const JSON_TYPE = 'application/json';

const description: Resource = {
  uri: 'carillon://openapi.yaml',
  name: 'openapi',
  title: 'Description of the API',
  description:
    'Every operation of the HTTP API in OpenAPI 3.1. It is long: find_operation shows one operation.',
  mimeType: 'application/yaml',
};

interface Kind {
  name: string;
  title: string;
  description: string;
  /** The last part of the URI, after the id. */
  suffix: string;
  folder: string;
  /** The tool that returns one, by `id`. */
  read: string;
  /** The tool that lists them, newest first. */
  list: string;
  listArgs: Record<string, unknown>;
  /** Whether an item of that list is a resource. */
  has(item: Listed): boolean;
}

const kinds: readonly Kind[] = [
  {
    name: 'template',
    title: 'Template',
    description: 'A template with its content.',
    folder: 'templates',
    suffix: '',
    read: 'get_template',
    list: 'list_templates',
    listArgs: { summary: 'true' },
    has: () => true,
  },
  {
    name: 'campaign_report',
    title: 'Report of a campaign',
    description: 'Deliveries, bounces, opens, clicks and links of a campaign.',
    folder: 'campaigns',
    suffix: '/report',
    read: 'get_campaign_report',
    list: 'list_campaigns',
    listArgs: { summary: 'true' },
    has: ({ status }) => status !== 'draft',
  },
];

const listedSchema = z.object({ id: z.int(), name: z.string().nullish(), status: z.string().optional() });
type Listed = z.infer<typeof listedSchema>;
const pageSchema = z.object({ items: z.array(listedSchema) });
const refusalSchema = z.object({ code: z.string(), message: z.string() });

const uriOf = (kind: Kind, brandId: number | string, id: number | string): string =>
  `carillon://brands/${brandId}/${kind.folder}/${id}${kind.suffix}`;

export const resourceTemplates: ResourceTemplateType[] = kinds.map((kind) => ({
  uriTemplate: uriOf(kind, '{brand_id}', '{id}'),
  name: kind.name,
  title: kind.title,
  description: kind.description,
  mimeType: JSON_TYPE,
}));

/** @throws ProtocolError for a refusal; ResourceNotFoundError if there is no such resource for this user */
function contentOf(result: CallToolResult, uri: string): unknown {
  if (!result.isError) return result.structuredContent;
  const { data } = refusalSchema.safeParse(result.structuredContent);
  if (data?.code === 'not_found') throw new ResourceNotFoundError(uri);
  throw new ProtocolError(ProtocolErrorCode.InvalidRequest, data?.message ?? 'the resource cannot be read', {
    code: data?.code,
  });
}

async function listKind(source: ResourceSource, kind: Kind, brandId: number): Promise<Resource[]> {
  const args = { ...kind.listArgs, limit: MAX_LISTED, brand_id: brandId };
  const result = await source.call(kind.list, args);
  const { items } = pageSchema.parse(contentOf(result, uriOf(kind, brandId, '')));
  return items
    .filter((item) => kind.has(item))
    .map(({ id, name }) => ({
      uri: uriOf(kind, brandId, id),
      name: `${kind.name}_${id}`,
      title: `${kind.title}: ${name ?? id}`,
      mimeType: JSON_TYPE,
    }));
}

/**
 * Lists the description of the API, and the newest templates and reports of a brand.
 * @param brandId the brand that the user has selected; null if none
 */
export async function listResources(
  source: ResourceSource,
  brandId: number | null,
): Promise<ListResourcesResult> {
  const lists =
    brandId === null ? [] : await Promise.all(kinds.map((kind) => listKind(source, kind, brandId)));
  return { resources: [description, ...lists.flat()] };
}

/** @returns null if no resource has such a URI */
function parse(uri: string): { kind: Kind; brandId: number; id: number } | null {
  const [, brandId, folder, id, suffix = ''] =
    /^carillon:\/\/brands\/(\d+)\/([a-z]+)\/(\d+)(\/[a-z]+)?$/.exec(uri) ?? [];
  const kind = kinds.find((each) => each.folder === folder && each.suffix === suffix);
  if (!kind || !ID_DIGITS.test(brandId ?? '') || !ID_DIGITS.test(id ?? '')) return null;
  return { kind, brandId: Number(brandId), id: Number(id) };
}

/** The scopes that reading a resource needs. The description of the API needs none. */
export const scopesOfResource = (uri: unknown): McpScope[] =>
  typeof uri === 'string' && parse(uri) ? ['mcp:read'] : [];

/** @throws ResourceNotFoundError if there is no such resource for this user; ProtocolError for other refusals */
export async function readResource(source: ResourceSource, uri: string): Promise<ReadResourceResult> {
  if (uri === description.uri) {
    return { contents: [{ uri, mimeType: 'application/yaml', text: source.description() }] };
  }
  const found = parse(uri);
  if (!found) throw new ResourceNotFoundError(uri);
  const result = await source.call(found.kind.read, { id: found.id, brand_id: found.brandId });
  return { contents: [{ uri, mimeType: JSON_TYPE, text: JSON.stringify(contentOf(result, uri)) }] };
}
