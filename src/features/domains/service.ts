import type pg from 'pg';
import { generateDomainKeys, insertDomainKeys } from '../../delivery/content/dkim/keys.ts';
import { returnPathHostOf } from '../../delivery/terms/addresses/return-path-host.ts';
import type { DkimKey } from '../../delivery/content/dkim/sign.ts';
import { wakeCampaignsOfDomain } from '../../delivery/ledger/blocks/wake-campaigns.ts';
import { AppError, invalid, notFound } from '../../errors.ts';
import type { Tenant } from '../../platform/auth/tenant.ts';
import type { Page, RowCount } from '../../platform/db/paging.ts';
import { inTransaction, type Queryable } from '../../platform/db/queryable.ts';
import type { Waker } from '../../platform/db/wake.ts';
import { appendToOutbox } from '../../platform/outbox/append.ts';
import type { Keyring } from '../../platform/secrets/keyring.ts';
import { capabilitiesOf } from '../accounts/schema.ts';
import {
  countDomains,
  deleteDomain,
  type DomainRow,
  findDomain,
  findDomains,
  findProviderId,
  findRelated,
  findRoom,
  hastenCheck,
  hastenCheckOfName,
  insertDomain,
  nextDomainId,
} from './model.ts';
import { parseDomainName } from './name.ts';
import { type DomainPresentation, presentDomain } from './presenter.ts';
import { trackingHostOf } from './records.ts';
import { beginRegistration, endRegistration } from './registrations.ts';
import type { CreateDomainBody, DomainResource } from './schema.ts';
import { watchStart, watchWake } from './workflow.ts';

export { serviceHosts } from './name.ts';
export { endWarmUp, findVerifiedDomain, findWarmUp, setPace, startWarmUp } from './warm-up.ts';

const MAX_DOMAINS_PER_BRAND = 200;

export interface DomainManagerDeps {
  pool: pg.Pool;
  keyring: Keyring;
  waker: Pick<Waker, 'wake'>;
  /** The result of `ownHosts`. */
  own: readonly string[];
  presentation: DomainPresentation;
}

/** A new domain that passed every check, with its keys, ready to be inserted. */
export interface PreparedDomain {
  id: number;
  name: string;
  providerId: number | null;
  keys: DkimKey[];
}

export interface DomainManager {
  /**
   * Checks a new domain and generates its keys. This takes a while, so call it before the transaction.
   * @throws AppError validation_error; forbidden; conflict if the brand already has the domain
   */
  prepare(tenant: Tenant, body: CreateDomainBody): Promise<PreparedDomain>;
  /**
   * @param trx the caller's transaction
   * @throws AppError conflict; validation_error if the account has too many unproved names
   */
  create(trx: Queryable, tenant: Tenant, prepared: PreparedDomain): Promise<DomainResource>;
  list(tenant: Tenant, page: Page): Promise<{ domains: DomainResource[]; count: RowCount }>;
  /** @throws AppError not_found */
  get(tenant: Tenant, id: number): Promise<DomainResource>;
  /** Asks the workflow to check the records now. @throws AppError not_found */
  recheck(tenant: Tenant, id: number): Promise<DomainResource>;
  /** @throws AppError not_found */
  remove(tenant: Tenant, id: number): Promise<DomainResource>;
}

function conflict(name: string): AppError {
  return new AppError('conflict', `this brand already has the domain ${name}`);
}

const watched = (row: DomainRow) => ({ id: row.id, accountId: row.account_id, brandId: row.brand_id });

/**
 * Generates keys for one domain at a time: a process has few threads, which also sign and hash, and a client that keeps
 * creating domains must not occupy them all.
 */
function createKeyMaker(): typeof generateDomainKeys {
  let last: Promise<unknown> = Promise.resolve();
  return (domain) => {
    const made = last.then(() => generateDomainKeys(domain));
    last = made.catch(() => undefined);
    return made;
  };
}

