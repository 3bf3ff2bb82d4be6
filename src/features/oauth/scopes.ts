import { type McpScope, mcpScopes } from '../../platform/auth/grant-caller.ts';

const DEFAULT_SCOPE: McpScope = 'mcp:read';

/** The scopes in a text that exist, in a fixed order. */
function knownScopes(text: string): McpScope[] {
  const given = new Set(text.split(' '));
  return mcpScopes.filter((scope) => given.has(scope));
}

/**
 * Reads the scopes that a client asks for. Others, such as `openid` and `offline_access`, which many clients always
 * add, mean nothing here and are left out.
 * @returns at least `mcp:read`, in a fixed order
 */
export function readScopes(text: string): McpScope[] {
  const known = knownScopes(text);
  return known.length === 0 ? [DEFAULT_SCOPE] : known;
}

/**
 * Reads the scopes that a client names when it renews a token.
 * @returns null if it names none that exists: the token then keeps its scopes, as if the client had named none at all
 */
export function readRenewedScopes(text: string): McpScope[] | null {
  const known = knownScopes(text);
  return known.length === 0 ? null : known;
}
