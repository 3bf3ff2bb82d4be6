// A letter is written with its copies and files in one statement, for a provider that can take it, or not at all.
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { NewAttachment } from '../../../../src/delivery/ledger/accept/new-letter.ts';
import { allocateMessageIds } from '../../../../src/delivery/ledger/accept/write-messages.ts';
import {
  type AddressedLetter,
  FileGoneError,
  LetterRefusedError,
  SetRefusedError,
  type SetMessage,
  writeLetter,
  writeSet,
} from '../../../../src/delivery/ledger/accept/write-set.ts';
import { messageClasses } from '../../../../src/delivery/terms/message.ts';
import { providerFacts } from '../../../../src/delivery/terms/provider-facts.ts';
import { inTransaction, type Queryable } from '../../../../src/platform/db/queryable.ts';
import { createTestDatabase, type TestDatabase } from '../../../support/database.ts';
import { runBehindLock } from '../../../support/lock-order.ts';
import { insertPayer, monthsOf, setPrice } from '../../../support/money.ts';
import { insertAccount, type QueuedAccount } from '../../../support/queued.ts';
import { TEST_LIMITS } from '../../../support/sending.ts';

const MIB = 1024 * 1024;
/** The messages of a set as the copies of a letter. */
const asLetter = (set: readonly unknown[], letter: AddressedLetter) => ({
  atomic: true as const,
  letters: [{ first: 0, count: set.length, letter }],
});
const options = {
  source: { class: messageClasses.transactional },
  limits: { ...TEST_LIMITS, sandbox_monthly_cap: 1_000_000 },
  tracking: { publicUrl: 'https://carillon.test', keyId: '00000000' },
};

let test: TestDatabase;
let account: QueuedAccount;

const select = async (sql: string, ...values: unknown[]) =>
  (await test.database.pool.query<Record<string, unknown>>(sql, values)).rows;

beforeAll(async () => {
  test = await createTestDatabase();
});
afterAll(() => test.drop());
beforeEach(async () => {
  account = await insertAccount(test.database);
});

async function newCopies(kinds: readonly SetMessage['kind'][], more: Partial<SetMessage> = {}) {
  const ids = await allocateMessageIds(test.database.pool, kinds.length);
  return ids.map((id, n) => ({
    ...{ id, account_id: account.accountId, brand_id: account.brandId, channel: 'email' as const },
    ...{ status: 'queued' as const, test: false, from_address: 'shop@example.com', subject: 'Hello' },
    ...{ to_address: `u${n}@example.com`, to_key: `u${n}@example.com`, kind: kinds[n] },
    ...more,
  }));
}

const newLetter = (more: Partial<AddressedLetter> = {}): AddressedLetter => ({
  ...{
    html: '<p>Hi</p>',
    text: null,
    headers: null,
    replyTo: null,
    wireBytes: 3_000,
    files: [],
    addresses: [],
  },
  defaultKind: 'smtp',
  ...more,
});

const newFile = (byte: number, more: Partial<NewAttachment> = {}): NewAttachment => ({
  ...{ filename: `${byte}.pdf`, contentType: 'application/pdf', contentId: null, disposition: 'attachment' },
  ...{ size: 1_000, sha256: Buffer.alloc(32, byte), stored: true },
  ...more,
});

/** Stores the row of a file as the file has been stored before. */
async function storeFile({ sha256, size }: NewAttachment): Promise<void> {
  await select(
    `insert into attachment_files (account_id, sha256, storage_key, size, kept_until)
     select $1::bigint, $2::bytea, concat('attachments/', $1, '/', encode($2, 'hex')), $3, now() + interval '9 days'`,
    ...[account.accountId, sha256, size],
  );
}

