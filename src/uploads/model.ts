import type { Queryable } from '../db/queryable.ts';
import type { Tenant } from '../auth/tenant.ts';

export interface Upload {
  id: number;
  accountId: number;
  filename: string;
  /** By its content. */
  contentType: string;
  /** Bytes. */
  size: number;
  storageKey: string;
}

export type NewUpload = Omit<Upload, 'id' | 'accountId'>;

const COLUMNS = `id, account_id as "accountId", filename, content_type as "contentType", size,
  storage_key as "storageKey"`;

export async function insertUpload(trx: Queryable, tenant: Tenant, upload: NewUpload): Promise<Upload> {
  const { rows } = await trx.query<Upload>(
    `insert into uploads (account_id, brand_id, filename, content_type, size, storage_key)
     values ($1, $2, $3, $4, $5, $6) returning ${COLUMNS}`,
    [tenant.accountId, tenant.brandId, upload.filename, upload.contentType, upload.size, upload.storageKey],
  );
  return rows[0] as Upload;
}

/** @returns null where the account has no such upload */
export async function findUpload(db: Queryable, accountId: number, id: number): Promise<Upload | null> {
  const { rows } = await db.query<Upload>(
    `select ${COLUMNS} from uploads where account_id = $1 and id = $2`,
    [accountId, id],
  );
  return rows[0] ?? null;
}
