import { hash, randomBytes } from 'node:crypto';
import type { TestApi, TestResponse } from './api.ts';

/** Parameters to change. Null leaves one out. */
export type Changes = Record<string, string | null>;

export interface AssistantOptions {
  /** The client's id; by default the client registers itself. */
  clientId?: string;
  name?: string;
  redirectUri?: string;
}

/** A program that wants access, whose requests a test may change. */
export interface Assistant {
  clientId: string;
  redirectUri: string;
  /** Where the user signs in and decides. */
  authorizationUrl(changes?: Changes): URL;
  /** Sends a token request as it is. */
  token(params: Record<string, string>): Promise<TestResponse>;
  exchange(code: string | null, changes?: Changes): Promise<TestResponse>;
  refresh(refreshToken: string, changes?: Changes): Promise<TestResponse>;
}

const PROTOCOL = '2026-07-28';
export const REDIRECT_URI = 'http://127.0.0.1/callback';

function withChanges(params: Record<string, string>, changes: Changes): Record<string, string> {
  const kept = Object.entries({ ...params, ...changes }).filter(([, value]) => value !== null);
  return Object.fromEntries(kept) as Record<string, string>;
}

/** Registers a client, and returns the response. */
export function register(api: TestApi, metadata: Record<string, unknown> = {}): Promise<TestResponse> {
  return api.request('POST', '/oauth/register', {
    token: null,
    body: { client_name: 'Test client', redirect_uris: [REDIRECT_URI], ...metadata },
  });
}

export async function createAssistant(api: TestApi, options: AssistantOptions = {}): Promise<Assistant> {
  const { redirectUri = REDIRECT_URI, name = 'Test client' } = options;
  const described = { client_name: name, redirect_uris: [redirectUri] };
  const clientId = options.clientId ?? String((await register(api, described)).body.client_id);
  const verifier = randomBytes(32).toString('base64url');
  const resource = `${api.baseUrl}/mcp`;

  const assistant: Assistant = {
    clientId,
    redirectUri,
    authorizationUrl(changes = {}) {
      const params = {
        response_type: 'code',
        client_id: clientId,
        redirect_uri: redirectUri,
        resource,
        scope: 'mcp:read',
        state: 'the state',
        code_challenge: hash('sha256', verifier, 'base64url'),
        code_challenge_method: 'S256',
      };
      const query = new URLSearchParams(withChanges(params, changes));
      return new URL(`/oauth/authorize?${query.toString()}`, api.baseUrl);
    },
    token: (params) =>
      api.request('POST', '/oauth/token', {
        token: null,
        headers: { 'Content-Type': 'application/x-www-form-urlencoded' },
        rawBody: new URLSearchParams(params).toString(),
      }),
    exchange(code, changes = {}) {
      const grant_type = 'authorization_code';
      const params = { grant_type, client_id: clientId, redirect_uri: redirectUri, code_verifier: verifier };
      return assistant.token(withChanges({ ...params, code: code ?? '' }, changes));
    },
    refresh(refreshToken, changes = {}) {
      const params = { grant_type: 'refresh_token', client_id: clientId, refresh_token: refreshToken };
      return assistant.token(withChanges(params, changes));
    },
  };
  return assistant;
}

/** Calls a tool as clients of the specification of 2026 do. */
export function callTool(
  api: TestApi,
  token: string | null,
  name: string,
  args: Record<string, unknown> = {},
  headers: Record<string, string> = {},
): Promise<TestResponse> {
  const _meta = {
    'io.modelcontextprotocol/protocolVersion': PROTOCOL,
    'io.modelcontextprotocol/clientInfo': { name: 'test', version: '1' },
    'io.modelcontextprotocol/clientCapabilities': {},
  };
  return api.request('POST', '/mcp', {
    token,
    headers: {
      Accept: 'application/json, text/event-stream',
      'MCP-Protocol-Version': PROTOCOL,
      'Mcp-Method': 'tools/call',
      'Mcp-Name': name,
      ...headers,
    },
    body: { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name, arguments: args, _meta } },
  });
}
