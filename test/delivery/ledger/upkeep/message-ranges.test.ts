// Message partitions exist ahead of use, and retention never drops a range in use or queued content.
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import pino from 'pino';
import { loadConfig } from '../../../../src/config.ts';
import { messageRanges } from '../../../../src/delivery/ledger/upkeep/message-ranges.ts';
import { allocateMessageIds } from '../../../../src/delivery/ledger/accept/write-messages.ts';
import { upkeep } from '../../../../src/features/upkeep.ts';
import { RANGE_IDS } from '../../../../src/platform/db/id-ranges.ts';
import { keepPartitionsOf } from '../../../../src/platform/db/partitions.ts';
import { createTestDatabase, type TestDatabase } from '../../../support/database.ts';
import { eventually } from '../../../support/eventually.ts';
import { insertAccount, queueEmails, type QueuedAccount, statusCounts } from '../../../support/queued.ts';
import {
  startSmtpServer,
  startTestSender,
  type TestSender,
  type TestSmtpServer,
} from '../../../support/sending.ts';

const DAY_MS = 86_400_000;
let test: TestDatabase;
let account: QueuedAccount;

beforeEach(async () => {
  test = await createTestDatabase();
  account = await insertAccount(test.database);
});
afterEach(() => test.drop());

const query = <Row extends object>(text: string, values: unknown[] = []) =>
  test.database.pool.query<Row>(text, values).then((result) => result.rows);

/** Runs the task as if `days` had passed. */
function keep(days: number): Promise<number> {
  const deps = {
    config: loadConfig({}),
    database: test.database,
    log: pino({ level: 'silent' }),
    ...upkeep,
  };
  return messageRanges.run(deps, new Date(Date.now() + days * DAY_MS), () => undefined);
}

async function partitionsOf(table: string): Promise<string[]> {
  const rows = await query<{ name: string }>(
    `select inhrelid::regclass::text as name from pg_inherits where inhparent = $1::regclass order by length(inhrelid::regclass::text), 1`,
    [table],
  );
  return rows.map((row) => row.name);
}

const placesOf = (table: string) =>
  query<{ place: string; count: number }>(
    `select tableoid::regclass::text as place, count(*) from ${table} group by 1 order by 1`,
  );

const moveSequenceTo = (id: number) => query(`select setval('messages_id_seq', $1, false)`, [id]);

/** Moves the sequence to the range without waiting for weeks, as the task does. */
async function closeUntil(range: number): Promise<void> {
  await query(
    `insert into message_ranges (n, closed_at) select n, now() from generate_series(1, $1) n on conflict do nothing`,
    [range],
  );
  await query('update message_ranges set closed_at = case when n < $1 then now() end', [range]);
  await moveSequenceTo(range * RANGE_IDS);
  await keepPartitionsOf(test.database.pool, upkeep.partitions);
}

describe('ranges of message ids', () => {
  it('have partitions ahead after a migration', async () => {
    expect(await partitionsOf('messages')).toEqual(['messages_0', 'messages_8']);
    expect(await partitionsOf('message_events')).toEqual(['message_events_0', 'message_events_8']);
    expect(await partitionsOf('message_contents')).toEqual(
      [0, 1, 2, 3].map((range) => `message_contents_${range}`),
    );
  });

  it('change once a week, and later ids are in the next range', async () => {
    await queueEmails(test.database, account, 2);
    await keep(6);
    const [before] = await allocateMessageIds(test.database.pool, 1);
    expect(before).toBeLessThan(RANGE_IDS);
    await keep(8);
    await keep(8);
    const ids = await queueEmails(test.database, account, 3);
    expect(ids).toEqual([RANGE_IDS, RANGE_IDS + 1, RANGE_IDS + 2]);
    expect(await placesOf('message_contents')).toEqual([
      { place: 'message_contents_0', count: 2 },
      { place: 'message_contents_1', count: 3 },
    ]);
    expect(await partitionsOf('message_contents')).toContain('message_contents_4');
  });

  it('do not change while the current one has no messages', async () => {
    expect(await keep(100)).toBe(0);
  });

  it('follow the sequence when a range runs out of ids', async () => {
    await moveSequenceTo(RANGE_IDS - 1);
    await queueEmails(test.database, account, 3);
    await keep(0);
    expect(await query('select n, closed_at is null as open from message_ranges order by n')).toEqual([
      { n: 0, open: false },
      { n: 1, open: true },
    ]);
  });

  it('accept ids that a process took before the range changed', async () => {
    const [early] = await allocateMessageIds(test.database.pool, 1);
    await keep(8);
    await query(
      `insert into messages (id, account_id, brand_id, channel, status) values ($1, 1, 1, 'email', 'sent')`,
      [early],
    );
    expect(await placesOf('messages')).toEqual([{ place: 'messages_0', count: 1 }]);
  });
});

