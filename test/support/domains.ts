import pino from 'pino';
import type { Config } from '../../src/config.ts';
import { returnPathHostOf } from '../../src/delivery/terms/addresses/return-path-host.ts';
import { generateDomainKeys, insertDomainKeys, selectorsOf } from '../../src/delivery/content/dkim/keys.ts';
import type { DkimKey } from '../../src/delivery/content/dkim/sign.ts';
import { serviceHosts } from '../../src/features/domains/name.ts';
import { trackingHostOf } from '../../src/features/domains/records.ts';
import { createDomainWatch, type DomainWatch } from '../../src/features/domains/watch.ts';
import type { Database } from '../../src/platform/db/database.ts';
import { createResolver } from '../../src/platform/dns/resolver.ts';
import { createEgress } from '../../src/platform/egress/client.ts';
import type { Keyring } from '../../src/platform/secrets/keyring.ts';
import type { TestDnsServer } from './dns/server.ts';
import { testEvents } from './events.ts';
import type { ProviderApi } from './provider-api.ts';
import { testKeyring } from './webhooks.ts';

/** The keys of every domain of a test file: making them takes long. */
let sharedKeys: Promise<DkimKey[]> | undefined;

async function keysOf(id: number, name: string): Promise<DkimKey[]> {
  sharedKeys ??= generateDomainKeys({ id, name });
  const selectors = selectorsOf(id);
  return (await sharedKeys).map((key) => ({ ...key, domain: name, selector: selectors[key.algorithm] }));
}

/**
 * Inserts a verified domain.
 * @param options.keyring seals its DKIM keys, and must be that of the processes that sign; null: its mail is not signed,
 *   and the API cannot show it
 * @returns its id
 */
export async function insertVerifiedDomain(
  { pool }: Database,
  { accountId, brandId }: { accountId: number; brandId: number },
  name: string,
  {
    providerId,
    keyring = testKeyring,
  }: { providerId?: number | undefined; keyring?: Keyring | null | undefined } = {},
): Promise<number> {
  const { rows } = await pool.query<{ id: number }>(
    `insert into domains (account_id, brand_id, name, provider_id, status, verified_at, return_path_host,
       tracking_host, provider_records)
     values ($1, $2, $3, $4, 'verified', now(), $5, $6, '[]') returning id`,
    [accountId, brandId, name, providerId ?? null, returnPathHostOf(name), trackingHostOf(name)],
  );
  const id = rows[0]?.id ?? 0;
  if (keyring) await insertDomainKeys({ db: pool, keyring }, { id, name, accountId }, await keysOf(id, name));
  return id;
}

/**
 * Inserts a pending domain with keys that cannot sign.
 * @param at when it became pending; now by default
 */
export async function insertPendingDomain(
  { pool }: Database,
  { accountId, brandId }: { accountId: number; brandId: number },
  name: string,
  at = new Date(),
): Promise<number> {
  const { rows } = await pool.query<{ id: number }>(
    `insert into domains (account_id, brand_id, name, return_path_host, tracking_host, checking_since, next_check_at)
     values ($1, $2, $3, $4, $5, $6, $6::timestamptz + interval '1 minute') returning id`,
    [accountId, brandId, name, returnPathHostOf(name), trackingHostOf(name), at],
  );
  const id = rows[0]?.id ?? 0;
  for (const [algorithm, selector] of Object.entries(selectorsOf(id))) {
    await pool.query(
      `insert into dkim_keys (account_id, domain_id, domain, selector, algorithm, private_key_sealed, public_key)
       values ($1, $2, $3, $4, $5, 'x', $6)`,
      [accountId, id, name, selector, algorithm, `${algorithm}${id}`],
    );
  }
  return id;
}

/** The required records of a domain of {@link insertPendingDomain}, in the form that the DNS must have. */
export function rightRecords(id: number, name: string): TestDnsServer['zone'] {
  const { rsa, ed25519 } = selectorsOf(id);
  return {
    [`${rsa}._domainkey.${name}`]: { TXT: [`v=DKIM1; k=rsa; p=rsa${id}`] },
    [`${ed25519}._domainkey.${name}`]: { TXT: [`v=DKIM1; k=ed25519; p=ed25519${id}`] },
    [returnPathHostOf(name)]: {
      TXT: ['v=spf1 include:mail.test ~all'],
      MX: [{ exchange: 'mail.test', preference: 10 }],
    },
  };
}

/** The watch of domains without its workflow. */
export function createTestWatch(
  { pool }: Database,
  dns: TestDnsServer,
  config: Config,
  api?: ProviderApi,
): DomainWatch {
  const resolver = createResolver([dns.address]);
  const egress = api?.deps.egress ?? createEgress({ resolver, allow: [], userAgent: 'Carillon-Test/1' });
  return createDomainWatch({
    pool,
    access: {
      keyring: testKeyring,
      providers: { config, pool, resolver, egress },
      log: pino({ level: 'silent' }),
    },
    resolver,
    events: testEvents,
    waker: { wake: () => undefined },
    hosts: serviceHosts(config),
  });
}
