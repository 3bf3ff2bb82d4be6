// Behind a proxy that ends TLS, clients and browsers see only PUBLIC_URL, and everything works there and nowhere else.
import http from 'node:http';
import https from 'node:https';
import type { AddressInfo } from 'node:net';
import tls from 'node:tls';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startTestApi, type TestApi } from '../../support/api.ts';
import { callTool, createAssistant, type Assistant } from '../../support/assistant.ts';
import { createHeadlessUser, UnexpectedPage } from '../../support/headless-user.ts';
import { testCa, testIdentity } from '../../support/https-receiver.ts';
import { createTypescriptClient } from '../../support/mcp-clients/typescript.ts';

describe('behind a proxy', () => {
  let api: TestApi;
  let proxy: https.Server;
  let publicUrl: string;
  const trusted = tls.getCACertificates('default');

  beforeAll(async () => {
    proxy = https.createServer(testIdentity, (request, response) => {
      const { method, url: path, headers } = request;
      const forwarded = http.request({ port: api.port, method, path, headers }, (answer) => {
        response.writeHead(answer.statusCode ?? 502, answer.headers);
        answer.pipe(response);
      });
      request.pipe(forwarded);
    });
    await new Promise<void>((resolve) => proxy.listen(0, resolve));
    publicUrl = `https://127.0.0.1:${(proxy.address() as AddressInfo).port}`;
    tls.setDefaultCACertificates([...trusted, testCa]);
    api = await startTestApi({ env: { PUBLIC_URL: publicUrl } });
  });
  afterAll(async () => {
    tls.setDefaultCACertificates(trusted);
    await api.close();
    proxy.closeAllConnections();
    await new Promise((resolve) => proxy.close(resolve));
  });

  it('connects a real client', async () => {
    const user = createHeadlessUser({ origin: publicUrl, email: api.email });
    const client = createTypescriptClient({
      url: `${publicUrl}/mcp`,
      era: 'modern',
      document: null,
      redirectUrl: 'http://127.0.0.1:1/callback',
      home: '',
      authorize: (url) => user.authorize(url),
    });
    const { result } = await client.run('whoami');
    expect(result).toMatchObject({ user: { email: api.email } });
    // Browsers send such cookies only over TLS, and only to this host.
    expect([...user.cookies.keys()]).toEqual(expect.arrayContaining([expect.stringMatching(/^__Host-/)]));
  });

  describe('at another name', () => {
    let assistant: Assistant;
    beforeAll(async () => {
      assistant = await createAssistant({ ...api, baseUrl: publicUrl }, { clientId: 'any' });
    });

    it('names PUBLIC_URL in the challenge and the metadata', async () => {
      const challenge = await callTool(api, null, 'whoami');
      const resource = await api.request('GET', '/.well-known/oauth-protected-resource/mcp', { token: null });
      const server = await api.request('GET', '/.well-known/oauth-authorization-server', { token: null });
      expect(challenge.headers.get('www-authenticate')).toContain(
        `"${publicUrl}/.well-known/oauth-protected-resource/mcp"`,
      );
      expect(resource.body.resource).toBe(`${publicUrl}/mcp`);
      expect(server.body.issuer).toBe(publicUrl);
      expect(server.body.token_endpoint).toBe(`${publicUrl}/oauth/token`);
    });

    it('shows no page, and gives no tokens', async () => {
      const user = createHeadlessUser({ origin: api.baseUrl, email: api.email });
      const url = new URL(assistant.authorizationUrl().href.replace(publicUrl, api.baseUrl));
      await expect(user.authorize(url)).rejects.toThrow(UnexpectedPage);
      const answer = await api.request('POST', '/oauth/token', {
        token: null,
        headers: { 'Content-Type': 'application/x-www-form-urlencoded' },
        rawBody: 'grant_type=refresh_token&refresh_token=x&client_id=y',
      });
      expect(answer.status).toBe(404);
    });
  });
});
