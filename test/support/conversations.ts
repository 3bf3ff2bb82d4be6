/** Inserts conversations as they are after mail has arrived. */
import { newBlobKey } from '../../src/platform/storage/blob-store.ts';
import type { TestApi, TestTenant } from './api.ts';

type Columns = Record<string, unknown>;
type Db = Pick<TestApi, 'database'>;

async function insert({ database }: Db, table: string, columns: Columns): Promise<number> {
  const names = Object.keys(columns);
  const { rows } = await database.pool.query<{ id: number }>(
    `insert into ${table} (${names.join(', ')}) values (${names.map((_, n) => `$${n + 1}`).join(', ')}) returning id`,
    Object.values(columns),
  );
  return rows[0]?.id ?? 0;
}

const scopeOf = ({ accountId, brandId }: TestTenant) => ({ account_id: accountId, brand_id: brandId });

export function insertConversation(
  db: Db,
  tenant: TestTenant,
  columns: Columns & { inbox_id: number },
): Promise<number> {
  const given = { subject: 'Question', participants: ['ada@example.com'] };
  return insert(db, 'conversations', { ...scopeOf(tenant), ...given, ...columns });
}

export const AUTHENTICATION = {
  spf: { result: 'pass', domain: 'example.com' },
  dkim: { result: 'pass', domain: 'example.com' },
  dmarc: { result: 'none', domain: 'example.com', policy: null },
  arc: { result: 'none', domain: null },
  aligned: true,
};

/** Inserts a message that has arrived, from Ada. */
export function insertConversationMessage(
  db: Db,
  tenant: TestTenant,
  columns: Columns & { inbox_id: number },
): Promise<number> {
  return insert(db, 'conversation_messages', {
    ...scopeOf(tenant),
    direction: 'inbound',
    internet_id: 'one@example.com',
    from_address: 'Ada <ada@example.com>',
    sender_key: 'ada@example.com',
    sender_trusted: true,
    to_addresses: ['support@inbox.test'],
    subject: 'Question',
    text: 'Hello',
    authentication: AUTHENTICATION,
    arrived_at: new Date(),
    ...columns,
  });
}

/** Inserts a message in quarantine, from Ada. */
export function insertQuarantined(
  db: Db,
  tenant: TestTenant,
  columns: Columns & { inbox_id: number },
): Promise<number> {
  const quarantine = { reason: 'spam', detail: null, at: new Date().toISOString(), released_at: null };
  const held = { conversation_id: null, arrived_at: null, quarantine };
  return insertConversationMessage(db, tenant, { ...held, ...columns });
}

export function insertAttachment(
  db: Db,
  tenant: TestTenant,
  columns: Columns & { conversation_message_id: number },
): Promise<number> {
  return insert(db, 'conversation_attachments', {
    account_id: tenant.accountId,
    filename: 'invoice.pdf',
    content_type: 'application/pdf',
    size: 10,
    storage_key: newBlobKey('inbox', tenant.accountId),
    scan_status: 'clean',
    ...columns,
  });
}
