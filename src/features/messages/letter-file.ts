/** Opens files of messages. */
import { notFound } from '../../errors.ts';
import type { Tenant } from '../../platform/auth/tenant.ts';
import { refuseTestKey } from '../../platform/auth/test-keys.ts';
import type { Queryable } from '../../platform/db/queryable.ts';
import type { Attachments, OpenedFile } from '../attachments/service.ts';
import { findLetterFile } from './letter-model.ts';
import { isOfTestKey } from './model.ts';
import { maySee } from './sent-by.ts';

export interface LetterFileContent extends OpenedFile {
  filename: string;
  /** As the message has it. */
  contentType: string;
  /** In hexadecimal digits. */
  sha256: string;
}

interface OpenDeps {
  pool: Queryable;
  attachments: Pick<Attachments, 'openFile'>;
}

/** @throws AppError not_found; test_key */
export async function openLetterFile(
  { pool, attachments }: OpenDeps,
  tenant: Tenant,
  id: number,
  n: number,
): Promise<LetterFileContent> {
  const row = await findLetterFile(pool, tenant, id, n);
  if (!row || !maySee(tenant, row)) throw notFound('file');
  if (!isOfTestKey(row)) refuseTestKey(tenant, 'read files of messages that are not of test keys');
  const opened = row.stored ? await attachments.openFile(tenant, row.sha256, 'bytes') : null;
  if (!opened) throw notFound('file');
  const { filename, content_type: contentType, sha256 } = row;
  return { ...opened, filename, contentType, sha256: sha256.toString('hex') };
}
