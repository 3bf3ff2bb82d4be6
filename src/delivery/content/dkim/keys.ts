import type { Queryable } from '../../../platform/db/queryable.ts';
import type { Keyring, SealedPlace } from '../../../platform/secrets/keyring.ts';
import { dkimRecord, generateDkimKey, type DkimKey } from './sign.ts';

/** A DNS record to publish. */
export type DkimRecord = ReturnType<typeof dkimRecord>;

export interface DkimDeps {
  db: Queryable;
  keyring: Keyring;
}

/** The initial keys of Carillon's own domain. RSA is for verifiers that do not support Ed25519. */
const FIRST_KEYS = [
  { selector: 'crl-rsa', algorithm: 'rsa' },
  { selector: 'crl-ed', algorithm: 'ed25519' },
] as const;

interface Row {
  domain: string;
  selector: string;
  algorithm: DkimKey['algorithm'];
  sealed: string;
  publicKey: string;
  accountId: number | null;
}

function placeOf(domain: string, selector: string, accountId: number | null): SealedPlace {
  return { table: 'dkim_keys', column: 'private_key_sealed', row: `${domain}/${selector}`, accountId };
}

/** The keys of Carillon's own domain. */
async function liveRows(db: Queryable, domain: string): Promise<Row[]> {
  const { rows } = await db.query<Row>(
    `select domain, selector, algorithm, private_key_sealed as sealed, public_key as "publicKey",
       account_id as "accountId"
     from dkim_keys where domain = $1 and domain_id is null and retired_at is null order by algorithm desc, id`,
    [domain],
  );
  return rows;
}

async function insertKey(deps: DkimDeps, key: DkimKey): Promise<void> {
  const sealed = deps.keyring.seal(key.privateKeyPem, placeOf(key.domain, key.selector, null));
  await deps.db.query(
    `insert into dkim_keys (account_id, domain, selector, algorithm, private_key_sealed, public_key)
     values (null, $1, $2, $3, $4, $5) on conflict (domain, selector) do nothing`,
    [key.domain, key.selector, key.algorithm, sealed, key.publicKeyBase64],
  );
}

/**
 * Creates the RSA-2048 key and the Ed25519 key of Carillon's own domain if they are missing. If several processes call
 * this at the same time, the keys of the first one are kept.
 */
export async function ensureSigningKeys(deps: DkimDeps, domain: string): Promise<void> {
  const present = new Set((await liveRows(deps.db, domain)).map((row) => row.algorithm));
  for (const { selector, algorithm } of FIRST_KEYS) {
    if (!present.has(algorithm))
      await insertKey(deps, await generateDkimKey({ domain, selector, algorithm }));
  }
}

/**
 * Loads the keys that sign for a domain, RSA first.
 * @throws UnsealError if they were sealed with another APP_SECRET
 */
export async function loadSigningKeys(deps: DkimDeps, domain: string): Promise<DkimKey[]> {
  const rows = await liveRows(deps.db, domain);
  return rows.map((row) => ({
    domain: row.domain,
    selector: row.selector,
    algorithm: row.algorithm,
    privateKeyPem: deps.keyring.open(row.sealed, placeOf(row.domain, row.selector, row.accountId)),
    publicKeyBase64: row.publicKey,
  }));
}

/** Lists the DNS records that publish the keys of Carillon's own domain. */
export async function showRecords(db: Queryable, domain: string): Promise<DkimRecord[]> {
  const rows = await liveRows(db, domain);
  return rows.map((row) => dkimRecord({ ...row, publicKeyBase64: row.publicKey }));
}

/** A claim to a domain name, to which DKIM keys belong. */
export interface ClaimedDomain {
  id: number;
  name: string;
  accountId: number;
}

/** The selectors of a claim. They contain its id, so that a key in the DNS proves only this claim. */
export function selectorsOf(domainId: number): Record<DkimKey['algorithm'], string> {
  return { rsa: `crl-${domainId}-rsa`, ed25519: `crl-${domainId}-ed` };
}

/** Creates the RSA-2048 key and the Ed25519 key of a claim. It takes about 100 ms of processor time. */
export async function generateDomainKeys({ id, name }: Omit<ClaimedDomain, 'accountId'>): Promise<DkimKey[]> {
  const selectors = selectorsOf(id);
  return [
    await generateDkimKey({ domain: name, selector: selectors.rsa, algorithm: 'rsa' }),
    await generateDkimKey({ domain: name, selector: selectors.ed25519, algorithm: 'ed25519' }),
  ];
}

/** Stores the keys of a claim, encrypted. @param deps.db the transaction that inserts the claim */
export async function insertDomainKeys(
  { db, keyring }: DkimDeps,
  { id, accountId }: ClaimedDomain,
  keys: readonly DkimKey[],
): Promise<void> {
  for (const key of keys) {
    const sealed = keyring.seal(key.privateKeyPem, placeOf(key.domain, key.selector, accountId));
    await db.query(
      `insert into dkim_keys (account_id, domain_id, domain, selector, algorithm, private_key_sealed, public_key)
       values ($1, $2, $3, $4, $5, $6, $7)`,
      [accountId, id, key.domain, key.selector, key.algorithm, sealed, key.publicKeyBase64],
    );
  }
}

/** Decrypts a key of a claim. @throws UnsealError if it was sealed with another APP_SECRET */
export function openDomainKey(
  keyring: Keyring,
  accountId: number,
  row: Pick<DkimKey, 'domain' | 'selector' | 'algorithm'> & { sealed: string },
): Omit<DkimKey, 'publicKeyBase64'> {
  const { domain, selector, algorithm, sealed } = row;
  const privateKeyPem = keyring.open(sealed, placeOf(domain, selector, accountId));
  return { domain, selector, algorithm, privateKeyPem };
}