function createPrepare({ pool, own, presentation }: DomainManagerDeps): DomainManager['prepare'] {
  const makeKeys = createKeyMaker();

  async function providerOf(tenant: Tenant, name: string | undefined): Promise<number | null> {
    if (name === undefined || name === presentation.defaultProvider) return null;
    const id = await findProviderId(pool, tenant, name);
    if (id === null) throw invalid({ 'domain.provider': ['is not the name of an email provider'] });
    return id;
  }

  return async (tenant, { domain }) => {
    const parsed = parseDomainName(domain.name, own);
    if ('error' in parsed) throw invalid({ 'domain.name': [parsed.error] });
    const { name } = parsed;
    const providerId = await providerOf(tenant, domain.provider);
    const { capabilities, taken, count } = await findRoom(pool, tenant, name);
    if (!capabilitiesOf(capabilities).custom_domains) {
      throw new AppError('forbidden', 'this account may not register domains');
    }
    if (taken) throw conflict(name);
    if (count >= MAX_DOMAINS_PER_BRAND) {
      throw invalid({
        'domain.name': [`is one too many: a brand has at most ${MAX_DOMAINS_PER_BRAND} domains`],
      });
    }
    const id = await nextDomainId(pool);
    return { id, name, providerId, keys: await makeKeys({ id, name }) };
  };
}

async function presentAll(
  db: Queryable,
  rows: readonly DomainRow[],
  presentation: DomainPresentation,
): Promise<DomainResource[]> {
  const related = await findRelated(
    db,
    rows.map(({ id }) => id),
  );
  return rows.map((row) => {
    const own = related.get(row.id);
    if (!own) throw notFound('domain');
    return presentDomain({ row, related: own }, presentation);
  });
}

async function insertWithKeys(
  trx: Queryable,
  keyring: Keyring,
  tenant: Tenant,
  { id, name, providerId, keys }: PreparedDomain,
): Promise<DomainRow> {
  const row = await insertDomain(trx, tenant, {
    id,
    name,
    provider_id: providerId,
    return_path_host: returnPathHostOf(name),
    tracking_host: trackingHostOf(name),
  });
  if (!row) throw conflict(name);
  await beginRegistration(trx, tenant, row);
  await insertDomainKeys({ db: trx, keyring }, { id, name, accountId: tenant.accountId }, keys);
  await appendToOutbox(trx, { kind: 'start', ...watchStart(watched(row)) });
  return row;
}

/**
 * Has the records of a brand's domain checked soon, because there is a new one. Wake the channel `outbox` after the
 * commit. Without such a domain, nothing happens.
 */
export async function recheckDomain(trx: Queryable, tenant: Tenant, name: string): Promise<void> {
  const row = await hastenCheckOfName(trx, tenant, name);
  if (row) await appendToOutbox(trx, watchWake(watched(row)));
}

export function createDomainManager(deps: DomainManagerDeps): DomainManager {
  const { pool, keyring, waker, presentation } = deps;

  async function present(db: Queryable, row: DomainRow | null): Promise<DomainResource> {
    if (!row) throw notFound('domain');
    const [domain] = await presentAll(db, [row], presentation);
    return domain as DomainResource;
  }

  return {
    prepare: createPrepare(deps),
    create: async (trx, tenant, prepared) =>
      present(trx, await insertWithKeys(trx, keyring, tenant, prepared)),
    async list(tenant, page) {
      const [rows, count] = await Promise.all([findDomains(pool, tenant, page), countDomains(pool, tenant)]);
      return { domains: await presentAll(pool, rows, presentation), count };
    },
    get: async (tenant, id) => present(pool, await findDomain(pool, tenant, id)),
    async recheck(tenant, id) {
      const domain = await inTransaction(pool, async (trx) => {
        const row = await hastenCheck(trx, tenant, id);
        if (row) await appendToOutbox(trx, watchWake(watched(row)));
        return present(trx, row);
      });
      waker.wake('outbox');
      return domain;
    },
    async remove(tenant, id) {
      const domain = await inTransaction(pool, async (trx) => {
        // The row's keys are deleted with it, so present it first.
        const shown = await present(trx, await findDomain(trx, tenant, id));
        const row = await deleteDomain(trx, tenant, id);
        if (!row) throw notFound('domain');
        await endRegistration(trx, row);
        // The workflow fails the mail that waits for the domain, removes the registration, and ends.
        await appendToOutbox(trx, watchWake(watched(row)));
        await wakeCampaignsOfDomain(trx, { accountId: row.account_id, domainId: row.id });
        return shown;
      });
      waker.wake('outbox');
      return domain;
    },
  };
}
