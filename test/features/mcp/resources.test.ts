// Templates, reports and the API description are read as resources, by the tools and for the brand that the URI names.
import { describe, expect, it } from '@jest/globals';
import { type CallToolResult, ProtocolError, ResourceNotFoundError } from '@modelcontextprotocol/server';
import {
  listResources,
  readResource,
  resourceTemplates,
  type ResourceSource,
} from '../../../src/features/mcp/resources.ts';

interface Called {
  tool: string;
  args: Record<string, unknown>;
}

/** A source that returns these results in turn. */
function sourceOf(...results: Pick<CallToolResult, 'isError' | 'structuredContent'>[]) {
  const called: Called[] = [];
  const source: ResourceSource = {
    async call(tool, args) {
      called.push({ tool, args });
      return { content: [], ...results[called.length - 1] };
    },
    description: () => 'openapi: 3.1.0\n',
  };
  return { source, called };
}

const refusal = (code: string) => ({ isError: true, structuredContent: { code, message: `${code}!` } });

describe('the list of resources', () => {
  it('has the API description, and the newest templates and reports of the brand, without drafts', async () => {
    const { source, called } = sourceOf(
      {
        structuredContent: {
          items: [
            { id: 4, name: 'Welcome' },
            { id: 3, name: null },
          ],
        },
      },
      {
        structuredContent: {
          items: [
            { id: 9, name: 'Later', status: 'draft' },
            { id: 8, name: 'Spring', status: 'completed' },
          ],
        },
      },
    );
    const { resources } = await listResources(source, 2);
    expect(resources.map(({ uri, title }) => [uri, title])).toEqual([
      ['carillon://openapi.yaml', 'Description of the API'],
      ['carillon://brands/2/templates/4', 'Template: Welcome'],
      ['carillon://brands/2/templates/3', 'Template: 3'],
      ['carillon://brands/2/campaigns/8/report', 'Report of a campaign: Spring'],
    ]);
    const args = { brand_id: 2, limit: 50, summary: 'true' };
    expect(called).toEqual([
      { tool: 'list_templates', args },
      { tool: 'list_campaigns', args },
    ]);
  });

  it('has only the description if no brand is selected', async () => {
    const { source, called } = sourceOf();
    expect((await listResources(source, null)).resources).toHaveLength(1);
    expect(called).toEqual([]);
  });

  it('names a template of URIs for each kind', () => {
    expect(resourceTemplates.map(({ uriTemplate }) => uriTemplate)).toEqual([
      'carillon://brands/{brand_id}/templates/{id}',
      'carillon://brands/{brand_id}/campaigns/{id}/report',
    ]);
  });
});

describe('a resource', () => {
  it.each([
    ['carillon://brands/2/templates/4', 'get_template'],
    ['carillon://brands/2/campaigns/4/report', 'get_campaign_report'],
  ])('%s is what %s returns', async (uri, tool) => {
    const { source, called } = sourceOf({ structuredContent: { result: { id: 4 } } });
    const { contents } = await readResource(source, uri);
    expect(contents).toEqual([{ uri, mimeType: 'application/json', text: '{"result":{"id":4}}' }]);
    expect(called).toEqual([{ tool, args: { id: 4, brand_id: 2 } }]);
  });

  it('carillon://openapi.yaml is the API description', async () => {
    const { contents } = await readResource(sourceOf().source, 'carillon://openapi.yaml');
    expect(contents).toMatchObject([{ mimeType: 'application/yaml', text: 'openapi: 3.1.0\n' }]);
  });

  it.each([
    'carillon://brands/2/templates/4/report',
    'carillon://brands/2/campaigns/4',
    'carillon://brands/2/users/4',
    'carillon://brands/0/templates/4',
    'carillon://brands/2/templates/4?x=1',
    'carillon://brands/2/templates/../webhooks/4',
    'https://example.com/',
    '',
  ])('%s is not found, and nothing is called', async (uri) => {
    const { source, called } = sourceOf({ structuredContent: {} });
    await expect(readResource(source, uri)).rejects.toThrow(ResourceNotFoundError);
    expect(called).toEqual([]);
  });

  it('of another tenant is not found, and other refusals say why', async () => {
    const uri = 'carillon://brands/2/templates/4';
    const missing = readResource(sourceOf(refusal('not_found')).source, uri);
    await expect(missing).rejects.toThrow(ResourceNotFoundError);
    const limited = readResource(sourceOf(refusal('rate_limited')).source, uri);
    await expect(limited).rejects.toThrow(new ProtocolError(-32600, 'rate_limited!'));
  });
});
