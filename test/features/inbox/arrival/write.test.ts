// A mail that was read is written once, to where it belongs, and its row leaves the queue in the same transaction.
import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { type ClaimedMail, MailClaims } from '../../../../src/features/inbox/arrival/accepted-mails.ts';
import { StrangerLimits } from '../../../../src/features/inbox/arrival/strangers.ts';
import { writeMails, type WriteDeps } from '../../../../src/features/inbox/arrival/write.ts';
import type { MailAttachment, ReadMail } from '../../../../src/features/inbox/mail/mail.ts';
import { insertMails } from '../../../../src/features/inbox/receive/mails.ts';
import { inTransaction } from '../../../../src/platform/db/queryable.ts';
import { startTestApi, type TestApi } from '../../../support/api.ts';
import { eventually } from '../../../support/eventually.ts';
import {
  type AcceptedRow,
  arrivalDeps,
  insertAcceptedMail,
  internetIdOf,
  readMail,
  writeEmail,
} from '../../../support/inbox-mails.ts';
import { insertInbox } from '../../../support/inboxes.ts';
import { countWaiting } from '../../../support/waiting.ts';
import { addWebhook, testKeyring } from '../../../support/webhooks.ts';

let api: TestApi;
let deps: WriteDeps;
let inboxId: number;
let n = 0;

beforeAll(async () => {
  api = await startTestApi();
  const limits = new StrangerLimits({ pool: pool(), keyring: testKeyring, quotaBytes: 1024 ** 3 });
  const strangers = await limits.judging([], (judge) => Promise.resolve(judge));
  deps = { ...arrivalDeps(), hasScanner: false, strangers };
  await addWebhook(api.database, api, 'https://hooks.example.com/', ['email.received']);
});
afterAll(() => api.close());
beforeEach(async () => {
  await pool().query('delete from inbound_mails; delete from inbox_blocks; delete from inbox_removed_files');
  inboxId = await insertInbox(api.database, api, `support${(n += 1)}@acme.test`);
});

const pool = () => api.database.pool;

const attachment = (changes: Partial<MailAttachment> = {}): MailAttachment => ({
  filename: 'invoice.pdf',
  contentType: 'application/pdf',
  size: 700,
  contentId: null,
  inline: false,
  storageKey: `inbox/${api.accountId}/a${String((n += 1)).padStart(31, '0')}`,
  unscannable: null,
  ...changes,
});

/** Mails are accepted and claimed. */
async function claim(count: number, changes?: AcceptedRow, inbox = inboxId): Promise<ClaimedMail[]> {
  for (let i = 0; i < count; i += 1) await insertAcceptedMail(api.database, api, inbox, changes);
  return new MailClaims().claim(pool(), 100);
}

const write = (claimed: readonly ClaimedMail[], reads: readonly ReadMail[], given = deps) =>
  inTransaction(pool(), (trx) =>
    writeMails(
      trx,
      given,
      claimed.map((mail, index) => ({ claimed: mail, read: reads[index] as ReadMail })),
    ),
  );

/** Accepts and writes one mail. */
async function receive(changes: Partial<ReadMail> = {}, accepted: AcceptedRow = {}, given = deps) {
  return write(await claim(1, accepted), [readMail(changes)], given);
}

async function messages(inbox = inboxId): Promise<Record<string, unknown>[]> {
  const { rows } = await pool().query<Record<string, unknown>>(
    'select * from conversation_messages where inbox_id = $1 order by id',
    [inbox],
  );
  return rows;
}

const attachmentsOf = async (messageId: unknown) =>
  (
    await pool().query(
      `select filename, scan_status, scan_reason from conversation_attachments where conversation_message_id = $1
       order by id`,
      [messageId],
    )
  ).rows;

async function eventCount(): Promise<number> {
  const { rows } = await pool().query<{ count: number }>(
    `select count(*) from events e join conversation_messages m on m.id = (e.data ->> 'conversation_message_id')::bigint
     where m.inbox_id = $1`,
    [inboxId],
  );
  return rows[0]?.count ?? 0;
}

