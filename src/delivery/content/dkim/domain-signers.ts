import { LRUCache } from 'lru-cache';
import type { Queryable } from '../../../platform/db/queryable.ts';
import type { Keyring } from '../../../platform/secrets/keyring.ts';
import { openDomainKey } from './keys.ts';
import { createDkimSigner, type DkimSigner } from './sign.ts';

/** What a sender needs to send from a domain. */
export interface SendingDomain {
  /** The host of its return paths. */
  returnPathHost: string;
  /**
   * RSA first; Ed25519 only while its DNS record is correct. A domain has signers even if its provider signs, because
   * its mail needs them if it fails over to another provider. The provider that sends a message decides whether they
   * are used.
   */
  signers: readonly DkimSigner[];
}

/** The keys of a domain cannot be read now, or the domain was deleted. A later attempt may succeed. */
export class SendingDomainError extends Error {}

/** Finds the sending domains of messages. */
export interface SendingDomains {
  /**
   * Returns a promise only if the domain has not been read for a minute.
   * @throws SendingDomainError (as a rejection)
   */
  find(domainId: number): SendingDomain | Promise<SendingDomain>;
}

const KNOWN_MS = 60_000;
const MAX_KNOWN = 5_000;

interface Row {
  account_id: number;
  return_path_host: string;
  keys: { domain: string; selector: string; algorithm: 'rsa' | 'ed25519'; sealed: string }[] | null;
}

async function readDomain(db: Queryable, keyring: Keyring, domainId: number): Promise<SendingDomain> {
  const { rows } = await db.query<Row>({
    name: 'sending_domain',
    text: `
    select d.account_id, d.return_path_host, (
      select json_agg(json_build_object('domain', k.domain, 'selector', k.selector, 'algorithm', k.algorithm,
        'sealed', k.private_key_sealed) order by k.algorithm desc)
      from dkim_keys k
      where k.domain_id = d.id and k.retired_at is null
        and (k.algorithm = 'rsa' or d.ed25519_valid)) as keys
    from domains d where d.id = $1`,
    values: [domainId],
  });
  const row = rows[0];
  if (!row) throw new Error('it was deleted');
  const signers = (row.keys ?? []).map((key) =>
    createDkimSigner(openDomainKey(keyring, row.account_id, key)),
  );
  return { returnPathHost: row.return_path_host, signers };
}

/**
 * Reads the keys of domains on demand, and caches them for a minute.
 * @param db may be a pool
 */
export function createSendingDomains(db: Queryable, keyring: Keyring): SendingDomains {
  const cache = new LRUCache<number, SendingDomain>({
    max: MAX_KNOWN,
    ttl: KNOWN_MS,
    fetchMethod: async (domainId) => {
      try {
        return await readDomain(db, keyring, domainId);
      } catch (error) {
        throw new SendingDomainError(`domain ${domainId} cannot be used: ${(error as Error).message}`, {
          cause: error,
        });
      }
    },
  });
  return { find: (domainId) => cache.get(domainId) ?? cache.forceFetch(domainId) };
}
