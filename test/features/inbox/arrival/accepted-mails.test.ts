// Accepted mails are claimed by one process at a time, fairly between accounts, and come back when it has died.
import { afterAll, beforeAll, beforeEach, expect, it } from '@jest/globals';
import {
  type ClaimedMail,
  giveBack,
  MailClaims,
  postpone,
  postponeUntried,
  renewClaims,
} from '../../../../src/features/inbox/arrival/accepted-mails.ts';
import { inTransaction } from '../../../../src/platform/db/queryable.ts';
import { createTestDatabase, type TestDatabase } from '../../../support/database.ts';
import { insertAcceptedMail } from '../../../support/inbox-mails.ts';
import { insertInbox } from '../../../support/inboxes.ts';
import { insertAccount, type QueuedAccount } from '../../../support/queued.ts';

interface Owner extends QueuedAccount {
  inboxId: number;
}

let test: TestDatabase;
let owners: Owner[];
let claims: MailClaims;

beforeAll(async () => {
  test = await createTestDatabase();
  owners = [];
  for (let n = 0; n < 3; n += 1) {
    const account = await insertAccount(test.database);
    const inboxId = await insertInbox(test.database, account, `support${n}@acme.test`);
    owners.push({ accountId: account.accountId, brandId: account.brandId, inboxId });
  }
});
afterAll(() => test.drop());
beforeEach(async () => {
  claims = new MailClaims();
  await test.database.pool.query('delete from inbound_mails');
});

const pool = () => test.database.pool;
const owner = (n: number) => owners[n] as Owner;

/** @returns the ids, in the order in which the mails were accepted */
async function accept(count: number, { inboxId, accountId, brandId }: Owner): Promise<number[]> {
  const ids: number[] = [];
  for (let n = 0; n < count; n += 1) {
    ids.push(await insertAcceptedMail(test.database, { accountId, brandId }, inboxId));
  }
  return ids;
}

const idsOf = (mails: readonly ClaimedMail[]) => mails.map(({ id }) => id);

/** Seconds until the mail is due. */
async function dueIn(id: number): Promise<number> {
  const { rows } = await pool().query<{ seconds: number }>(
    'select extract(epoch from due_at - now())::float8 as seconds from inbound_mails where id = $1',
    [id],
  );
  return Math.round(rows[0]?.seconds ?? NaN);
}

const attemptsOf = async (id: number) =>
  (await pool().query<{ attempts: number }>('select attempts from inbound_mails where id = $1', [id])).rows[0]
    ?.attempts;

it('claims mails in the order in which they were accepted, each once', async () => {
  const ids = await accept(5, owner(0));
  expect(idsOf(await claims.claim(pool(), 3))).toEqual(ids.slice(0, 3));
  expect(idsOf(await new MailClaims().claim(pool(), 10))).toEqual(ids.slice(3));
  expect(await claims.claim(pool(), 10)).toEqual([]);
});

it('says all that is needed to read a mail', async () => {
  const { accountId, brandId, inboxId } = owner(0);
  const changes = { answers_message_id: 7, raw_key: 'inbox/1/abc', size: 12, envelope_from: '' };
  const id = await insertAcceptedMail(test.database, owner(0), inboxId, changes);
  expect(await claims.claim(pool(), 1)).toEqual([
    expect.objectContaining({
      id,
      account_id: accountId,
      brand_id: brandId,
      inbox_id: inboxId,
      raw_key: 'inbox/1/abc',
      size: 12,
      envelope_from: '',
      recipient: 'support@acme.test',
      ip: null,
      helo: null,
      answers_message_id: 7,
      is_report: false,
      attempts: 1,
      received_at: expect.any(Date),
    }),
  ]);
});

it('keeps reports from processes of an earlier version, which would take them for mail of a contact', async () => {
  const { inboxId } = owner(0);
  const id = await insertAcceptedMail(test.database, owner(0), inboxId, { report_claims: 0 });
  const earlier = await pool().query(
    `update inbound_mails m set due_at = now() + interval '12 seconds', attempts = m.attempts + 1 returning m.id`,
  );
  expect(earlier.rows).toEqual([]);
  expect(await claims.claim(pool(), 1)).toMatchObject([{ id, is_report: true, attempts: 1 }]);
  expect(await attemptsOf(id)).toBe(1);
});