const queued = async () => (await pool().query('select 1 from inbound_mails')).rowCount;
const storedBytes = async () =>
  (
    await pool().query<{ bytes: number }>('select bytes from inbox_storage where account_id = $1', [
      api.accountId,
    ])
  ).rows[0]?.bytes ?? 0;
const removedKeys = async () =>
  (await pool().query<{ key: string }>('select key from inbox_removed_files order by key')).rows.map(
    ({ key }) => key,
  );

describe('a mail', () => {
  it('is stored as it was read, and arrives', async () => {
    const [claimed] = await claim(1, { recipient: 'support+vip@acme.test', size: 4_321 });
    const read = readMail({
      internetId: 'a@example.com',
      cc: ['Bob <bob@example.com>'],
      replyTo: 'Ada <private@example.com>',
      date: new Date('2026-03-10T09:40:10Z'),
      html: '<p>Hello!</p>',
    });
    const result = await write([claimed as ClaimedMail], [read]);
    expect(result).toMatchObject({ arrived: 1, scanned: 0, quarantined: 0, duplicates: 0, stale: [] });
    expect(await messages()).toEqual([
      expect.objectContaining({
        conversation_id: expect.any(Number),
        direction: 'inbound',
        message_id: null,
        internet_id: 'a@example.com',
        sender_key: 'ada@example.com',
        sender_trusted: true,
        from_address: 'Ada Lovelace <ada@example.com>',
        to_addresses: ['support@acme.test'],
        cc_addresses: ['Bob <bob@example.com>'],
        reply_to: 'Ada <private@example.com>',
        date_header: new Date('2026-03-10T09:40:10Z'),
        recipient: 'support+vip@acme.test',
        subject: 'Hello',
        text: 'Hello!',
        html: '<p>Hello!</p>',
        authentication: read.authentication,
        quarantine: null,
        raw_key: claimed?.raw_key,
        raw_size: 4_321,
        scan_state: 'none',
        engine_expected_by: null,
        received_at: claimed?.received_at,
        arrived_at: expect.any(Date),
      }),
    ]);
    expect(await queued()).toBe(0);
    expect(await eventCount()).toBe(1);
  });

  it('is not trusted if it is not aligned', async () => {
    const { authentication } = readMail();
    await receive({ authentication: { ...authentication, aligned: false } });
    expect(await messages()).toMatchObject([{ sender_trusted: false }]);
  });

  it('at the return path of a message answers it', async () => {
    const message = await writeEmail(api.database, api);
    await receive({ autoSubmitted: true }, { answers_message_id: message });
    expect(await messages()).toMatchObject([{ message_id: message, auto_submitted: true }]);
  });

  it('keeps its attachments in order, and they count for the quota', async () => {
    const before = await storedBytes();
    await receive({ attachments: [attachment({ filename: 'b.pdf' }), attachment({ filename: 'a.pdf' })] });
    const [message] = await messages();
    expect(await attachmentsOf(message?.id)).toEqual([
      { filename: 'b.pdf', scan_status: 'skipped', scan_reason: 'no_scanner' },
      { filename: 'a.pdf', scan_status: 'skipped', scan_reason: 'no_scanner' },
    ]);
    expect((await storedBytes()) - before).toBe(1_400);
  });
});

