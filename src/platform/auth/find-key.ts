import type { KeyLookup, LiveKey } from './key-lookup.ts';
import type { LastUses } from './last-use.ts';
import type { Principal } from './tenant.ts';

/** The caller of a request with an API key, which belongs to a brand. */
export type KeyPrincipal = Principal & { tenant: NonNullable<Principal['tenant']> & { brandId: number } };

/**
 * Identifies a caller by an API key, however it arrived: in a header, or as the password of an SMTP login. Call it again
 * for each request; a key that was found is remembered for `KEY_LEASE_MS` only.
 * @param text what the client sent
 * @returns null if it is not an API key, or the key is unknown or revoked
 * @throws AppError `unavailable` if the database does not answer
 */
export type FindKey = (text: string) => Promise<KeyPrincipal | null>;

const principalOf = (key: LiveKey): KeyPrincipal => ({
  tenant: {
    accountId: key.accountId,
    brandId: key.brandId,
    actor: { kind: 'api_key', id: key.id, test: key.test, scope: key.scope ?? undefined },
    role: key.scope === 'send' ? 'member' : 'admin',
  },
  rateLimitPerSecond: key.rateLimitPerSecond,
  rateLimitName: `key ${key.id}`,
  session: null,
  grant: null,
});

/** @param keyUses records when keys are used */
export function createFindKey({
  keys,
  keyUses,
}: {
  keys: KeyLookup;
  keyUses: Pick<LastUses, 'used'>;
}): FindKey {
  return async (text) => {
    const key = await keys.find(text);
    if (!key) return null;
    keyUses.used(key.id);
    return principalOf(key);
  };
}