it('gives each account its share, and all of a claim to an account that is alone', async () => {
  const many = await accept(20, owner(1));
  const [first = 0] = await accept(1, owner(0));
  const some = await accept(10, owner(2));
  const claimed = idsOf(await claims.claim(pool(), 11));
  expect(claimed.toSorted((one, other) => one - other)).toEqual(
    [first, ...many.slice(0, 5), ...some.slice(0, 5)].sort((one, other) => one - other),
  );
  await pool().query('delete from inbound_mails where account_id = $1', [owner(2).accountId]);
  expect(idsOf(await claims.claim(pool(), 10))).toEqual(many.slice(5, 15));
});

it('leaves mails that another process is claiming to that one', async () => {
  const ids = await accept(5, owner(0));
  await inTransaction(pool(), async (trx) => {
    expect(idsOf(await claims.claim(trx, 3))).toEqual(ids.slice(0, 3));
    expect(idsOf(await new MailClaims().claim(pool(), 10))).toEqual(ids.slice(3));
  });
});

it('claims each mail once if several processes claim at the same time', async () => {
  const ids = await accept(40, owner(0));
  const claimed = await Promise.all(Array.from({ length: 4 }, () => new MailClaims().claim(pool(), 40)));
  expect(claimed.flatMap(idsOf).toSorted((one, other) => one - other)).toEqual(ids);
});

it('claims a mail again when its process has not renewed the claim for twelve seconds', async () => {
  const [id = 0] = await accept(1, owner(0));
  const [claimed] = await claims.claim(pool(), 1);
  expect(await dueIn(id)).toBe(12);
  await pool().query(`update inbound_mails set due_at = now() + interval '1 second'`);
  await renewClaims(pool(), [claimed as ClaimedMail]);
  expect(await dueIn(id)).toBe(12);
  await pool().query('update inbound_mails set due_at = now()');
  expect(await claims.claim(pool(), 1)).toMatchObject([{ id, attempts: 2 }]);
});

it('changes nothing about a mail that another process has claimed meanwhile', async () => {
  const [id = 0] = await accept(1, owner(0));
  const [late] = (await claims.claim(pool(), 1)) as [ClaimedMail];
  await pool().query('update inbound_mails set due_at = now()');
  await claims.claim(pool(), 1);
  await pool().query(`update inbound_mails set due_at = now() + interval '1 minute'`);
  await renewClaims(pool(), [late]);
  await giveBack(pool(), [late]);
  await postpone(pool(), late);
  await postponeUntried(pool(), late);
  expect(await dueIn(id)).toBe(60);
  expect(await attemptsOf(id)).toBe(2);
});

it('gives mails back at once, untried', async () => {
  const [id = 0] = await accept(1, owner(0));
  await giveBack(pool(), await claims.claim(pool(), 1));
  expect(await claims.claim(pool(), 1)).toMatchObject([{ id, attempts: 1 }]);
});

it('lets a mail that cannot be written wait longer each time', async () => {
  const [id = 0] = await accept(1, owner(0));
  const pauses: number[] = [];
  for (let attempt = 1; attempt <= 6; attempt += 1) {
    await pool().query('update inbound_mails set due_at = now()');
    const [mail] = (await claims.claim(pool(), 1)) as [ClaimedMail];
    await postpone(pool(), mail);
    pauses.push(await dueIn(id));
  }
  expect(pauses).toEqual([10, 60, 300, 1_800, 7_200, 7_200]);
});

it.each([
  [2, 10],
  [60, 30],
  [86_400, 600],
])('while the storage is away, lets a mail that is %i s old wait for %i s, untried', async (age, pause) => {
  const [id = 0] = await accept(1, owner(0));
  await pool().query('update inbound_mails set received_at = now() - make_interval(secs => $1)', [age]);
  const [mail] = (await claims.claim(pool(), 1)) as [ClaimedMail];
  await postponeUntried(pool(), mail);
  expect(await dueIn(id)).toBe(pause);
  expect(await attemptsOf(id)).toBe(0);
});