it('queues the copies of a letter where the version before does not look, and stores what they share once', async () => {
  const files = [
    newFile(1),
    newFile(2, { contentId: 'logo', disposition: 'inline' }),
    // The same file under another name.
    newFile(1, { filename: 'again.pdf' }),
  ];
  for (const file of files.slice(0, 2)) await storeFile(file);
  const [first, second] = await newCopies(['to', 'bcc'], { html: 'not stored' });
  const letter = newLetter({
    ...{ text: 'Grüße', headers: { 'X-A': 'b' }, replyTo: ['a@example.com', 'b@example.com'], files },
    addresses: [{ kind: 'cc', address: 'Bob <Bob@example.com>', addressKey: 'bob@example.com' }],
  });
  const set = [first, second] as SetMessage[];
  const outcomes = await writeSet(test.database.pool, set, { ...options, ...asLetter(set, letter) });
  expect([...outcomes.values()].map(({ kind }) => kind)).toEqual(['written', 'written']);
  const ids = [first?.id, second?.id];
  expect(
    await select(
      `select m.channel, m.letter_id, m.recipient_kind, m.tracking ->> 'opens' as opens, c.html, q.channel as queue,
         q.content_bytes as bytes, q.content_weight as weight, q.file_bytes as files
       from messages m left join message_contents c on c.message_id = m.id join send_queue q on q.message_id = m.id
       where m.id = any ($1) order by m.id`,
      ids,
    ),
  ).toEqual(
    ['to', 'bcc'].map((recipient_kind) => ({
      ...{
        channel: 'email',
        letter_id: first?.id,
        recipient_kind,
        opens: 'true',
        html: null,
        queue: 'email_whole',
      },
      ...{ bytes: 9 + 7 + 11, weight: 9 + 7 + 5 * 11, files: 3_000 },
    })),
  );
  expect(
    await select(
      `select l.account_id, l.brand_id, l.message_ids, l.html, l.text, l.headers, l.reply_to, l.wire_bytes,
         a.n, a.kind, a.address, a.address_key
       from letters l join letter_addresses a on a.letter_id = l.id and a.brand_id = l.brand_id where l.id = $1`,
      first?.id,
    ),
  ).toEqual([
    {
      ...{ account_id: account.accountId, brand_id: account.brandId, message_ids: ids, html: '<p>Hi</p>' },
      ...{
        text: 'Grüße',
        headers: { 'X-A': 'b' },
        reply_to: ['a@example.com', 'b@example.com'],
        wire_bytes: 3_000,
      },
      ...{ n: 1, kind: 'cc', address: 'Bob <Bob@example.com>', address_key: 'bob@example.com' },
    },
  ]);
  expect(
    await select(
      `select n, account_id, filename, content_type, content_id, disposition, size, get_byte(sha256, 0) as byte, stored
       from message_attachments where message_id = $1 order by n`,
      first?.id,
    ),
  ).toEqual(
    files.map(({ filename, contentId, disposition, sha256 }, n) => ({
      ...{ n: n + 1, account_id: account.accountId, filename, content_type: 'application/pdf' },
      ...{ content_id: contentId, disposition, size: 1_000, byte: sha256[0], stored: true },
    })),
  );
});

describe('a file', () => {
  it('that is gone is reported, and nothing is written', async () => {
    const [there, gone] = [newFile(3), newFile(4)];
    await storeFile(there);
    const set = await newCopies(['to']);
    const work = writeSet(test.database.pool, set, {
      ...options,
      ...asLetter(set, newLetter({ files: [there, gone] })),
    });
    await expect(work).rejects.toThrow(FileGoneError);
    await expect(work).rejects.toMatchObject({ hashes: [gone.sha256.toString('hex')] });
    expect(await select('select 1 from messages where id = $1', set[0]?.id)).toEqual([]);
  });

  it('is not removed while a letter that names it is written, and may be kept longer meanwhile', async () => {
    const file = newFile(5);
    await storeFile(file);
    const letter = newLetter({ files: [file] });
    await inTransaction(test.database.pool, async (trx) => {
      const set = await newCopies(['to']);
      await writeSet(trx, set, { ...options, ...asLetter(set, letter) });
      const removable = `select 1 from attachment_files where account_id = $1 for update skip locked`;
      expect(await select(removable, account.accountId)).toEqual([]);
      // Raising the day until which it is kept does not wait.
      await select('update attachment_files set kept_until = now() where account_id = $1', account.accountId);
    });
  });

  it('that is removed while the letter waits for it is gone', async () => {
    const file = newFile(6);
    await storeFile(file);
    const set = await newCopies(['to']);
    const lock = 'delete from attachment_files where account_id = $1';
    const write = () =>
      writeSet(test.database.pool, set, { ...options, ...asLetter(set, newLetter({ files: [file] })) });
    await expect(
      runBehindLock(test.database.pool, { lock, values: [account.accountId] }, [write]),
    ).rejects.toThrow(FileGoneError);
  });
});

