// Mail is kept for its time and no longer: its files are removed, and the bytes that its account stores are right.
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import {
  oldDigests,
  oldQuarantine,
  oldRawMail,
  storedBytes,
  unfilledMail,
} from '../../../../src/features/inbox/retention/old-mail.ts';
import { lockSharedFiles } from '../../../../src/features/inbox/receive/shared-files.ts';
import { removeFiles } from '../../../../src/features/inbox/retention/remove-files.ts';
import { inTransaction } from '../../../../src/platform/db/queryable.ts';
import { createTestTenant, type TestTenant } from '../../../support/api.ts';
import { createTestDatabase, type TestDatabase } from '../../../support/database.ts';
import { eventually } from '../../../support/eventually.ts';
import { runTask } from '../../../support/housekeeping.ts';
import { writeEmail } from '../../../support/inbox-mails.ts';
import { insertInbox } from '../../../support/inboxes.ts';
import { createTestStore, insertMailToScan, type TestStore } from '../../../support/mail-scans.ts';
import { countWaiting } from '../../../support/waiting.ts';

const DAY_MS = 86_400_000;
const MAIL_BYTES = 'the mail'.length;
const now = new Date('2026-06-15T03:07:00Z');
const daysAgo = (days: number) => new Date(now.getTime() - days * DAY_MS);

let db: TestDatabase;
let files: TestStore;
let tenant: TestTenant;
let inboxId: number;
let tenants = 0;

beforeAll(async () => {
  [db, files] = await Promise.all([createTestDatabase(), createTestStore()]);
});
afterAll(async () => {
  await Promise.all([db.drop(), files.remove()]);
});
beforeEach(async () => {
  await db.database.pool.query('delete from inbox_removed_files');
  tenant = await createTestTenant(db.database, `Keeping ${(tenants += 1)}`);
  inboxId = await insertInbox(db.database, tenant, 'support@kept.test');
});

const query = async <Row extends object>(text: string, values: unknown[] = []): Promise<Row[]> =>
  (await db.database.pool.query<Row>(text, values)).rows;
const remove = () => removeFiles({ pool: db.database.pool, store: files.store });
const run = (task: Parameters<typeof runTask>[1], asOf = now) => runTask(db.database, task, asOf);

/** Inserts a mail with one attachment of four bytes, and counts it. */
async function insertMail(days: number, columns: { quarantine?: object; arrived?: boolean } = {}) {
  const { quarantine = null, arrived = quarantine === null } = columns;
  const mail = { inboxId, attachments: ['four'], receivedAt: daysAgo(days), quarantine };
  const { id } = await insertMailToScan(db.database, files.store, tenant, mail);
  await query('update conversation_messages set arrived_at = $2 where id = $1', [
    id,
    arrived ? daysAgo(days) : null,
  ]);
  await query(
    `insert into inbox_storage as s (account_id, bytes) values ($1, $2)
     on conflict (account_id) do update set bytes = s.bytes + excluded.bytes`,
    [tenant.accountId, MAIL_BYTES + 4],
  );
  const [keys] = await query<{ raw: string; attachment: string }>(
    `select m.raw_key as raw, a.storage_key as attachment
     from conversation_messages m join conversation_attachments a on a.conversation_message_id = m.id where m.id = $1`,
    [id],
  );
  return { id, raw: keys?.raw ?? '', attachment: keys?.attachment ?? '' };
}

async function isStored(key: string): Promise<boolean> {
  const blob = await files.store.open(key);
  blob?.stream.destroy();
  return blob !== null;
}

const bytes = async () =>
  (
    await query<{ bytes: number }>('select bytes from inbox_storage where account_id = $1', [
      tenant.accountId,
    ])
  )[0]?.bytes;

const exists = async (id: number) =>
  (await query('select 1 from conversation_messages where id = $1', [id])).length === 1;

