import type pg from 'pg';
import { AppError, invalid, notFound } from '../../../errors.ts';
import type { Tenant } from '../../../platform/auth/tenant.ts';
import { countUnderLock } from '../../../platform/db/brand-limit.ts';
import type { Page, RowCount } from '../../../platform/db/paging.ts';
import { inTransaction, type Queryable } from '../../../platform/db/queryable.ts';
import type { Waker } from '../../../platform/db/wake.ts';
import type { Resolver } from '../../../platform/dns/resolver.ts';
import { requireCapability } from '../../accounts/service.ts';
import { recheckDomain, type serviceHosts } from '../../domains/service.ts';
import { checkInboxAddress, type InboxAddress } from './address.ts';
import {
  findInbox,
  findInboxes,
  findInboxUsage,
  hideInbox,
  type InboxRow,
  type InboxUsageRow,
  insertInbox,
  updateInbox,
} from './model.ts';
import type { ChangeInboxBody, CreateInboxBody, Inbox, InboxUsage, MxStatus } from './schema.ts';

const MAX_INBOXES_PER_BRAND = 100;
const PRESENT = 'inboxes where brand_id = $1 and removed_at is null';

export interface InboxManagerDeps {
  pool: pg.Pool;
  resolver: Pick<Resolver, 'resolveMx'>;
  waker: Pick<Waker, 'wake'>;
  hosts: ReturnType<typeof serviceHosts>;
  /** Maximum size of the raw mail and the attachments of one account. */
  quotaBytes: number;
}

export interface InboxManager {
  /**
   * Checks the address of a new inbox. This may query name servers, so call it before the transaction.
   * @throws AppError forbidden; validation_error
   */
  prepare(tenant: Tenant, body: CreateInboxBody): Promise<InboxAddress>;
  /**
   * Creates an inbox, and has its domain checked. Wake the channel `outbox` after the commit.
   * @param trx the caller's transaction
   * @throws AppError conflict if the brand has an inbox with the address; validation_error if it has too many
   */
  create(trx: Queryable, tenant: Tenant, body: CreateInboxBody, address: InboxAddress): Promise<Inbox>;
  list(tenant: Tenant, page: Page): Promise<{ inboxes: Inbox[]; count: RowCount }>;
  /** @throws AppError not_found */
  get(tenant: Tenant, id: number): Promise<Inbox>;
  /** @throws AppError not_found; forbidden; validation_error */
  change(tenant: Tenant, id: number, body: ChangeInboxBody): Promise<Inbox>;
  /** What the mail of the account stores. */
  usage(tenant: Tenant): Promise<InboxUsage>;
  /** Its conversations stay. @throws AppError not_found */
  remove(tenant: Tenant, id: number): Promise<Inbox>;
}

const mxStatusOf: Record<'true' | 'false' | 'unknown', MxStatus> = {
  true: 'verified',
  false: 'failed',
  unknown: 'pending',
};

function presentInbox(row: InboxRow | null): Inbox {
  if (!row) throw notFound('inbox');
  return {
    id: row.id,
    brand_id: row.brand_id,
    domain_id: row.domain_id,
    address: row.address,
    name: row.name,
    enabled: row.enabled,
    mx_status: row.domain_name === null ? null : mxStatusOf[row.mx ?? 'unknown'],
    create_contacts: row.create_contacts,
    evicted_count: row.evicted_count,
    last_evicted_at: row.last_evicted_at?.toISOString() ?? null,
    created_at: row.created_at.toISOString(),
    updated_at: row.updated_at.toISOString(),
  };
}

async function createInbox(
  trx: Queryable,
  tenant: Tenant,
  body: CreateInboxBody,
  { address, key, domainName }: InboxAddress,
): Promise<Inbox> {
  if ((await countUnderLock(trx, tenant.brandId, PRESENT)) >= MAX_INBOXES_PER_BRAND) {
    throw invalid({ inboxes: [`are limited to ${MAX_INBOXES_PER_BRAND} for each brand`] });
  }
  const row = await insertInbox(trx, tenant, {
    domain_name: domainName,
    address,
    address_key: key,
    name: body.name ?? null,
    enabled: body.enabled ?? true,
    create_contacts: body.create_contacts ?? false,
  });
  if (!row) throw new AppError('conflict', `this brand already has the inbox ${address}`);
  if (domainName !== null) await recheckDomain(trx, tenant, domainName);
  return presentInbox(row);
}

function presentUsage(row: InboxUsageRow | null, quotaBytes: number): InboxUsage {
  return {
    used_bytes: row?.bytes ?? 0,
    quarantined_bytes: row?.quarantined ?? 0,
    unproved_bytes: row?.unproved ?? 0,
    quota_bytes: quotaBytes,
    evicted_count: row?.evicted_count ?? 0,
    evicted_bytes: row?.evicted_bytes ?? 0,
    last_evicted_at: row?.last_evicted_at?.toISOString() ?? null,
  };
}

/** A client may send the address back in any case. */
function requireSameAddress(row: InboxRow, { address }: ChangeInboxBody): void {
  if (address === undefined || address.toLowerCase() === row.address.toLowerCase()) return;
  throw invalid({ address: ['cannot be changed; create another inbox'] });
}

export function createInboxManager(deps: InboxManagerDeps): InboxManager {
  const { pool, resolver, waker, hosts, quotaBytes } = deps;
  return {
    async prepare(tenant, body) {
      await requireCapability(pool, tenant, 'inboxes');
      return checkInboxAddress({ db: pool, resolver, hosts }, tenant, body.address);
    },
    create: createInbox,
    async list(tenant, page) {
      const { rows, count } = await findInboxes(pool, tenant, page);
      return { inboxes: rows.map(presentInbox), count };
    },
    get: async (tenant, id) => presentInbox(await findInbox(pool, tenant, id)),
    async change(tenant, id, body) {
      const row = await findInbox(pool, tenant, id);
      if (!row) throw notFound('inbox');
      await requireCapability(pool, tenant, 'inboxes');
      requireSameAddress(row, body);
      return presentInbox(await updateInbox(pool, tenant, id, body));
    },
    usage: async ({ accountId }) => presentUsage(await findInboxUsage(pool, accountId), quotaBytes),
    async remove(tenant, id) {
      const inbox = await inTransaction(pool, async (trx) => {
        const row = await hideInbox(trx, tenant, id);
        if (row && row.domain_name !== null) await recheckDomain(trx, tenant, row.domain_name);
        return presentInbox(row);
      });
      waker.wake('outbox');
      return inbox;
    },
  };
}