describe('a mail that is delivered twice', () => {
  const digest = () => Buffer.alloc(32, 'the same');

  it('is written once, and its files are removed', async () => {
    await receive({ digest: digest() });
    const again = attachment();
    const [claimed] = await claim(1);
    const before = await storedBytes();
    const result = await write(
      [claimed as ClaimedMail],
      [readMail({ digest: digest(), attachments: [again] })],
    );
    expect(result).toMatchObject({ arrived: 0, duplicates: 1 });
    expect(await messages()).toHaveLength(1);
    expect(await queued()).toBe(0);
    expect(await removedKeys()).toEqual([claimed?.raw_key, again.storageKey].sort());
    // Removing the files counts them down.
    expect((await storedBytes()) - before).toBe(700);
  });

  it('is written once if both are in one group', async () => {
    const claimed = await claim(2);
    const read = readMail();
    const result = await write(claimed.toReversed(), [read, read]);
    expect(result).toMatchObject({ arrived: 1, duplicates: 1 });
    expect(await messages()).toMatchObject([{ raw_key: claimed[0]?.raw_key }]);
    expect(await eventCount()).toBe(1);
  });

  it('is written once if both are written at the same time', async () => {
    const claimed = await claim(2);
    const read = readMail();
    const results = await Promise.all(claimed.map((mail) => write([mail], [read])));
    expect(results.map(({ arrived }) => arrived).sort()).toEqual([0, 1]);
  });

  it('is written again after 30 days', async () => {
    await receive({ digest: digest() });
    await pool().query(
      `update inbox_digests set received_at = now() - interval '31 days' where inbox_id = $1`,
      [inboxId],
    );
    expect(await receive({ digest: digest() })).toMatchObject({ arrived: 1 });
    expect(await receive({ digest: digest() })).toMatchObject({ arrived: 0, duplicates: 1 });
  });

  it('is counted on the message that is kept', async () => {
    const [first] = await claim(1);
    const read = readMail();
    await write([first as ClaimedMail], [read]);
    expect(await messages()).toMatchObject([{ repeated_count: 0, last_repeated_at: null }]);
    const claimed = await claim(2);
    await write(claimed, [read, read]);
    expect(await messages()).toMatchObject([
      { raw_key: first?.raw_key, repeated_count: 2, last_repeated_at: claimed[1]?.received_at },
    ]);
  });

  it('is counted on the message of its group, and of its inbox', async () => {
    const second = await insertInbox(api.database, api, `sales${(n += 1)}@acme.test`);
    await insertAcceptedMail(api.database, api, second);
    const claimed = await claim(3);
    const read = readMail();
    await write(
      claimed,
      claimed.map(() => read),
    );
    expect(await messages()).toMatchObject([{ repeated_count: 2 }]);
    expect(await messages(second)).toMatchObject([{ repeated_count: 0 }]);
  });

  it('is written again once the message that was kept is deleted', async () => {
    await receive({ digest: digest() });
    await pool().query('delete from conversation_messages where inbox_id = $1', [inboxId]);
    expect(await receive({ digest: digest() })).toMatchObject({ arrived: 1, duplicates: 0 });
    expect(await receive({ digest: digest() })).toMatchObject({ arrived: 0, duplicates: 1 });
    expect(await messages()).toMatchObject([{ repeated_count: 1 }]);
  });

  it('is written if the message that is kept is deleted at the same time', async () => {
    await receive({ digest: digest() });
    const [claimed] = await claim(1);
    const deleting = await pool().connect();
    await deleting.query('begin');
    await deleting.query('delete from conversation_messages where inbox_id = $1', [inboxId]);
    const writing = write([claimed as ClaimedMail], [readMail({ digest: digest() })]);
    await eventually(async () => expect(await countWaiting(pool())).toBe(1));
    await deleting.query('commit');
    deleting.release();
    expect(await writing).toMatchObject({ arrived: 1, duplicates: 0 });
    expect(await messages()).toHaveLength(1);
  });

  it('is not taken for a mail that an older version has hashed', async () => {
    await pool().query('insert into inbox_digests (inbox_id, digest) values ($1, $2)', [inboxId, digest()]);
    expect(await receive({ digest: digest() })).toMatchObject({ arrived: 1, duplicates: 0 });
  });

  it('is written each time if it has no digest', async () => {
    const claimed = await claim(2);
    const read = readMail({ digest: null });
    expect(await write(claimed, [read, read])).toMatchObject({ arrived: 2, duplicates: 0 });
    expect(await receive({ digest: null })).toMatchObject({ arrived: 1, duplicates: 0 });
  });

  const { authentication } = readMail();
  const kinds: Record<string, Partial<ReadMail>> = {
    suspicious: { suspicion: { reason: 'spam', detail: 'forged' } },
    refuted: {
      authentication: {
        ...authentication,
        aligned: false,
        dmarc: { ...authentication.dmarc, result: 'fail' },
      },
    },
    unproven: {
      authentication: {
        ...authentication,
        aligned: false,
        dmarc: { ...authentication.dmarc, result: 'none' },
      },
    },
    proven: {},
  };
  const order = Object.keys(kinds);
  it.each(order.flatMap((earlier) => order.map((later) => [later, earlier] as const)))(
    'is kept if it is %s, and the earlier one %s, unless that is as good',
    async (later, earlier) => {
      const isRepeated = order.indexOf(earlier) >= order.indexOf(later);
      const reads = [earlier, later].map((kind) => readMail({ digest: digest(), ...kinds[kind] }));
      for (const read of reads) await write(await claim(1), [read]);
      const rows = await messages();
      expect(rows.map((row) => row.repeated_count)).toEqual(isRepeated ? [1] : [0, 0]);
      expect(await receive({ digest: digest(), ...kinds[earlier] })).toMatchObject({ duplicates: 1 });
    },
  );

  it('is kept beside a worse one of its group, and counts those that follow', async () => {
    const reads = ['unproven', 'proven', 'unproven', 'suspicious', 'proven'].map((kind) =>
      readMail({ digest: digest(), ...kinds[kind] }),
    );
    expect(await write(await claim(5), reads)).toMatchObject({ arrived: 2, quarantined: 0, duplicates: 3 });
    expect(await messages()).toMatchObject([
      { sender_trusted: false, repeated_count: 2 },
      { sender_trusted: true, repeated_count: 1 },
    ]);
  });

  it('to two inboxes is written for each', async () => {
    const second = await insertInbox(api.database, api, `sales${(n += 1)}@acme.test`);
    await insertAcceptedMail(api.database, api, second);
    const read = readMail();
    expect(await write(await claim(1), [read, read])).toMatchObject({ arrived: 2 });
    expect(await messages()).toHaveLength(1);
    expect(await messages(second)).toHaveLength(1);
  });
});