describe('the provider of a letter', () => {
  const providers = new Map<string, number>();

  beforeAll(async () => {
    for (const kind of Object.keys(providerFacts)) {
      const [row] = await select(
        `insert into providers (name, kind, channel, settings_sealed, callback_token_sealed, callback_digest)
         values ('my ' || $1, $1, 'email', '', '', decode(md5($1), 'hex')) returning id`,
        kind,
      );
      providers.set(kind, row?.id as number);
    }
    const [gone] = await select(
      `insert into providers (name, kind, channel, settings_sealed, callback_token_sealed, callback_digest, removed_at)
       values ('gone', 'postmark', 'email', '', '', 'gone', now()) returning id`,
    );
    providers.set('gone', gone?.id as number);
    const sizes = [providers.get('smtp'), 20 * MIB, 50 * MIB];
    await select(`insert into provider_sizes (provider_id, max_bytes) values ($1, $2), (0, $3)`, ...sizes);
  });

  /** Of a test key: they are not stored. */
  const files = [newFile(1, { stored: false })];
  const tooLarge = (mib: number, kind: string, most: number) =>
    `attachments are too large: the message has about ${mib} MB when it is sent, and provider my ${kind} (${kind}) takes at most ${most} MB`;
  const several = (provider: string) =>
    `to has several recipients: provider ${provider} cannot send one letter to several`;

  /** The size of a letter, the number of recipients, the domain's provider, and those of the account in their order. */
  const cases: [number, number, string | null, string[] | null, string][] = [
    [1, 1, null, null, 'default'],
    [1, 1, 'postmark', null, 'postmark'],
    [11, 1, 'postmark', null, tooLarge(11, 'postmark', 10)],
    [11, 1, 'postmark', ['sendgrid'], 'sendgrid'],
    [11, 2, 'postmark', ['sendgrid', 'ses'], 'ses'],
    [1, 2, 'resend', null, several('my resend (resend)')],
    [26, 1, null, ['mailgun', 'postmark'], tooLarge(26, 'mailgun', 25)],
    [26, 1, null, ['mailgun', 'default'], 'default'],
    // As its server says.
    [21, 1, null, ['smtp'], tooLarge(21, 'smtp', 20)],
    [19, 1, null, ['smtp'], 'smtp'],
    [
      51,
      1,
      null,
      null,
      'attachments are too large: the message has about 51 MB when it is sent, and provider smtp takes at most 50 MB',
    ],
    [41, 5, null, ['capture'], 'capture'],
    // What is removed is left out; messages without any other provider use that of the setting.
    [11, 2, 'gone', null, 'default'],
    [11, 2, 'gone', ['mailgun'], 'mailgun'],
  ];

  it.each(cases)(
    'of %i MB to %i recipients is one that can take it (%s, %j)',
    async (mib, count, wanted, order, expected) => {
      const idOf = (name: string) => providers.get(name) ?? 0;
      const ids = order === null ? null : order.map(idOf);
      await select('update accounts set email_provider_ids = $2 where id = $1', account.accountId, ids);
      const set = await newCopies(Array<'to'>(count).fill('to'), {
        provider_id: wanted === null ? null : idOf(wanted),
      });
      const letter = newLetter({ wireBytes: mib * MIB, files });
      const written = writeSet(test.database.pool, set, { ...options, ...asLetter(set, letter) });
      const answer = await written.then(
        async () => {
          const ids = set.map(({ id }) => id);
          const rows = await select(
            'select distinct provider_id as id from send_queue where message_id = any ($1)',
            ids,
          );
          expect(rows).toHaveLength(1);
          return [...providers].find(([, id]) => id === rows[0]?.id)?.[0] ?? 'default';
        },
        (error: Error) => error.message,
      );
      expect(answer).toBe(expected);
    },
  );

  it('names what makes a letter too large, and sizes below a megabyte', async () => {
    const small = providers.get('smtp') ?? 0;
    await select('update provider_sizes set max_bytes = 307200 where provider_id = $1', small);
    await select('update accounts set email_provider_ids = $2 where id = $1', account.accountId, [small]);
    const long = 'x'.repeat(200_000);
    const cases: [Partial<AddressedLetter>, string][] = [
      [{ html: long, files }, 'attachments are'],
      [{ html: long }, 'html is'],
      [{ html: 'x', text: long }, 'body is'],
      [{ html: 'x', headers: { 'X-Long': long } }, 'headers are'],
    ];
    for (const [given, what] of cases) {
      const letter = newLetter({ wireBytes: 300 * 1024 + 1, ...given });
      const set = await newCopies(['to']);
      const written = writeSet(test.database.pool, set, { ...options, ...asLetter(set, letter) });
      await expect(written).rejects.toThrow(
        `${what} too large: the message has about 301 KB when it is sent, and provider my smtp (smtp) takes at most 300 KB`,
      );
    }
    const letter = newLetter({ wireBytes: 400 * 1024 });
    const set = await newCopies(['to']);
    const written = writeSet(test.database.pool, set, { ...options, ...asLetter(set, letter) });
    await expect(written).rejects.toThrow('to has too many addresses: the message has about 400 KB');
    await select('update provider_sizes set max_bytes = $2 where provider_id = $1', small, 20 * MIB);
  });

  it('is the next one that can take it, while the first is down', async () => {
    const ids = ['postmark', 'mailgun', 'ses'].map((name) => providers.get(name) ?? 0);
    await select('update accounts set email_provider_ids = $2 where id = $1', account.accountId, ids);
    await select(
      `insert into provider_outages (channel, provider_id, since, retry_at) values ('email', $1, now(), now() + interval '1 hour')`,
      ids[1],
    );
    const set = await newCopies(['to', 'cc']);
    const letter = newLetter({ wireBytes: 11 * MIB });
    const outcomes = await writeSet(test.database.pool, set, { ...options, ...asLetter(set, letter) });
    expect([...outcomes.values()]).toMatchObject([
      { message: { provider_id: ids[2] } },
      { message: { provider_id: ids[2] } },
    ]);
  });
});

