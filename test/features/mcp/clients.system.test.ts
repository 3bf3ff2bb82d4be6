// The SDKs for TypeScript and Python and the inspector connect by themselves: they register, ask the user, call, refresh.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import tls from 'node:tls';
import { expect, it } from '@jest/globals';
import { startTestApi, type TestApi } from '../../support/api.ts';
import { startDnsServer, type TestDnsServer } from '../../support/dns/server.ts';
import { createHeadlessUser } from '../../support/headless-user.ts';
import { startReceiver, testCa, type Receiver } from '../../support/https-receiver.ts';
import type { Era, McpClient, McpClientSettings } from '../../support/mcp-clients/client.ts';
import { createInspector } from '../../support/mcp-clients/inspector.ts';
import { createPythonClient } from '../../support/mcp-clients/python.ts';
import { findMcpClients, type McpClientTools } from '../../support/mcp-clients/tools.ts';
import { createTypescriptClient } from '../../support/mcp-clients/typescript.ts';
import { testsThatNeed } from '../../support/tests-that-need.ts';
import { toolCache } from '../../support/tools.ts';

const { describe, beforeAll, afterAll } = testsThatNeed('mcp-clients');

/** Far more than a busy machine needs. */
const TIMEOUT_MS = 300_000;
const VERSIONS: Record<Era, string> = { legacy: '2025-11-25', modern: '2026-07-28' };

type Create = (tools: McpClientTools, settings: McpClientSettings) => McpClient;
type Way = readonly [era: Era, way: 'registers itself' | 'has a document'];

const fewWays: Way[] = [
  ['legacy', 'registers itself'],
  ['modern', 'has a document'],
];
const allWays: Way[] = [...fewWays, ['legacy', 'has a document'], ['modern', 'registers itself']];

const clients: [name: string, create: Create, ways: Way[]][] = [
  ['the SDK for TypeScript', (_tools, settings) => createTypescriptClient(settings), allWays],
  ['the SDK for Python', ({ python }, settings) => createPythonClient(python, settings), allWays],
  // It is slow: each call is a process.
  ['the inspector', ({ inspector }, settings) => createInspector(inspector, settings), fewWays],
];

