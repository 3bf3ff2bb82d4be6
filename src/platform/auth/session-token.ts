import { hash, randomUUID } from 'node:crypto';
import { errors, jwtVerify, SignJWT } from 'jose';
import { z } from 'zod';
import type { Keyring } from '../secrets/keyring.ts';

/** Lifetime of a session token. */
export const SESSION_SECONDS = 24 * 60 * 60;

const ALGORITHM = 'HS256';
const ISSUER = 'carillon';

/** Where a token is valid: the HTTP API, or the MCP endpoint. */
export type Audience = 'api' | 'mcp';

export interface SessionClaims {
  userId: number;
  /** Must equal the user's version. Increasing the user's version ends all sessions. */
  sessionVersion: number;
}

/** A genuine token that has not expired. Its session may have been ended. */
export interface Session extends SessionClaims {
  /** `jti`. */
  tokenId: string;
  expiresAt: Date;
}

export interface SessionTokens {
  issue(claims: SessionClaims, audience: Audience): Promise<string>;
  /** @returns null if the token is forged, expired, or for another audience */
  verify(token: string, audience: Audience): Promise<Session | null>;
}

const payload = z.object({
  sub: z.string().regex(/^[1-9]\d{0,14}$/),
  sv: z.int().min(1),
  exp: z.int(),
  jti: z.string().optional(),
});

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
    issue({ userId, sessionVersion }, audience) {
      const { id, key } = keyring.subkey('jwt');
      const issuedAt = Math.floor(now().getTime() / 1000);
      return new SignJWT({ sv: sessionVersion })
        .setProtectedHeader({ alg: ALGORITHM, kid: id, typ: 'JWT' })
        .setIssuer(ISSUER)
        .setAudience(audience)
        .setSubject(String(userId))
        .setJti(randomUUID())
        .setIssuedAt(issuedAt)
        .setExpirationTime(issuedAt + SESSION_SECONDS)
        .sign(key);
    },
    async verify(token, audience) {
      try {
        const verified = await jwtVerify(token, (header) => keyOf(header.kid), {
          algorithms: [ALGORITHM],
          issuer: ISSUER,
          audience,
          requiredClaims: ['exp', 'sub'],
          currentDate: now(),
        });
        const claims = payload.parse(verified.payload);
        return {
          userId: Number(claims.sub),
          sessionVersion: claims.sv,
          // Tokens of older versions have no id.
          tokenId: claims.jti ?? hash('sha256', token, 'base64url'),
          expiresAt: new Date(claims.exp * 1000),
        };
      } catch (error) {
        if (error instanceof errors.JOSEError || error instanceof z.ZodError) return null;
        throw error;
      }
    },
  };
}