describe('raw mail', () => {
  it('is removed after 90 days, but not what was read from it', async () => {
    const old = await insertMail(91);
    const young = await insertMail(89);
    expect(await run(oldRawMail)).toBe(1);
    expect(await remove()).toBe(1);
    expect([await isStored(old.raw), await isStored(young.raw)]).toEqual([false, true]);
    expect([await isStored(old.attachment), await exists(old.id)]).toEqual([true, true]);
    expect(await bytes()).toBe(MAIL_BYTES + 8);
    expect(await run(oldRawMail)).toBe(0);
  });
});

describe('mail in quarantine', () => {
  const held = { reason: 'spam', detail: null, at: 'then', released_at: null };

  it('is deleted after 90 days with its files, unless it was released', async () => {
    const old = await insertMail(91, { quarantine: held });
    const young = await insertMail(89, { quarantine: held });
    const released = await insertMail(91, { quarantine: { ...held, released_at: 'now' } });
    const arrived = await insertMail(91, { quarantine: held, arrived: true });
    const clean = await insertMail(91);
    expect(await run(oldQuarantine)).toBe(1);
    expect(await remove()).toBe(2);
    expect(await Promise.all([old, young, released, arrived, clean].map(({ id }) => exists(id)))).toEqual([
      false,
      true,
      true,
      true,
      true,
    ]);
    expect([await isStored(old.raw), await isStored(old.attachment)]).toEqual([false, false]);
    expect(await bytes()).toBe(4 * (MAIL_BYTES + 4));
  });
});

it('forgets after 30 days that a mail was received', async () => {
  for (const days of [31, 29])
    await query('insert into inbox_digests (inbox_id, digest, received_at) values ($1, $2, $3)', [
      inboxId,
      Buffer.from(String(days)),
      daysAgo(days),
    ]);
  expect(await run(oldDigests)).toBe(1);
  const left = await query<{ digest: Buffer }>('select digest from inbox_digests where inbox_id = $1', [
    inboxId,
  ]);
  expect(left.map(({ digest }) => String(digest))).toEqual(['29']);
});

describe('the files of deleted mail', () => {
  it('are removed, even if some are already gone, and counted once by two processes', async () => {
    const mails = [await insertMail(1), await insertMail(1)];
    await files.store.remove(mails[0]?.raw ?? '');
    const kept = await insertMail(1);
    await query('delete from conversation_messages where id = any($1)', [mails.map(({ id }) => id)]);
    await Promise.all([remove(), remove()]);
    expect(await bytes()).toBe(MAIL_BYTES + 4);
    expect(await query('select 1 from inbox_removed_files')).toEqual([]);
    expect(await Promise.all(mails.map(({ attachment }) => isStored(attachment)))).toEqual([false, false]);
    expect(await isStored(kept.raw)).toBe(true);
  });

  it('are counted down in the order of their keys, so that no two deletions wait for each other', async () => {
    const { pool } = db.database;
    const ids = [(await insertMail(1)).id, (await insertMail(1)).id];
    const [high, low] = ['z', 'y'].map((letter) => `inbox/${tenant.accountId}/${letter.repeat(32)}`);
    for (const [index, key] of [high, low].entries()) {
      await query('update conversation_messages set raw_key = $2 where id = $1', [ids[index], key]);
      await query('insert into inbox_shared_files (key, account_id, uses) values ($1, $2, 2)', [
        key,
        tenant.accountId,
      ]);
    }
    let deleting = Promise.resolve<unknown>(null);
    await inTransaction(pool, async (trx) => {
      await lockSharedFiles(trx, [low ?? '']);
      deleting = query('delete from conversation_messages where id = any($1)', [ids]);
      await eventually(async () => expect(await countWaiting(pool)).toBe(1));
      expect(await lockSharedFiles(trx, [high ?? ''])).toEqual(new Set([high]));
    });
    await deleting;
  });

  it('stay listed while the storage is unavailable', async () => {
    const { id } = await insertMail(1);
    await query('delete from conversation_messages where id = $1', [id]);
    const broken = { remove: () => Promise.reject(new Error('the disk is gone')) };
    await expect(removeFiles({ pool: db.database.pool, store: broken })).rejects.toThrow('the disk is gone');
    expect(await query('select 1 from inbox_removed_files')).toHaveLength(2);
    expect(await bytes()).toBe(MAIL_BYTES + 4);
  });

  it('are removed when the account is deleted', async () => {
    const { raw, attachment } = await insertMail(1);
    await query('delete from accounts where id = $1', [tenant.accountId]);
    expect(await remove()).toBe(2);
    expect([await isStored(raw), await isStored(attachment)]).toEqual([false, false]);
  });
});

