// Housekeeping sets aside files of inboxes without a row, and no others.
import { utimes } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import pino from 'pino';
import { loadConfig } from '../../../../src/config.ts';
import { upkeep } from '../../../../src/features/upkeep.ts';
import { newBlobKey } from '../../../../src/platform/storage/blob-store.ts';
import { createTestTenant, type TestTenant } from '../../../support/api.ts';
import { createTestDatabase, type TestDatabase } from '../../../support/database.ts';
import { insertInbox } from '../../../support/inboxes.ts';
import { startTestAcceptance, type TestAcceptance } from '../../../support/receiving.ts';

const asOf = new Date('2026-03-10T12:00:00Z');
const old = new Date('2026-03-09T11:59:00Z');

let test: TestDatabase;
let tenant: TestTenant;
let acceptance: TestAcceptance;

beforeAll(async () => {
  test = await createTestDatabase();
  tenant = await createTestTenant(test.database, 'Acme');
  acceptance = startTestAcceptance(test.url, test.database);
});
afterAll(async () => {
  await acceptance.stop();
  await test.drop();
});

async function putFile(writtenAt = old): Promise<string> {
  const key = newBlobKey('inbox', tenant.accountId);
  await acceptance.store.put(key, Buffer.from('x'));
  await utimes(join(acceptance.home, 'blobs', key), writtenAt, writtenAt);
  return key;
}

/** Inserts a row for each file that a mail may have. */
async function insertRows(keys: string[]): Promise<void> {
  const { accountId, brandId } = tenant;
  const inboxId = await insertInbox(test.database, tenant, 'support@acme.example');
  await test.database.pool.query(
    `with accepted as (
       insert into inbound_mails (account_id, brand_id, inbox_id, raw_key, size, envelope_from, recipient, source)
       values ($1, $2, $3, $4, 1, '', 'support@acme.example', 'smtp')
     ), message as (
       insert into conversation_messages (account_id, brand_id, inbox_id, direction, from_address, raw_key)
       values ($1, $2, $3, 'inbound', 'ann@example.net', $5) returning id
     ), attachment as (
       insert into conversation_attachments (account_id, conversation_message_id, filename, content_type, size,
         storage_key, scan_status)
       select $1, id, 'a', 'text/plain', 1, $6, 'clean' from message
     )
     insert into inbox_removed_files (key, account_id, size) values ($7, $1, 1)`,
    [accountId, brandId, inboxId, ...keys],
  );
}

it('sets aside only old files that no mail, attachment or removal names', async () => {
  const named = [await putFile(), await putFile(), await putFile(), await putFile()];
  await insertRows(named);
  const young = await putFile(asOf);
  const orphan = await putFile();
  const config = loadConfig({ CARILLON_HOME: acceptance.home });
  const deps = { config, database: test.database, log: pino({ level: 'silent' }), ...upkeep };
  const task = upkeep.tasks.find(({ name }) => name === 'orphaned_inbox_files');
  expect(await task?.run(deps, asOf, () => undefined)).toBe(1);
  expect((await acceptance.keys()).toSorted()).toEqual([...named, young].toSorted());
  const aside: string[] = [];
  for await (const { keys } of acceptance.store.aside.list('inbox', 100)) aside.push(...keys);
  expect(aside).toEqual([orphan]);
});