describe('real clients', () => {
  let api: TestApi;
  let dns: TestDnsServer;
  let website: Receiver;
  let tools: McpClientTools;
  let home: string;
  /** Of the inspector, which listens there. */
  let redirectUrl: string;
  const trusted = tls.getCACertificates('default');

  /** The server of the client's document. */
  const documentUrl = () => website.url('/client.json');

  async function freePort(): Promise<number> {
    const server = await startReceiver({ plain: true });
    await server.close();
    return server.port;
  }

  beforeAll(async () => {
    tools = await findMcpClients(await toolCache(), () => undefined);
    home = await mkdtemp(join(tmpdir(), 'carillon-mcp-'));
    redirectUrl = `http://127.0.0.1:${await freePort()}/oauth/callback`;
    dns = await startDnsServer({ 'receiver.test': { A: ['127.0.0.1'] } });
    website = await startReceiver({
      answer: (_request, response) =>
        void response.setHeader('Content-Type', 'application/json').end(
          JSON.stringify({
            client_id: documentUrl(),
            client_name: 'A client with a document',
            redirect_uris: ['http://127.0.0.1/oauth/callback'],
            token_endpoint_auth_method: 'none',
          }),
        ),
    });
    tls.setDefaultCACertificates([...trusted, testCa]);
    api = await startTestApi({ env: { DNS_SERVERS: dns.address, EGRESS_ALLOW: '127.0.0.0/8' } });
  });
  afterAll(async () => {
    tls.setDefaultCACertificates(trusted);
    await api.close();
    await website.close();
    dns.close();
    await rm(home, { recursive: true, force: true });
  });

  /** Access tokens last for an hour. */
  const expireAccessTokens = () =>
    api.database.pool.query(`update oauth_tokens set expires_at = now() where model = 'AccessToken'`);

  /** The grants of the latest authorizations, the oldest first. */
  async function grantsSince(id: number) {
    const { rows } = await api.database.pool.query<{
      client: string;
      scopes: string[];
      refreshTokens: number;
    }>(
      `select client_id as client, scopes, (select count(*)::int from oauth_tokens t
         where t.grant_id = g.id and model = 'RefreshToken') as "refreshTokens"
       from oauth_grants g where id > $1 order by id`,
      [id],
    );
    return rows;
  }

  async function lastGrant(): Promise<number> {
    const { rows } = await api.database.pool.query('select coalesce(max(id), 0) as id from oauth_grants');
    return Number(rows[0].id);
  }

  describe.each(clients)('%s', (_name, create, ways) => {
    it.each(ways)(
      '%s: %s, calls a tool, refreshes, and asks for another scope',
      async (era, way) => {
        const document = way === 'has a document' ? documentUrl() : null;
        const user = createHeadlessUser({ origin: api.baseUrl, email: api.email });
        const before = await lastGrant();
        let asked = 0;
        const client = create(tools, {
          url: `${api.baseUrl}/mcp`,
          era,
          document,
          redirectUrl,
          home: await mkdtemp(join(home, 'client-')),
          authorize(url) {
            asked += 1;
            return user.authorize(url);
          },
        });
        try {
          const first = await client.run('whoami');
          await expireAccessTokens();
          const second = await client.run('whoami');

          expect(first).toMatchObject({ version: VERSIONS[era], result: { user: { email: api.email } } });
          expect(first.tools).toEqual(expect.arrayContaining(['whoami', 'select_brand']));
          expect(second).toEqual(first);
          expect(asked).toBe(1);
          const [grant, ...others] = await grantsSince(before);
          expect(others).toEqual([]);
          expect(grant).toMatchObject({ scopes: ['mcp:read'], refreshTokens: 2 });
          if (document === null) expect(grant?.client).not.toContain('https:');
          else expect(grant?.client).toBe(document);

          // Without any settings of OAuth, the inspector refreshes instead, and gives up.
          if (client.name === 'inspector' && document === null) return;
          await expireAccessTokens();
          const name = `The list of a client of the ${era} era that ${way}`;
          const third = await client.run('create_list', { name });
          expect(JSON.stringify(third.result)).toContain(name);
          expect(asked).toBe(2);
          const [, more] = await grantsSince(before);
          expect(more?.scopes.toSorted()).toEqual(['mcp:read', 'mcp:write']);
          if (document !== null) expect(user.consent).toContain('receiver.test');
        } finally {
          client.close();
        }
      },
      TIMEOUT_MS,
    );
  });

  it('are not signed out if three of their processes refresh at the same time', async () => {
    const user = createHeadlessUser({ origin: api.baseUrl, email: api.email });
    const before = await lastGrant();
    const client = createTypescriptClient({
      url: `${api.baseUrl}/mcp`,
      era: 'modern',
      document: documentUrl(),
      redirectUrl,
      home,
      authorize: (url) => user.authorize(url),
    });
    const first = await client.run('whoami');
    await expireAccessTokens();
    const others = await Promise.all([1, 2, 3].map(() => client.run('whoami')));
    expect(others).toEqual([first, first, first]);
    expect(await grantsSince(before)).toHaveLength(1);
  });

  describe.each(clients.slice(0, 2))('%s', (name, create) => {
    it.each([
      ['deletes a list once the user agrees', true],
      ['deletes nothing if the user declines', false],
    ])('%s', async (_rule, agrees) => {
      const user = createHeadlessUser({ origin: api.baseUrl, email: api.email });
      const questions: string[] = [];
      const client = create(tools, {
        url: `${api.baseUrl}/mcp`,
        era: 'modern',
        document: documentUrl(),
        redirectUrl,
        home,
        authorize: (url) => user.authorize(url),
        answer(question) {
          questions.push(question);
          return agrees;
        },
      });
      try {
        const created = await client.run('create_list', { name: `For ${name}: ${agrees}` });
        const { id } = created.result.result as { id: number };
        const call = { operation: 'delete_list', arguments: { id } };
        const { result } = await client.run('change_operation', call);
        expect(questions).toEqual([expect.stringContaining('Delete')]);
        if (!agrees) expect(result.code).toBe('forbidden');
        const { status } = await api.request('GET', `/v1/my/lists/${id}`);
        expect(status).toBe(agrees ? 404 : 200);
      } finally {
        client.close();
      }
    });
  });
});