describe('several letters', () => {
  /** A set of two letters, with an ordinary message between them. */
  async function newSet() {
    const set = await newCopies(['to', 'cc', undefined, 'bcc']);
    if (set[2]) Object.assign(set[2], { text: 'alone' });
    const body = { fields: [['Content-Type', 'multipart/signed; boundary=x']] as const, size: 700 };
    const letters = [
      {
        first: 0,
        count: 2,
        letter: newLetter({
          files: [newFile(11)],
          addresses: [
            { kind: 'to', address: 'Zoe <z@example.com>', addressKey: 'z@example.com', place: 1 },
            { kind: 'cc', address: 'y@example.com', addressKey: 'y@example.com', place: 4 },
          ],
          places: [2, 3],
        }),
      },
      {
        first: 3,
        count: 1,
        letter: newLetter({
          ...{ html: null, text: null },
          opaque: { ...body, sha256: Buffer.alloc(32, 12), stored: true },
        }),
      },
    ];
    return { set, letters };
  }

  const idsOf = (set: readonly SetMessage[]) => set.map(({ id }) => id);

  it('are written with the other messages of their set, each in its queue', async () => {
    await storeFile(newFile(11));
    await storeFile(newFile(12));
    const { set, letters } = await newSet();
    const alias = Buffer.alloc(16, 7);
    const messages = set.map((message, n) => (n === 3 ? { ...message, alias } : message));
    const outcomes = await writeSet(test.database.pool, messages, { ...options, atomic: true, letters });
    expect([...outcomes.values()].map(({ kind }) => kind)).toEqual(Array(4).fill('written'));
    const [first, second, third, last] = idsOf(set);
    expect(
      await select(
        `select m.id, m.letter_id, m.recipient_kind as kind, q.channel as queue, q.file_bytes as files, c.text,
           m.tracking ->> 'opens' as opens
         from messages m join send_queue q on q.message_id = m.id left join message_contents c on c.message_id = m.id
         where m.account_id = $1 order by m.id`,
        account.accountId,
      ),
    ).toEqual([
      {
        id: first,
        letter_id: first,
        kind: 'to',
        queue: 'email_whole',
        files: 1_000,
        text: null,
        opens: 'true',
      },
      {
        id: second,
        letter_id: first,
        kind: 'cc',
        queue: 'email_whole',
        files: 1_000,
        text: null,
        opens: 'true',
      },
      { id: third, letter_id: null, kind: null, queue: 'email', files: 0, text: 'alone', opens: 'false' },
      { id: last, letter_id: last, kind: 'bcc', queue: 'email_raw', files: 700, text: null, opens: 'false' },
    ]);
    expect(
      await select(
        `select l.id, l.message_ids as ids, l.html, l.opaque, l.places, array_agg(a.n order by a.n) as files
         from letters l join message_attachments a on a.message_id = l.id where l.account_id = $1 group by l.id order by 1`,
        account.accountId,
      ),
    ).toEqual([
      { id: first, ids: [first, second], html: '<p>Hi</p>', opaque: null, places: [2, 3], files: [1] },
      {
        ...{ id: last, ids: [last], html: null, places: null, files: [0] },
        opaque: { fields: [['Content-Type', 'multipart/signed; boundary=x']] },
      },
    ]);
    expect(
      await select(
        'select n, address_key as key from letter_addresses where letter_id = $1 order by n',
        first,
      ),
    ).toEqual([
      { n: 1, key: 'z@example.com' },
      { n: 4, key: 'y@example.com' },
    ]);
    expect(
      await select('select digest, message_id from message_aliases where brand_id = $1', account.brandId),
    ).toEqual([{ digest: alias, message_id: last }]);
  });

  it('are not written if one of them cannot be', async () => {
    await storeFile(newFile(11));
    const { set, letters } = await newSet();
    const all = { ...options, atomic: true as const, letters };
    const none = async () =>
      expect(await select('select 1 from messages where account_id = $1', account.accountId)).toEqual([]);
    await expect(writeSet(test.database.pool, set, all)).rejects.toMatchObject({
      hashes: [Buffer.alloc(32, 12).toString('hex')],
    });
    await storeFile(newFile(12));
    const [provider] = await select(
      `insert into providers (name, kind, channel, settings_sealed, callback_token_sealed, callback_digest)
       values ('fields', 'sendgrid', 'email', '', '', 'fields') returning id`,
    );
    const only = set.map((message, n) =>
      n === 3 ? { ...message, provider_id: provider?.id as number } : message,
    );
    const refused = writeSet(test.database.pool, only, all);
    await expect(refused).rejects.toThrow(LetterRefusedError);
    await expect(refused).rejects.toMatchObject({ ids: new Set([set[3]?.id]) });
    await expect(refused).rejects.toThrow(
      'body must be sent as it is: provider fields (sendgrid) takes no signed or encrypted mail',
    );
    await none();
  });

  it('and the keys of their set are locked in one order', async () => {
    await storeFile(newFile(11));
    await storeFile(newFile(12));
    await select(
      `insert into idempotency_keys (brand_id, endpoint, key, fingerprint, status, resource_id, created_at)
       select $1, 'test', key, '', 201, 1, now() - interval '8 days' from unnest('{a,b}'::text[]) key`,
      account.brandId,
    );
    const write = async (keys: string[]) => {
      const { set, letters } = await newSet();
      const keyOf = (n: number) => ({
        key: { endpoint: 'test', key: keys[n / 3] ?? '', fingerprint: Buffer.alloc(32) },
      });
      const messages = set.map((message, n) => ({ ...message, ...(n % 3 === 0 ? keyOf(n) : {}) }));
      return writeSet(test.database.pool, messages, { ...options, atomic: true, letters });
    };
    const lock = `select 1 from idempotency_keys where brand_id = $1 and key = 'b' for update`;
    const isRefused = (error: unknown) => expect(error).toBeInstanceOf(SetRefusedError);
    await runBehindLock(test.database.pool, { lock, values: [account.brandId] }, [
      () => write(['b', 'a']),
      () => write(['a', 'b']).catch(isRefused),
    ]);
  });
});

