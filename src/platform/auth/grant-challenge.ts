import { AppError } from '../../errors.ts';
import type { McpScope } from './grant-caller.ts';

/** The challenge of the MCP endpoint (RFC 6750, RFC 9728). */
export interface Challenge {
  error?: 'invalid_token' | 'insufficient_scope';
  scopes: readonly McpScope[];
}

/** @param origin of the service */
export function challengeHeader(origin: string, { error, scopes }: Challenge): string {
  const metadata = `resource_metadata="${origin}/.well-known/oauth-protected-resource/mcp"`;
  const reason = error === undefined ? '' : `error="${error}", `;
  return `Bearer ${reason}${metadata}, scope="${scopes.join(' ')}"`;
}

/**
 * A 403 that makes the client ask the user for more scopes.
 * @param scopes all that the client should ask for, including those that it has
 */
export function insufficientScope(origin: string, scopes: readonly McpScope[]): AppError {
  return new AppError('forbidden', `the assistant was not allowed to do this; it needs ${scopes.join(' ')}`, {
    headers: { 'WWW-Authenticate': challengeHeader(origin, { error: 'insufficient_scope', scopes }) },
  });
}
