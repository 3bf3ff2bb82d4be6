/** `legacy`: the handshake of 2025. `modern`: the specification of 2026-07-28, without a handshake. */
export type Era = 'legacy' | 'modern';

export interface McpClientSettings {
  /** The endpoint. */
  url: string;
  era: Era;
  /** The URL of the client's metadata document. Null: the client registers itself. */
  document: string | null;
  /** Where the browser is sent after an authorization: an address of loopback. */
  redirectUrl: string;
  /** An empty folder for the client's files. */
  home: string;
  /** Opens a page in the user's browser. Returns the URL that it is sent to, without requesting it. */
  authorize(url: string): Promise<URL>;
  /** Answers questions of the server. Without it, the client says that it cannot ask. */
  answer?(question: string): boolean;
}

export interface McpRun {
  /** The version of the protocol that the client and the server have chosen. */
  version: string;
  /** The names of all tools. */
  tools: string[];
  /** The tool's structured result. */
  result: Record<string, unknown>;
}

/** A real client. Call `close` at the end. */
export interface McpClient {
  name: string;
  /** Lists the tools and calls one. Before the second run and each later one, the access token must have expired. */
  run(tool: string, args?: Record<string, unknown>): Promise<McpRun>;
  close(): void;
}