describe('a mail to two inboxes of an account', () => {
  const raw = () => `inbox/${api.accountId}/c${String((n += 1)).padStart(31, '0')}`;
  /** Accepts a mail for both inboxes, as the listener does. */
  async function acceptForBoth() {
    const second = await insertInbox(api.database, api, `sales${(n += 1)}@acme.test`);
    const raw_key = raw();
    const row = { accountId: api.accountId, brandId: api.brandId, rawKey: raw_key, size: 1_000 };
    await inTransaction(pool(), (trx) =>
      insertMails(
        trx,
        [inboxId, second].map((inbox) => ({
          ...row,
          inboxId: inbox,
          source: 'smtp' as const,
          envelopeFrom: 'ada@example.com',
          recipient: 'support@acme.test',
          ip: null,
          helo: null,
          answersMessageId: null,
          isReport: false,
        })),
      ),
    );
    const claimed = await new MailClaims().claim(pool(), 100);
    expect(claimed).toHaveLength(2);
    return { claimed, raw_key };
  }
  const storedOf = async () =>
    (
      await pool().query<{ id: number; stored_bytes: number; file: string }>(
        `select m.id, m.stored_bytes, a.storage_key as file from conversation_messages m
         join conversation_attachments a on a.conversation_message_id = m.id
         where m.account_id = $1 order by m.id desc limit 2`,
        [api.accountId],
      )
    ).rows.reverse();

  it.each(['in one group', 'one after the other', 'at the same time'])(
    'shares its attachments and its raw mail until both are deleted, if it is written %s',
    async (how) => {
      const before = await storedBytes();
      const { claimed, raw_key } = await acceptForBoth();
      const digest = randomBytes(32);
      // Each was read, and its attachment stored, separately.
      const reads = [0, 1].map(() => readMail({ digest, attachments: [attachment()] }));
      const surplus: string[] = [];
      const writeOne = async (index: number) => {
        const done = await write([claimed[index] as ClaimedMail], [reads[index] as ReadMail]);
        surplus.push(...done.surplus);
      };
      if (how === 'in one group') surplus.push(...(await write(claimed, reads)).surplus);
      else if (how === 'at the same time') await Promise.all([writeOne(0), writeOne(1)]);
      else for (const index of [0, 1]) await writeOne(index);
      const [one, two] = await storedOf();
      expect(two?.file).toBe(one?.file);
      expect([one?.stored_bytes, two?.stored_bytes].sort()).toEqual([1_700, 1_700]);
      const keys = reads.flatMap(({ attachments }) => attachments.map(({ storageKey }) => storageKey));
      expect([...surplus, one?.file].sort()).toEqual(keys.sort());
      expect((await storedBytes()) - before).toBe(700);
      await pool().query('delete from conversation_messages where id = $1', [one?.id]);
      expect(await removedKeys()).toEqual([]);
      await pool().query('delete from conversation_messages where id = $1', [two?.id]);
      expect(await removedKeys()).toEqual([raw_key, one?.file].sort());
      expect((await pool().query('select 1 from inbox_shared_files')).rowCount).toBe(0);
    },
  );

  it('keeps the raw mail for one inbox if the other has received it before', async () => {
    const digest = randomBytes(32);
    await receive({ digest });
    const { claimed, raw_key } = await acceptForBoth();
    const done = await write(claimed, [readMail({ digest }), readMail({ digest })]);
    expect(done).toMatchObject({ arrived: 1, duplicates: 1 });
    expect(await removedKeys()).not.toContain(raw_key);
  });
});

