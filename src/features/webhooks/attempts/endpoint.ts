import type { KeyObject } from 'node:crypto';
import type { Queryable } from '../../../platform/db/queryable.ts';
import { UnsealError, type Keyring, type SealedPlace } from '../../../platform/secrets/keyring.ts';
import { keyOfSecret } from '../signature.ts';

/** A webhook as the attempts need it, read a moment before them. */
export interface Endpoint {
  id: number;
  url: string;
  enabled: boolean;
  generation: number;
  /** Each signs; the newest first. None: the secret does not open, because APP_SECRET was changed. */
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

const MOST_KEYS = 5_000;

/** Where a webhook's secrets are sealed to. */
export function secretPlace(webhookId: number, accountId: number): SealedPlace {
  return { table: 'webhooks', column: 'secret_sealed', row: webhookId, accountId };
}

/** Reads webhooks; opening a secret is remembered, for a secret never changes under its seal. */
export function createEndpointReader(keyring: Keyring) {
  const opened = new Map<string, KeyObject>();

  /** @returns null where the secret does not open: one webhook's trouble must not hold up the others */
  const keyOf = (sealed: string, row: EndpointRow): KeyObject | null => {
    const known = opened.get(sealed);
    if (known) return known;
    if (opened.size >= MOST_KEYS) opened.clear();
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

  /** @returns those that exist */
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
