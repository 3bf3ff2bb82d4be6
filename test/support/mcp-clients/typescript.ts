import {
  Client,
  StreamableHTTPClientTransport,
  UnauthorizedError,
  type OAuthClientMetadata,
  type OAuthClientProvider,
  type OAuthDiscoveryState,
  type StoredOAuthClientInformation,
  type StoredOAuthTokens,
} from '@modelcontextprotocol/client';
import type { McpClient, McpClientSettings, McpRun } from './client.ts';

/** Keeps the registration and tokens in memory, and remembers the page that the user is to open. */
class Storage implements OAuthClientProvider {
  readonly redirectUrl: string;
  readonly clientMetadata: OAuthClientMetadata;
  clientMetadataUrl?: string;
  page: URL | undefined;
  #client: StoredOAuthClientInformation | undefined;
  #tokens: StoredOAuthTokens | undefined;
  #verifier = '';
  #discovered: OAuthDiscoveryState | undefined;

  constructor({ redirectUrl, document }: McpClientSettings) {
    this.redirectUrl = redirectUrl;
    if (document !== null) this.clientMetadataUrl = document;
    this.clientMetadata = {
      client_name: 'TypeScript client',
      redirect_uris: [redirectUrl],
      grant_types: ['authorization_code', 'refresh_token'],
      response_types: ['code'],
      token_endpoint_auth_method: 'none',
    };
  }

  state() {
    return 'the state of this client';
  }
  clientInformation() {
    return this.#client;
  }
  saveClientInformation(client: StoredOAuthClientInformation) {
    this.#client = client;
  }
  tokens() {
    return this.#tokens;
  }
  saveTokens(tokens: StoredOAuthTokens) {
    this.#tokens = tokens;
  }
  redirectToAuthorization(url: URL) {
    this.page = url;
  }
  saveCodeVerifier(verifier: string) {
    this.#verifier = verifier;
  }
  codeVerifier() {
    return this.#verifier;
  }
  saveDiscoveryState(state: OAuthDiscoveryState) {
    this.#discovered = state;
  }
  discoveryState() {
    return this.#discovered;
  }
  invalidateCredentials(scope: 'all' | 'client' | 'tokens' | 'verifier' | 'discovery') {
    if (scope === 'all' || scope === 'client') this.#client = undefined;
    if (scope === 'all' || scope === 'tokens') this.#tokens = undefined;
    if (scope === 'all' || scope === 'discovery') this.#discovered = undefined;
  }
}

function newClient({ era, answer }: McpClientSettings): Client {
  const mode = era === 'legacy' ? 'legacy' : { pin: '2026-07-28' };
  const capabilities = answer ? { elicitation: { form: {} } } : {};
  const client = new Client({ name: 'test', version: '1' }, { versionNegotiation: { mode }, capabilities });
  if (answer) {
    client.setRequestHandler('elicitation/create', ({ params }) =>
      answer(params.message) ? { action: 'accept', content: { confirm: true } } : { action: 'decline' },
    );
  }
  return client;
}

/** The client of the SDK for TypeScript. */
export function createTypescriptClient(settings: McpClientSettings): McpClient {
  const storage = new Storage(settings);
  async function attempt(
    transport: StreamableHTTPClientTransport,
    name: string,
    args: Record<string, unknown>,
  ): Promise<McpRun> {
    const client = newClient(settings);
    try {
      await client.connect(transport);
      const { tools } = await client.listTools();
      const { structuredContent } = await client.callTool({ name, arguments: args });
      return {
        version: client.getNegotiatedProtocolVersion() ?? '',
        tools: tools.map((tool) => tool.name),
        result: (structuredContent ?? {}) as Record<string, unknown>,
      };
    } finally {
      await client.close();
    }
  }

  async function run(name: string, args: Record<string, unknown> = {}): Promise<McpRun> {
    // Signing in once to connect, and once more for another scope.
    for (let signIns = 0; ; signIns += 1) {
      const transport = new StreamableHTTPClientTransport(new URL(settings.url), { authProvider: storage });
      try {
        return await attempt(transport, name, args);
      } catch (error) {
        if (!(error instanceof UnauthorizedError) || !storage.page || signIns > 1) throw error;
        const answer = await settings.authorize(storage.page.href);
        storage.page = undefined;
        await transport.finishAuth(answer.searchParams);
      }
    }
  }

  return { name: 'TypeScript', run, close: () => undefined };
}
