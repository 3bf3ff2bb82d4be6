// System mail reaches only the owners with valid addresses, and counts against no allowance.
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { ConfigError } from '../../../src/config.ts';
import { systemSender } from '../../../src/delivery/terms/sender-identity.ts';
import { foldUsage } from '../../../src/delivery/ledger/money/usage.ts';
import { findAccount } from '../../../src/features/accounts/service.ts';
import { mailOwners } from '../../../src/features/system-mail/service.ts';
import { addMember } from '../../../src/features/users/service.ts';
import { inTransaction } from '../../../src/platform/db/queryable.ts';
import { createTestTenant, type TestTenant } from '../../support/api.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database.ts';
import { eventually } from '../../support/eventually.ts';
import { startSmtpServer, startTestSender, type TestSmtpServer } from '../../support/sending.ts';

const from = 'Carillon <no-reply@carillon.test>';
const notice = { subject: 'Read <this>', paragraphs: ['One & two', 'Three\nfour "five"'] };

let test: TestDatabase;
let tenant: TestTenant;

beforeAll(async () => {
  test = await createTestDatabase();
  tenant = await createTestTenant(test.database, 'Mailed');
  await createTestTenant(test.database, 'Not Mailed');
});
afterAll(() => test.drop());
beforeEach(() => query('truncate messages, message_contents, send_queue'));

async function query<Row extends Record<string, unknown>>(sql: string): Promise<Row[]> {
  return (await test.database.pool.query<Row>(sql)).rows;
}

const mail = () =>
  inTransaction(test.database.pool, (trx) => mailOwners(trx, tenant.accountId, from, notice));

describe('the sender of system mail', () => {
  it('is SYSTEM_FROM, by default an address at MAIL_DOMAIN', () => {
    expect(systemSender({ SYSTEM_FROM: 'Ops <ops@acme.test>', MAIL_DOMAIN: 'mail.test' })).toBe(
      'Ops <ops@acme.test>',
    );
    expect(systemSender({ SYSTEM_FROM: undefined, MAIL_DOMAIN: 'Mail.test' })).toBe(
      'Carillon <no-reply@mail.test>',
    );
  });

  it('prevents the start if it is not an address', () => {
    expect(() => systemSender({ SYSTEM_FROM: 'nobody', MAIL_DOMAIN: 'mail.test' })).toThrow(ConfigError);
    expect(() => systemSender({ SYSTEM_FROM: 'nobody', MAIL_DOMAIN: 'mail.test' })).toThrow(/SYSTEM_FROM/);
  });
});

describe('mail to owners', () => {
  let smtp: TestSmtpServer;
  beforeAll(async () => {
    smtp = await startSmtpServer();
  });
  afterAll(() => smtp.stop());

  it('reaches only the owners, through the same queue and sender as all mail', async () => {
    const { accountId } = tenant;
    await addMember(test.database.pool, { accountId, role: 'owner', email: 'second@mailed.test' });
    await addMember(test.database.pool, { accountId, role: 'admin', email: 'admin@mailed.test' });
    expect(await mail()).toBe(2);
    const sender = await startTestSender({ url: test.url, port: smtp.port });
    await eventually(() => expect(smtp.received).toHaveLength(2));
    await sender.stop();
    expect(smtp.received.map((each) => each.to).sort()).toEqual([tenant.email, 'second@mailed.test'].sort());
    const raw = smtp.received[0]?.raw ?? '';
    expect(raw).toContain(`From: ${from}`);
    expect(raw).toContain('Subject: Read <this>');
    expect(raw).toContain('Three\r\nfour "five"');
    expect(raw).toContain('<p>One &amp; two</p>');
  }, 60_000);

  it('is not held by an allowance and counts against none', async () => {
    await query(`update accounts set allowance_per_day = 0 where kind = 'system'`);
    await query('delete from allowance_buckets; delete from sandbox_usage');
    smtp.received.length = 0;
    await mail();
    const sender = await startTestSender({ url: test.url, port: smtp.port });
    await eventually(() => expect(smtp.received).toHaveLength(2));
    await sender.stop();
    expect(await query('select account_id from allowance_buckets where account_id <> 0')).toEqual([]);
    expect(await query('select account_id from sandbox_usage')).toEqual([]);
    while (await foldUsage(test.database.pool));
    expect(await query('select account_id from account_usage where account_id = 0')).toEqual([]);
  }, 60_000);

  it("is part of the caller's transaction", async () => {
    await expect(
      inTransaction(test.database.pool, async (trx) => {
        await mailOwners(trx, tenant.accountId, from, notice);
        throw new Error('something else failed');
      }),
    ).rejects.toThrow('something else failed');
    expect(await query('select 1 from messages union all select 1 from send_queue')).toEqual([]);
  });

  it('is not sent to an owner whose address cannot receive mail', async () => {
    await query(`update users set email = 'not an address'`);
    expect(await mail()).toBe(0);
  });
});

describe('the system account', () => {
  it('cannot be found by operators or users, and accepts no members', async () => {
    const [system] = await query<{ id: number }>(`select id from accounts where kind = 'system'`);
    expect(system).toEqual({ id: 0 });
    await expect(findAccount(test.database.pool, 0)).rejects.toMatchObject({ code: 'not_found' });
    const member = { accountId: 0, role: 'owner' as const, email: 'mallory@mailed.test' };
    await expect(addMember(test.database.pool, member)).rejects.toMatchObject({ code: 'not_found' });
  });
});