describe('a letter that names others than its recipients', () => {
  const shown = { kind: 'to' as const, address: 'zoe@example.com', addressKey: 'zoe@example.com' };

  it.each<[string, SetMessage['kind'], (typeof shown)[], string | null]>([
    ['other addresses', 'to', [shown], 'to shows other recipients'],
    ['nobody', 'bcc', [], 'to names no recipient'],
    ['its recipient', 'to', [], null],
  ])('%s', async (_name, kind, addresses, refusal) => {
    const set = await newCopies([kind]);
    const letter = { ...newLetter({ addresses }), defaultKind: 'postmark' };
    const work = writeSet(test.database.pool, set, { ...options, ...asLetter(set, letter) });
    const message =
      refusal === null ? null : `${refusal}: provider postmark sends to everyone whom a message names`;
    if (message === null) await work;
    else await expect(work).rejects.toThrow(message);
  });
});

it('writes a letter in the transaction of the caller, or throws what is wrong with one of its copies', async () => {
  await setPrice(test.database, 100, { tier: 'paid' });
  account = await insertPayer(test.database, { funds: 200 });
  await select(`update accounts set tier = 'paid' where id = $1`, account.accountId);
  const write = async (client: Queryable, count: number) =>
    writeLetter(client, await newCopies(Array<'to'>(count).fill('to')), newLetter(), options);
  const { pool } = test.database;
  await expect(inTransaction(pool, (trx) => write(trx, 3))).rejects.toMatchObject({
    code: 'insufficient_funds',
  });
  expect(await monthsOf(test.database, account)).toMatchObject({ spent: 0 });
  const written = await inTransaction(pool, (trx) => write(trx, 2));
  expect([...written.values()]).toMatchObject([{ from_address: 'shop@example.com' }, { provider_id: null }]);
  expect(await monthsOf(test.database, account)).toMatchObject({ spent: 200 });
});
