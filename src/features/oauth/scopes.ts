import { type McpScope, mcpScopes } from '../../platform/auth/grant-caller.ts';

const DEFAULT_SCOPE: McpScope = 'mcp:read';

/**
 * Reads the scopes that a client asks for. Others, such as `openid` and `offline_access`, which many clients always
 * add, mean nothing here and are left out.
 * @returns at least `mcp:read`, in a fixed order
 */
export function readScopes(text: string): McpScope[] {
  const given = new Set(text.split(' '));
  const known = mcpScopes.filter((scope) => given.has(scope));
  return known.length === 0 ? [DEFAULT_SCOPE] : known;
}