describe('retention of messages', () => {
  beforeEach(async () => {
    await queueEmails(test.database, account, 2);
    await query(`insert into message_events (message_id, attempt, type) values (1, 1, 'sent')`);
  });

  it('drops contents 30 days after their range was closed, and keeps the messages', async () => {
    await query('truncate send_queue');
    await closeUntil(1);
    await keep(30);
    expect(await partitionsOf('message_contents')).toContain('message_contents_0');
    await keep(31);
    expect(await partitionsOf('message_contents')).not.toContain('message_contents_0');
    expect(await query('select id from messages')).toHaveLength(2);
  });

  it('has the files of dropped contents looked at, however long they were to be kept', async () => {
    await query('truncate send_queue');
    await query(
      `with files as (
         insert into attachment_files (account_id, sha256, storage_key, size, kept_until)
         select $1, sha256(n::text::bytea), n, 1, now() + interval '1 year' from generate_series(1, 2) n
         returning account_id, sha256
       ) insert into message_attachments
         (message_id, n, account_id, filename, content_type, disposition, size, sha256, stored)
       select 1, n, account_id, 'a', 'text/plain', 'attachment', 1, sha256, n = 1 from files
       cross join generate_series(1, 2) n where sha256 = sha256(n::text::bytea)`,
      [account.accountId],
    );
    const kept = () =>
      query(
        `select storage_key as key, kept_until < now() + interval '1 day' as soon from attachment_files order by 1`,
      );
    await closeUntil(1);
    await keep(30);
    expect(await kept()).toEqual([
      { key: '1', soon: false },
      { key: '2', soon: false },
    ]);
    await keep(31);
    expect(await partitionsOf('message_attachments')).not.toContain('message_attachments_0');
    expect(await kept()).toEqual([
      { key: '1', soon: true },
      { key: '2', soon: false },
    ]);
  });

  it('never drops the content of a queued message', async () => {
    await query('delete from send_queue where message_id = 1');
    await closeUntil(1);
    await keep(1_000);
    expect(await query('select message_id from message_contents')).toHaveLength(2);
  });

  it('never drops the content of a message that an intent covers', async () => {
    await query('truncate send_queue');
    await query(
      `insert into handovers (owner, seq, provider, message_ids, attempts) values (1, 1, 'x', '{2}', '{1}')`,
    );
    await closeUntil(1);
    await keep(1_000);
    expect(await query('select message_id from message_contents')).toHaveLength(2);
  });

  it('drops messages and events 400 days after all ranges of their partition were closed', async () => {
    await query('truncate send_queue');
    await closeUntil(7);
    await keep(1_000);
    expect(await query('select id from messages')).toHaveLength(2);
    await closeUntil(8);
    await keep(400);
    expect(await partitionsOf('messages')).toContain('messages_0');
    await keep(401);
    expect(await partitionsOf('messages')).not.toContain('messages_0');
    expect(await partitionsOf('message_events')).not.toContain('message_events_0');
  });

  it('never drops the range in use', async () => {
    await query('truncate send_queue');
    await query(`update message_ranges set opened_at = now() - interval '5 years'`);
    await keep(1_000);
    await keep(2_000);
    expect(await query('select n from message_ranges where closed_at is null')).toEqual([{ n: 1 }]);
    expect(await partitionsOf('message_contents')).toContain('message_contents_1');
  });
});

describe('sending with many partitions', () => {
  let server: TestSmtpServer;
  let sender: TestSender | null = null;
  beforeEach(async () => {
    server = await startSmtpServer();
  });
  afterEach(async () => {
    await sender?.stop();
    sender = null;
    await server.stop();
  });
  const start = async () => {
    sender = await startTestSender({ url: test.url, port: server.port });
  };

  it('sends a batch whose messages are in two partitions', async () => {
    await moveSequenceTo(8 * RANGE_IDS - 20);
    await keepPartitionsOf(test.database.pool, upkeep.partitions);
    await queueEmails(test.database, account, 40);
    await start();
    await eventually(async () => expect(await statusCounts(test.database)).toEqual({ sent: 40 }));
    expect(server.received).toHaveLength(40);
    for (const table of ['messages', 'message_contents']) expect(await placesOf(table)).toHaveLength(2);
  });

  it('searches no partition without a message of the batch', async () => {
    const other = await insertAccount(test.database);
    for (let range = 1; range <= 40; range++) {
      await moveSequenceTo(range * RANGE_IDS);
      await keepPartitionsOf(test.database.pool, upkeep.partitions);
    }
    await query(
      `insert into messages (id, account_id, brand_id, channel, status)
       select range * $1::bigint, $2, $3, 'email', 'sent' from generate_series(0, 39) range`,
      [RANGE_IDS, other.accountId, other.brandId],
    );
    const held = await insertAccount(test.database, 0);
    await queueEmails(test.database, account, 60);
    await queueEmails(test.database, held, 60);
    await start();
    await eventually(async () =>
      expect(await statusCounts(test.database, account.accountId)).toEqual({ sent: 60 }),
    );
    await eventually(async () =>
      expect(await statusCounts(test.database, held.accountId)).toEqual({ held: 60 }),
    );
    await sender?.stop();
    sender = null;
    // Backends report what they have searched when they end, at the latest.
    await eventually(async () => {
      const searched = await query<{ name: string }>(
        `select relname::text as name from pg_stat_user_tables
         where relname ~ '^message(s|_contents|_events)_\\d+$' and idx_scan > 0 order by 1`,
      );
      expect(searched.map(({ name }) => name)).toEqual(['message_contents_40', 'messages_40']);
    });
  });
});
