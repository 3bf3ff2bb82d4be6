import { errors, jwtVerify, SignJWT } from 'jose';
import { z } from 'zod';
import type { Keyring } from '../secrets/keyring.ts';

const ALGORITHM = 'HS256';
const ISSUER = 'carillon';

/** Where a token is valid: the HTTP API, or the MCP endpoint. */
export type Audience = 'api' | 'mcp';

/** What a genuine token says. Its session may have ended. */
export interface SessionClaims {
  userId: number;
  /** `sid`: the row of the session. */
  sessionId: number;
}

export interface SessionTokens {
  issue(claims: SessionClaims & { expiresAt: Date }, audience: Audience): Promise<string>;
  /** @returns null if the token is forged, expired, or for another audience */
  verify(token: string, audience: Audience): Promise<SessionClaims | null>;
}

const id = z.string().regex(/^[1-9]\d{0,14}$/);
/** Tokens of versions that kept no sessions have no `sid`, and are refused. */
const payload = z.object({ sub: id, sid: id });

/**
 * JSON Web Tokens (RFC 7519), always signed by HS256 with a subkey of APP_SECRET. `kid` names the secret, so that
 * tokens remain valid after its rotation.
 * @param now the clock for issuing and expiry
 */
export function createSessionTokens(keyring: Keyring, now: () => Date = () => new Date()): SessionTokens {
  function keyOf(kid: string | undefined): Uint8Array {
    const found = keyring.accepted('jwt').find((candidate) => candidate.id === kid);
    if (!found) throw new errors.JOSEError('unknown key id');
    return found.key;
  }
  return {
    issue({ userId, sessionId, expiresAt }, audience) {
      const { id: kid, key } = keyring.subkey('jwt');
      return new SignJWT({ sid: String(sessionId) })
        .setProtectedHeader({ alg: ALGORITHM, kid, typ: 'JWT' })
        .setIssuer(ISSUER)
        .setAudience(audience)
        .setSubject(String(userId))
        .setIssuedAt(now())
        .setExpirationTime(expiresAt)
        .sign(key);
    },
    async verify(token, audience) {
      try {
        const verified = await jwtVerify(token, (header) => keyOf(header.kid), {
          algorithms: [ALGORITHM],
          issuer: ISSUER,
          audience,
          requiredClaims: ['exp', 'sub', 'sid'],
          currentDate: now(),
        });
        const claims = payload.parse(verified.payload);
        return { userId: Number(claims.sub), sessionId: Number(claims.sid) };
      } catch (error) {
        if (error instanceof errors.JOSEError || error instanceof z.ZodError) return null;
        throw error;
      }
    },
  };
}
