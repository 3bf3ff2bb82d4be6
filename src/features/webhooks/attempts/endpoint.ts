import type { KeyObject } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import type { Queryable } from '../../../platform/db/queryable.ts';
import { UnsealError, type Keyring, type SealedPlace } from '../../../platform/secrets/keyring.ts';
import { keyOfSecret } from '../signature.ts';

/** What an attempt must know about a webhook. It is read just before the attempt. */
export interface Endpoint {
  id: number;
  url: string;
  enabled: boolean;
  generation: number;
  /** The keys to sign with, newest first. Empty if the secret cannot be opened because APP_SECRET was changed. */
  keys: KeyObject[];
}

interface EndpointRow {
  id: number;
  accountId: number;
  url: string;
  enabled: boolean;
  generation: number;
  secretSealed: string;
  previousSecretSealed: string | null;
  previousSecretUntil: Date | null;
}

const MAX_KEYS = 5_000;

/** Names the place that a webhook's secrets are sealed for. */
export function secretPlace(webhookId: number, accountId: number): SealedPlace {
  return { table: 'webhooks', column: 'secret_sealed', row: webhookId, accountId };
}

/** Reads webhooks. Opened secrets are cached: the same sealed text always opens to the same secret. */
export function createEndpointReader(keyring: Keyring) {
  const opened = new LRUCache<string, KeyObject>({ max: MAX_KEYS });

  /** @returns null if the secret cannot be opened: one bad webhook must not hold up the others */
  const keyOf = (sealed: string, row: EndpointRow): KeyObject | null => {
    const known = opened.get(sealed);
    if (known) return known;
    try {
      const key = keyOfSecret(keyring.open(sealed, secretPlace(row.id, row.accountId)));
      opened.set(sealed, key);
      return key;
    } catch (error) {
      if (error instanceof UnsealError) return null;
      throw error;
    }
  };

  const keysOf = (row: EndpointRow): KeyObject[] => {
    const { previousSecretSealed: previous, previousSecretUntil: until } = row;
    const current = keyOf(row.secretSealed, row);
    if (!current) return [];
    const both = previous !== null && until !== null && until.getTime() > Date.now();
    const old = both ? keyOf(previous, row) : null;
    return old ? [current, old] : [current];
  };

  /** @returns the webhooks that exist, by id */
  return async function readEndpoints(
    client: Queryable,
    ids: readonly number[],
  ): Promise<Map<number, Endpoint>> {
    const { rows } = await client.query<EndpointRow>({
      name: 'read_endpoints',
      text: `select id, account_id as "accountId", url, enabled, generation, secret_sealed as "secretSealed",
               previous_secret_sealed as "previousSecretSealed", previous_secret_until as "previousSecretUntil"
             from webhooks where id = any($1::bigint[])`,
      values: [ids],
    });
    return new Map(
      rows.map((row) => {
        const { id, url, enabled, generation } = row;
        return [id, { id, url, enabled, generation, keys: keysOf(row) }];
      }),
    );
  };
}

export type ReadEndpoints = ReturnType<typeof createEndpointReader>;