describe('quarantine', () => {
  it.each([
    ['spam', { reason: 'spam', detail: '15.2 of 15' }],
    ['unreadable', { reason: 'unreadable', detail: 'too many parts' }],
  ] as const)('takes %s mail, which has neither conversation nor event', async (_reason, suspicion) => {
    expect(await receive({ suspicion })).toMatchObject({ quarantined: 1, arrived: 0 });
    expect(await messages()).toMatchObject([
      {
        conversation_id: null,
        arrived_at: null,
        quarantine: { ...suspicion, at: expect.any(String), released_at: null },
      },
    ]);
    expect(await eventCount()).toBe(0);
  });

  it.each([
    ['the address', { email: 'eve@mail.example.org' }, true],
    ['the domain', { domain: 'mail.example.org' }, true],
    ['a domain above it', { domain: 'example.org' }, true],
    ['another address', { email: 'bob@mail.example.org' }, false],
    ['the end of its name', { domain: 'ample.org' }, false],
  ])('takes mail from senders that are blocked by %s: %j', async (_what, block, isBlocked) => {
    const { email = null, domain = null } = block as { email?: string; domain?: string };
    await pool().query(
      'insert into inbox_blocks (account_id, brand_id, email, domain) values ($1, $2, $3, $4)',
      [api.accountId, api.brandId, email, domain],
    );
    await receive({ from: 'eve@mail.example.org', senderKey: 'eve@mail.example.org' });
    const [message] = await messages();
    expect(message?.quarantine ?? null).toEqual(
      isBlocked
        ? expect.objectContaining({ reason: 'blocked', detail: `${email ?? domain} is blocked` })
        : null,
    );
  });

  it('does not let a suspicious copy take the place of the mail', async () => {
    const digest = randomBytes(32);
    const suspicion = { reason: 'spam', detail: 'forged' } as const;
    expect(await receive({ digest, suspicion })).toMatchObject({ quarantined: 1 });
    expect(await receive({ digest })).toMatchObject({ arrived: 1, duplicates: 0 });
    expect(await receive({ digest, suspicion })).toMatchObject({ quarantined: 0, duplicates: 1 });
  });

  it('takes mail of which a blocked sender is one of several authors', async () => {
    await pool().query('insert into inbox_blocks (account_id, brand_id, domain) values ($1, $2, $3)', [
      api.accountId,
      api.brandId,
      'example.com',
    ]);
    await receive({ senderKey: null, from: '"Ada, Eve" <eve@example.com>, bob@example.org' });
    expect((await messages())[0]?.quarantine).toMatchObject({ reason: 'blocked' });
  });

  it('does not take mail from a sender whom another brand has blocked', async () => {
    const { accountId, brandId } = api.other;
    await pool().query('insert into inbox_blocks (account_id, brand_id, domain) values ($1, $2, $3)', [
      accountId,
      brandId,
      'example.com',
    ]);
    expect(await receive()).toMatchObject({ arrived: 1 });
  });
});

