import { randomBytes } from 'node:crypto';
import { type GrantSelection, type McpScope, mcpScopes } from '../../src/platform/auth/grant-caller.ts';
import type { Queryable } from '../../src/platform/db/queryable.ts';
import { createGrant, tokenDigest } from '../../src/features/oauth/index.ts';

export interface TestGrant {
  grantId: number;
  /** Send it as a bearer token to `/mcp`. */
  accessToken: string;
}

/**
 * Lets an assistant act for a user, as if the user had agreed, and gives it an access token.
 * @param options.baseUrl where the assistant reaches the service
 * @param options.choices what the user ticked; if it is only one, it is selected
 * @param options.scopes default: all
 */
export async function insertGrant(
  db: Queryable,
  options: {
    baseUrl: string;
    userId: number;
    choices: readonly GrantSelection[];
    scopes?: readonly McpScope[];
    /** Those of the token, if it has fewer. */
    tokenScopes?: readonly McpScope[];
    clientName?: string;
    /** Negative: the token has expired. */
    secondsLeft?: number;
  },
): Promise<TestGrant> {
  const { baseUrl, userId, choices, scopes = mcpScopes, clientName = 'Test assistant' } = options;
  const { tokenScopes = scopes, secondsLeft = 3_600 } = options;
  const { id: grantId } = await createGrant(db, {
    userId,
    client: { id: 'test-assistant', name: clientName, host: null, redirectHost: '127.0.0.1' },
    resource: new URL('/mcp', baseUrl).href,
    scopes,
    choices,
  });
  const accessToken = randomBytes(32).toString('base64url');
  await db.query(
    `insert into oauth_tokens (model, id_digest, payload, grant_id, expires_at)
     values ('AccessToken', $1, $2, $3, now() + $4 * interval '1 second')`,
    [tokenDigest(accessToken), { scope: tokenScopes.join(' ') }, grantId, secondsLeft],
  );
  return { grantId, accessToken };
}
