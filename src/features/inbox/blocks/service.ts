import { canonicalDomain, parseEmailAddress } from '../../../delivery/terms/addresses/email.ts';
import { AppError, invalid, notFound } from '../../../errors.ts';
import type { Tenant } from '../../../platform/auth/tenant.ts';
import { countUnderLock } from '../../../platform/db/brand-limit.ts';
import type { Page, RowCount } from '../../../platform/db/paging.ts';
import type { Queryable } from '../../../platform/db/queryable.ts';
import { requireCapability } from '../../accounts/service.ts';
import { countBlocks, deleteBlock, findBlock, findBlocks, type InboxBlockRow, insertBlock } from './model.ts';
import type { CreateInboxBlockBody, InboxBlock } from './schema.ts';

const MAX_BLOCKS_PER_BRAND = 10_000;

function presentBlock(row: InboxBlockRow | null): InboxBlock {
  if (!row) throw notFound('block');
  return { id: row.id, email: row.email, domain: row.domain, created_at: row.created_at.toISOString() };
}

/** Returns the sender as the From field of a mail is compared with it: an address's key, or a domain in A-labels. */
function senderOf({ email, domain }: CreateInboxBlockBody): Pick<InboxBlockRow, 'email' | 'domain'> {
  const parsed = parseEmailAddress(email ?? '');
  const name = canonicalDomain(domain ?? '');
  return {
    email: 'error' in parsed ? null : parsed.key,
    domain: typeof name === 'string' ? name : null,
  };
}

/**
 * Blocks a sender. Mail that has already arrived stays where it is.
 * @param trx the caller's transaction
 * @throws AppError forbidden; conflict if the brand has this block; validation_error if it has too many
 */
export async function createBlock(
  trx: Queryable,
  tenant: Tenant,
  body: CreateInboxBlockBody,
): Promise<InboxBlock> {
  await requireCapability(trx, tenant, 'inboxes');
  if (
    (await countUnderLock(trx, tenant.brandId, 'inbox_blocks where brand_id = $1')) >= MAX_BLOCKS_PER_BRAND
  ) {
    const most = MAX_BLOCKS_PER_BRAND.toLocaleString('en');
    throw invalid({ inbox_blocks: [`are limited to ${most} for each brand; block domains instead`] });
  }
  const row = await insertBlock(trx, tenant, senderOf(body));
  if (!row) throw new AppError('conflict', 'this brand has already blocked this sender');
  return presentBlock(row);
}

/** Newest first. */
export async function listBlocks(
  db: Queryable,
  tenant: Tenant,
  page: Page,
): Promise<{ blocks: InboxBlock[]; count: RowCount }> {
  const [rows, count] = await Promise.all([findBlocks(db, tenant, page), countBlocks(db, tenant)]);
  return { blocks: rows.map(presentBlock), count };
}

/** @throws AppError not_found */
export async function getBlock(db: Queryable, tenant: Tenant, id: number): Promise<InboxBlock> {
  return presentBlock(await findBlock(db, tenant, id));
}

/** @throws AppError not_found */
export async function removeBlock(db: Queryable, tenant: Tenant, id: number): Promise<InboxBlock> {
  return presentBlock(await deleteBlock(db, tenant, id));
}