describe('with a virus scanner', () => {
  const scanning = () => ({ ...deps, hasScanner: true });

  it('a mail waits for its workflow, and has no event yet', async () => {
    const attachments = [attachment(), attachment({ unscannable: 'encrypted' })];
    expect(await receive({ attachments }, {}, scanning())).toMatchObject({ scanned: 1, arrived: 0 });
    const [message] = await messages();
    expect(message).toMatchObject({
      scan_state: 'pending',
      engine_expected_by: expect.any(Date),
      arrived_at: null,
      quarantine: null,
    });
    expect(await attachmentsOf(message?.id)).toEqual([
      { filename: 'invoice.pdf', scan_status: 'pending', scan_reason: null },
      { filename: 'invoice.pdf', scan_status: 'skipped', scan_reason: 'encrypted' },
    ]);
    const { rows } = await pool().query('select kind, account_id from outbox where workflow_id = $1', [
      `inbox-scan/${String(message?.id)}`,
    ]);
    expect(rows).toEqual([{ kind: 'start', account_id: api.accountId }]);
    expect(await eventCount()).toBe(0);
  });

  it('a mail in quarantine is not scanned', async () => {
    const suspicion = { reason: 'spam', detail: 'GTUBE' } as const;
    await receive({ suspicion, attachments: [attachment()] }, {}, scanning());
    const [message] = await messages();
    expect(message).toMatchObject({ scan_state: 'none', engine_expected_by: null });
    expect(await attachmentsOf(message?.id)).toMatchObject([
      { scan_status: 'skipped', scan_reason: 'quarantined' },
    ]);
  });
});

describe('a group', () => {
  it('is written in the order in which its mails were accepted', async () => {
    const message = await writeEmail(api.database, api);
    const claimed = await claim(3);
    const reads = [
      readMail({ internetId: `first${n}@example.com`, referenceIds: [internetIdOf(api, message)] }),
      readMail({ internetId: `second${n}@example.com`, referenceIds: [`first${n}@example.com`] }),
      readMail({ referenceIds: [`second${n}@example.com`] }),
    ];
    await write(claimed.toReversed(), reads.toReversed());
    const ids = (await messages()).map((row) => row.conversation_id);
    expect(ids).toEqual([ids[0], ids[0], ids[0]]);
  });

  it('leaves out a mail that another process has claimed meanwhile', async () => {
    const [late, kept] = (await claim(2)) as [ClaimedMail, ClaimedMail];
    await pool().query('update inbound_mails set due_at = now() where id = $1', [late.id]);
    const [taken] = await new MailClaims().claim(pool(), 10);
    const read = readMail();
    const result = await write([late, kept], [read, readMail()]);
    expect(result).toMatchObject({ arrived: 1, stale: [{ claimed: late }] });
    expect(await queued()).toBe(1);
    expect(await write([taken as ClaimedMail], [read])).toMatchObject({ arrived: 1 });
    expect(await messages()).toHaveLength(2);
  });

  it('writes nothing if it fails, and keeps the mails in the queue', async () => {
    const claimed = await claim(2);
    const broken = readMail({ senderKey: 'a\0b@example.com' });
    await expect(write(claimed, [readMail(), broken])).rejects.toThrow();
    expect(await messages()).toEqual([]);
    expect(await queued()).toBe(2);
  });
});
