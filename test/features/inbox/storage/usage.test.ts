// Owners are notified once when their mail nears its quota, and clients see what it stores and what was evicted.
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import pino from 'pino';
import { evict } from '../../../../src/features/inbox/retention/evict.ts';
import { notifyOfStorage } from '../../../../src/features/inbox/retention/storage-notices.ts';
import { startTestApi, type TestApi } from '../../../support/api.ts';
import {
  insertConversation,
  insertConversationMessage,
  insertQuarantined,
} from '../../../support/conversations.ts';
import { insertInbox } from '../../../support/inboxes.ts';
import { createTestStore, type TestStore } from '../../../support/mail-scans.ts';

const MIB = 1024 * 1024;
const QUOTA = 100 * MIB;

let api: TestApi;
let files: TestStore;
let inbox: number;
let n = 0;
beforeAll(async () => {
  [api, files] = await Promise.all([startTestApi({ env: { INBOX_QUOTA_MB: '100' } }), createTestStore()]);
});
afterAll(async () => {
  await api.close();
  await files.remove();
});
beforeEach(async () => {
  await query(
    'delete from conversation_messages; delete from inbox_removed_files; delete from inbox_storage',
  );
  await query("delete from messages where subject = 'The mail in your inboxes nears its quota'");
  inbox = await insertInbox(api.database, api, `support${(n += 1)}@inbox.test`);
});

const query = async <Row extends object>(text: string, values: unknown[] = []): Promise<Row[]> =>
  (await api.database.pool.query<Row>(text, values)).rows;

const store = (mib: number) =>
  query(
    `insert into inbox_storage as s (account_id, bytes) values ($1, $2)
     on conflict (account_id) do update set bytes = excluded.bytes`,
    [api.accountId, mib * MIB],
  );
const notified = async () => {
  const waker = { wake: () => undefined };
  const { pool } = api.database;
  const log = pino({ level: 'silent' });
  await notifyOfStorage({ pool, waker, systemFrom: 'noreply@mail.test', quotaBytes: QUOTA, log });
  const rows = await query<{ to_address: string }>(
    "select to_address from messages where subject = 'The mail in your inboxes nears its quota'",
  );
  return rows.length;
};

/** A mail in quarantine, of this size. */
const quarantined = async (mib: number) => {
  const raw_key = `inbox/${api.accountId}/${String((n += 1)).padStart(32, '0')}`;
  const size = mib * MIB;
  const columns = { inbox_id: inbox, raw_key, raw_size: size, stored_bytes: size, sender_trusted: false };
  return insertQuarantined(api, api, columns);
};

describe('the owners of an account', () => {
  it('are notified once an episode, from 80% of the quota until it is below 70% again', async () => {
    await store(79);
    expect(await notified()).toBe(0);
    await store(81);
    expect(await notified()).toBe(1);
    await store(75);
    expect(await notified()).toBe(1);
    await store(90);
    expect(await notified()).toBe(1);
    await store(69);
    expect(await notified()).toBe(1);
    await store(80);
    expect(await notified()).toBe(2);
  });

  it('are notified again if mail outside of quarantine reaches 80%, too', async () => {
    await quarantined(50);
    await store(85);
    expect(await notified()).toBe(1);
    await store(131);
    expect(await notified()).toBe(2);
    expect(await notified()).toBe(2);
  });
});

describe('eviction', () => {
  const stored = async () =>
    (await query<{ bytes: number }>('select bytes from inbox_storage'))[0]?.bytes ?? 0;
  const evictTo = (most: number) => {
    const deps = { pool: api.database.pool, store: files.store, log: pino({ level: 'silent' }) };
    return evict(deps, api.accountId, { most, spare: () => 0 });
  };
  /** Makes the account store this much less. @returns bytes freed */
  const room = async (mib: number) => {
    const before = await stored();
    await evictTo(before - mib * MIB);
    return before - (await stored());
  };
  const left = async () =>
    (
      await query<{ id: number }>('select id from conversation_messages where inbox_id = $1 order by id', [
        inbox,
      ])
    ).map(({ id }) => id);

  it('deletes the oldest mail in quarantine, as much as is needed, and nothing else', async () => {
    await store(50);
    const conversation = await insertConversation(api, api, { inbox_id: inbox });
    const arrived = await insertConversationMessage(api, api, {
      inbox_id: inbox,
      conversation_id: conversation,
    });
    const [, , young] = [await quarantined(10), await quarantined(10), await quarantined(10)];
    const released = await quarantined(10);
    await query(
      `update conversation_messages set quarantine = quarantine || '{"released_at": "now"}' where id = $1`,
      [released],
    );
    expect(await room(15)).toBe(20 * MIB);
    expect(await left()).toEqual([arrived, young, released]);
    expect(await room(100)).toBe(10 * MIB);
    expect(await left()).toEqual([arrived, released]);
  });

  it('is shown with its counts by the inbox and the account', async () => {
    await store(50);
    await quarantined(10);
    await quarantined(10);
    await room(5);
    const { body } = await api.request('GET', '/v1/my/inboxes/usage');
    expect(body).toEqual({
      used_bytes: 40 * MIB,
      quarantined_bytes: 10 * MIB,
      unproved_bytes: 0,
      quota_bytes: QUOTA,
      evicted_count: 1,
      evicted_bytes: 10 * MIB,
      last_evicted_at: expect.any(String),
    });
    expect((await api.request('GET', `/v1/my/inboxes/${inbox}`)).body).toMatchObject({
      evicted_count: 1,
      last_evicted_at: expect.any(String),
    });
  });

  it('at the same time evicts no more than one of two needs', async () => {
    await store(50);
    const mails = [
      await quarantined(10),
      await quarantined(10),
      await quarantined(10),
      await quarantined(10),
    ];
    expect(await Promise.all([evictTo(35 * MIB), evictTo(35 * MIB)])).toEqual([true, true]);
    expect(await left()).toEqual(mails.slice(2));
  });

  /** Lets the second mail use the file of the first. */
  async function share(one: number, two: number): Promise<void> {
    const [row] = await query<{ key: string }>(
      'select raw_key as key from conversation_messages where id = $1',
      [one],
    );
    await query('update conversation_messages set raw_key = $2 where id = $1', [two, row?.key]);
    await query('insert into inbox_shared_files (key, account_id, uses) values ($1, $2, 2)', [
      row?.key,
      api.accountId,
    ]);
  }

  it('leaves out mail whose file is also that of mail outside of quarantine', async () => {
    await store(50);
    const [one, two] = [await quarantined(10), await quarantined(10)];
    await share(one, two);
    const other = await quarantined(10);
    await query('update conversation_messages set arrived_at = now() where id = $1', [two]);
    const { body } = await api.request('GET', '/v1/my/inboxes/usage');
    expect(body).toMatchObject({ quarantined_bytes: 10 * MIB, unproved_bytes: 0 });
    expect(await room(5)).toBe(10 * MIB);
    expect(await left()).toEqual([one, two]);
    expect(await room(5)).toBe(0);
    expect(await left()).not.toContain(other);
  });

  it('of a mail that others share frees nothing until the last of them is evicted', async () => {
    await store(50);
    const [one, two] = [await quarantined(10), await quarantined(10)];
    await share(one, two);
    const other = await quarantined(10);
    expect((await api.request('GET', '/v1/my/inboxes/usage')).body.quarantined_bytes).toBe(20 * MIB);
    expect(await room(5)).toBe(10 * MIB);
    expect(await left()).toEqual([other]);
  });
});
