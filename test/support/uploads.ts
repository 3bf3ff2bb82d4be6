import { createKeyring } from '../../src/platform/secrets/keyring.ts';
import { createSignedIds } from '../../src/platform/secrets/signed-id.ts';
import { TEST_SECRET, type TestApi } from './api.ts';

/**
 * Inserts the row of an upload, without a file.
 * @param owner by default the first account of the test API
 * @returns its signed id
 */
export async function addUpload(
  api: TestApi,
  contentType: string,
  owner: { accountId: number; brandId: number } = api,
): Promise<string> {
  const { rows } = await api.database.pool.query<{ id: number }>(
    `insert into uploads (account_id, brand_id, filename, content_type, size, storage_key)
     values ($1, $2, 'a', $3, 1, gen_random_uuid()) returning id`,
    [owner.accountId, owner.brandId, contentType],
  );
  const id = rows[0]?.id ?? 0;
  return createSignedIds(createKeyring(TEST_SECRET)).sign('upload', { accountId: owner.accountId, id });
}
