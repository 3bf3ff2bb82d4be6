import type { Queryable } from '../db/queryable.ts';
import type { SignedIds } from './signed-id.ts';

/**
 * Uploaded images that other rows name (avatar, banner, logo). Kept is `upload:<id>`, so that a new APP_SECRET
 * changes only the signed ids that are shown.
 */
export interface ImageReferences {
  /**
   * @param signedId from a client
   * @returns what to keep; null where it is no image that this account uploaded
   */
  accept(accountId: number, signedId: string): Promise<string | null>;
  /** @returns the signed id to show for what was kept; null for null */
  show(accountId: number, reference: string | null): string | null;
}

const KEPT = /^upload:(\d+)$/;

export function createImageReferences(db: Queryable, signedIds: SignedIds): ImageReferences {
  return {
    async accept(accountId, signedId) {
      const row = signedIds.verify('upload', signedId);
      if (!row || row.accountId !== accountId) return null;
      const { rowCount } = await db.query(
        `select 1 from uploads where id = $1 and account_id = $2 and content_type like 'image/%'`,
        [row.id, accountId],
      );
      return rowCount === 1 ? `upload:${row.id}` : null;
    },
    show(accountId, reference) {
      const id = KEPT.exec(reference ?? '')?.[1];
      return id === undefined ? null : signedIds.sign('upload', { accountId, id: Number(id) });
    },
  };
}

/** Where an upload can be fetched by anyone who has its signed id. */
export function uploadUrl(publicUrl: string, signedId: string): string {
  return `${publicUrl}/uploads/${signedId}`;
}