describe('the bytes that an account stores', () => {
  it('are corrected at night', async () => {
    const deleted = await insertMail(1);
    await insertMail(1);
    await query('delete from conversation_messages where id = $1', [deleted.id]);
    await query(
      `insert into inbound_mails (account_id, brand_id, inbox_id, raw_key, size, envelope_from, recipient, source)
       values ($1, $2, $3, 'a key', 1000, '', 'support@kept.test', 'smtp')`,
      [tenant.accountId, tenant.brandId, inboxId],
    );
    await query('update inbox_storage set bytes = 5 where account_id = $1', [tenant.accountId]);
    expect(await run(storedBytes, new Date('2026-06-15T04:07:00Z'))).toBe(0);
    expect(await bytes()).toBe(5);
    expect(await run(storedBytes)).toBeGreaterThanOrEqual(1);
    // Files that have yet to be removed count, too.
    expect(await bytes()).toBe(2 * (MAIL_BYTES + 4) + 1_000);
    expect(await run(storedBytes)).toBe(0);
  });

  it('are not corrected by what is counted meanwhile', async () => {
    await insertMail(1);
    await query('update inbox_storage set bytes = bytes + 3 where account_id = $1', [tenant.accountId]);
    const client = await db.database.pool.connect();
    try {
      await client.query('begin');
      await client.query('update inbox_storage set bytes = bytes + 100 where account_id = $1', [
        tenant.accountId,
      ]);
      const corrected = run(storedBytes);
      await eventually(async () => expect(await countWaiting(db.database.pool)).toBe(1));
      await client.query('commit');
      await corrected;
    } finally {
      client.release();
    }
    expect(await bytes()).toBe(MAIL_BYTES + 4 + 100);
  });
});

describe('mail of earlier versions', () => {
  it('counts what it still stores, and answers get the key of their recipient', async () => {
    const [expired, whole] = [await insertMail(1), await insertMail(1)];
    await query('update conversation_messages set raw_key = null where id = $1', [expired.id]);
    await query('update conversation_messages set stored_bytes = null where account_id = $1', [
      tenant.accountId,
    ]);
    const messageId = await writeEmail(db.database, tenant, { to_key: 'eve@example.com' });
    for (const id of [messageId, null])
      await query(
        `insert into conversation_messages (account_id, brand_id, inbox_id, direction, message_id, from_address)
         values ($1, $2, $3, 'outbound', $4, 'support@kept.test')`,
        [tenant.accountId, tenant.brandId, inboxId, id],
      );
    expect(await run(unfilledMail)).toBeGreaterThanOrEqual(4);
    const sizes = await query(
      'select id, stored_bytes from conversation_messages where id = any($1) order by id',
      [[expired.id, whole.id]],
    );
    expect(sizes).toEqual([
      { id: expired.id, stored_bytes: 4 },
      { id: whole.id, stored_bytes: MAIL_BYTES + 4 },
    ]);
    const answers = await query(
      `select recipient from conversation_messages where account_id = $1 and direction = 'outbound' order by id`,
      [tenant.accountId],
    );
    expect(answers).toEqual([{ recipient: 'eve@example.com' }, { recipient: '' }]);
    expect(await run(unfilledMail)).toBe(0);
  });
});
