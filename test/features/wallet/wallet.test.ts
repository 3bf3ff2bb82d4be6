// Wallet entries are immutable and booked once per reference; prices, monthly postings and owner mails follow them.
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { emailPriceSql, paysSql, smsPriceSql } from '../../../src/delivery/ledger/money/prices.ts';
import { addWalletEntry, balanceSql } from '../../../src/delivery/ledger/money/wallet.ts';
import { listOperatorChanges, setAccount } from '../../../src/features/accounts/service.ts';
import { checkMoney } from '../../../src/features/wallet/check.ts';
import { postMonths } from '../../../src/features/wallet/months.ts';
import { notifyOwners } from '../../../src/features/wallet/notices.ts';
import { book, listPrices, setPrice, showWallet } from '../../../src/features/wallet/index.ts';
import { inTransaction } from '../../../src/platform/db/queryable.ts';
import type { HousekeepingTask } from '../../../src/platform/housekeeping/task.ts';
import { createTestTenant, startTestApi, type TestApi, type TestTenant } from '../../support/api.ts';
import { runTask } from '../../support/housekeeping.ts';
import { ownerMails, setPrices, walletOf } from './money.ts';

let api: TestApi;
let tenant: TestTenant;
let tenants = 0;

beforeAll(async () => {
  api = await startTestApi();
});
afterAll(() => api.close());
beforeEach(async () => {
  tenants += 1;
  tenant = await createTestTenant(api.database, `Wallet ${tenants}`);
  await api.database.pool.query('delete from prices');
});

const query = <Row extends object>(text: string, values: unknown[] = []) =>
  api.database.pool.query<Row>(text, values).then(({ rows }) => rows);

const credit = (millicents: number, reference: string, kind: 'credit' | 'debit' = 'credit') =>
  inTransaction(api.database.pool, (trx) =>
    book(trx, { accountId: tenant.accountId, kind, millicents, reference }, 'ann'),
  );

const run = (task: HousekeepingTask, asOf: string) => runTask(api.database, task, new Date(asOf));

const spend = (month: string, millicents: number) =>
  query(
    `insert into account_months (account_id, month, spent_millicents) values ($1, $2, $3)
     on conflict (account_id, month) do update set spent_millicents = excluded.spent_millicents`,
    [tenant.accountId, month, millicents],
  );

const balance = async () =>
  (
    await query<{ balance: number }>(`select ${balanceSql('a')} as balance from accounts a where id = $1`, [
      tenant.accountId,
    ])
  )[0]?.balance;

describe('credits and debits of operators', () => {
  it('change the balance by the exact amount, which accounts see rounded down', async () => {
    await credit(12_345, 'invoice 1');
    const shown = await credit(2_400, 'correction', 'debit');
    expect(shown).toMatchObject({ balance_cents: 9.945, entries_cents: 9.945 });
    expect(await walletOf(api.database.pool, tenant.accountId)).toMatchObject({ sum: 9_945 });
    const { body } = await api.request('GET', '/v1/my/account', { token: tenant.apiKey });
    expect(body.billing).toMatchObject({ wallet_balance_cents: 9 });
  });

  it('are booked once per reference, however many requests arrive at once', async () => {
    const asked = await Promise.allSettled(Array.from({ length: 8 }, () => credit(1_000, 'invoice 7')));
    expect(asked.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
    await expect(credit(5, 'invoice 7', 'debit')).rejects.toMatchObject({ code: 'conflict' });
    expect(await walletOf(api.database.pool, tenant.accountId)).toMatchObject({ sum: 1_000 });
    expect(await listOperatorChanges(api.database.pool, tenant.accountId, 10)).toMatchObject([
      { actor: 'ann', action: 'wallet credit', changes: { amount_cents: 1, reference: 'invoice 7' } },
      { action: 'account create' },
    ]);
  });

  it('are only for accounts of customers', async () => {
    const booking = { accountId: 999_999, kind: 'credit', millicents: 1, reference: 'x' } as const;
    await expect(inTransaction(api.database.pool, (trx) => book(trx, booking, 'ann'))).rejects.toMatchObject({
      code: 'not_found',
    });
  });

  it('make senders check held messages once there are funds', async () => {
    await query(
      `insert into held_backlogs (channel, class, account_id, provider_id, recheck_at)
       values ('email', 10, $1, 0, now() + interval '1 hour')`,
      [tenant.accountId],
    );
    const due = () =>
      query<{ due: boolean }>('select recheck_at <= now() as due from held_backlogs where account_id = $1', [
        tenant.accountId,
      ]);
    await credit(1, 'debit', 'debit');
    expect(await due()).toEqual([{ due: false }]);
    await credit(1, 'credit');
    expect(await due()).toEqual([{ due: true }]);
  });
});

describe('entries of a wallet', () => {
  it('are never changed, removed or truncated', async () => {
    await credit(1_000, 'a');
    for (const statement of [
      'update wallet_entries set millicents = 2',
      'delete from wallet_entries',
      'truncate wallet_entries',
    ]) {
      await expect(query(statement)).rejects.toMatchObject({ code: 'CL010' });
    }
  });

  it('are listed to owners and admins only, newest first', async () => {
    await credit(1_000, 'first');
    await credit(500, 'second', 'debit');
    const path = '/v1/my/wallet/entries';
    expect((await api.request('GET', path, { token: null })).status).toBe(401);
    const member = await api.addUser('member');
    expect((await api.request('GET', path, { token: member.userJwt })).status).toBe(403);
    const page = await api.request('GET', `${path}?limit=1`, { token: tenant.userJwt });
    expect(page.list).toEqual([
      {
        id: expect.any(Number),
        account_id: tenant.accountId,
        kind: 'debit',
        amount_cents: -0.5,
        reference: 'second',
        month: null,
        created_at: expect.any(String),
      },
    ]);
    expect(page.headers.get('x-total-count')).toBe('2');
    const next = await api.request('GET', `${path}?after=${String(page.list[0]?.id)}`, {
      token: tenant.apiKey,
    });
    expect(next.list).toMatchObject([{ reference: 'first' }]);
    const credits = await api.request('GET', `${path}?kind=credit`, { token: tenant.apiKey });
    expect(credits.list).toMatchObject([{ kind: 'credit' }]);
    expect((await api.request('GET', path)).list).toEqual([]);
  });
});

describe('prices', () => {
  const set = (kind: 'email' | 'sms', millicents: number | null, country: string | null = null) =>
    inTransaction(api.database.pool, (trx) =>
      setPrice(trx, { tier: 'free', kind, country }, millicents, 'ann'),
    );
  const priced = async (number: string) =>
    (
      await query<{ pays: boolean; email: number; sms: number | null }>(
        `select ${paysSql('a')} as pays, ${emailPriceSql('a')} as email, ${smsPriceSql('a', '$2')} as sms
         from accounts a where id = $1`,
        [tenant.accountId, number],
      )
    )[0];

  it('are zero until an operator sets them, and zero again once they are removed', async () => {
    expect(await priced('+4915112345678')).toEqual({ pays: false, email: 0, sms: 0 });
    await set('email', 50);
    expect(await priced('+4915112345678')).toEqual({ pays: true, email: 50, sms: 0 });
    await set('email', null);
    expect(await priced('+4915112345678')).toEqual({ pays: false, email: 0, sms: 0 });
  });

  it('of SMS depend on the country of the number; other countries have none once one is set', async () => {
    await set('sms', 7_500, 'DE');
    await set('sms', 1_000, 'US');
    await set('sms', 1_200, 'JE');
    for (const [number, price] of [
      ['+4915112345678', 7_500],
      ['+12025550123', 1_000],
      ['+12425550123', null],
      ['+14165550123', null],
      ['+447797712345', 1_200],
      ['+447400123456', null],
      ['+88312345678', null],
    ] as const) {
      expect([number, (await priced(number))?.sms]).toEqual([number, price]);
    }
  });

  it('are listed, and every change is in the log of the installation', async () => {
    await set('sms', 7_500, 'DE');
    await set('sms', 8_000, 'DE');
    expect(await listPrices(api.database.pool)).toEqual([
      { tier: 'free', kind: 'sms', country: 'DE', cents: 8 },
    ]);
    expect((await listOperatorChanges(api.database.pool, null, 1))[0]).toMatchObject({
      actor: 'ann',
      action: 'price set',
      changes: { 'free sms DE': { from: 7.5, to: 8 } },
    });
  });

  it('need a country for SMS, and have none for email', async () => {
    await expect(set('sms', 1)).rejects.toMatchObject({ code: 'validation_error' });
    await expect(set('email', 1, 'DE')).rejects.toMatchObject({ code: 'validation_error' });
    await expect(set('sms', 1, 'XX')).rejects.toMatchObject({ code: 'validation_error' });
  });
});

describe('the months of an account', () => {
  it('are posted once, seven days after their end, without a change of the balance', async () => {
    await credit(10_000, 'a');
    await spend('2026-01-01', 2_500);
    expect(await balance()).toBe(7_500);
    expect(await run(postMonths, '2026-02-07T23:59:59Z')).toBe(0);
    expect(await run(postMonths, '2026-02-08T00:00:00Z')).toBe(1);
    expect(await run(postMonths, '2026-02-08T01:00:00Z')).toBe(0);
    expect(await balance()).toBe(7_500);
    const { sum, entries } = await walletOf(api.database.pool, tenant.accountId);
    expect([sum, entries[1]]).toEqual([7_500, { kind: 'usage', millicents: -2_500, cause: 'usage/2026-01' }]);
  });

  it('include amounts that a concurrent transaction returned', async () => {
    await spend('2026-01-01', 2_500);
    const client = await api.database.pool.connect();
    try {
      await client.query('begin');
      await client.query('update account_months set spent_millicents = 2_000 where account_id = $1', [
        tenant.accountId,
      ]);
      const posted = run(postMonths, '2026-02-08T00:00:00Z');
      await query('select 1');
      await client.query('commit');
      expect(await posted).toBe(1);
    } finally {
      client.release();
    }
    expect(await walletOf(api.database.pool, tenant.accountId)).toMatchObject({ sum: -2_000 });
  });

  it('without costs are posted without an entry', async () => {
    await spend('2026-01-01', 0);
    expect(await run(postMonths, '2026-02-08T00:00:00Z')).toBe(1);
    expect((await walletOf(api.database.pool, tenant.accountId)).entries).toEqual([]);
  });
});

describe('the nightly check', () => {
  const found = () =>
    query<{ problem: string; expected: number; found: number }>(
      'select problem, expected, found from money_mismatches where account_id = $1 order by problem',
      [tenant.accountId],
    );

  it('finds mismatches, corrects nothing, and forgets those that are gone', async () => {
    await credit(10_000, 'a');
    await spend('2026-01-01', 2_500);
    await run(postMonths, '2026-02-08T00:00:00Z');
    await run(checkMoney, '2026-02-09T04:00:00Z');
    expect(await found()).toEqual([]);
    await query('update wallets set entries_millicents = 1 where account_id = $1', [tenant.accountId]);
    await query('update account_months set spent_millicents = 2_499 where account_id = $1', [
      tenant.accountId,
    ]);
    expect(await run(checkMoney, '2026-02-09T05:00:00Z')).toBe(0);
    await run(checkMoney, '2026-02-10T04:00:00Z');
    expect(await found()).toEqual([
      { problem: 'month_posted', expected: 2_499, found: 2_500 },
      { problem: 'wallet_sum', expected: 7_500, found: 1 },
    ]);
    expect((await walletOf(api.database.pool, tenant.accountId)).sum).toBe(1);
    await query('update wallets set entries_millicents = 7_500 where account_id = $1', [tenant.accountId]);
    await query('update account_months set spent_millicents = 2_500 where account_id = $1', [
      tenant.accountId,
    ]);
    await run(checkMoney, '2026-02-11T04:00:00Z');
    expect(await found()).toEqual([]);
  });

  it('finds reservations that are missing in their month', async () => {
    await query(
      `insert into send_queue (message_id, account_id, channel, class, due_at, queued_at, price_month, price_millicents)
       values (999999, $1, 'email', 10, now(), now(), '2026-01-01', 50)`,
      [tenant.accountId],
    );
    await run(checkMoney, '2026-02-10T04:00:00Z');
    expect(await found()).toEqual([{ problem: 'reserved', expected: 50, found: 0 }]);
    await query('delete from send_queue where message_id = 999999');
  });
});

describe('mails to the owners', () => {
  const mail = { from: 'Carillon <system@mail.test>', currency: 'EUR' };
  const month = () => new Date().toISOString().slice(0, 7) + '-01';
  const notify = () => notifyOwners(api.database.pool, mail);
  const mails = () => ownerMails(api.database.pool, tenant.email);

  it('come once a month at 80% and at 100% of the spend cap', async () => {
    await setPrices(api.database.pool, 'free', 100);
    await setAccount(api.database.pool, tenant.accountId, { spendCapMonthlyCents: 10 });
    await spend(month(), 7_900);
    await notify();
    expect(await mails()).toEqual([]);
    await spend(month(), 8_000);
    await Promise.all([notify(), notify()]);
    await notify();
    expect(await mails()).toEqual(['Your account has used 80% of its monthly spend cap']);
    await spend(month(), 9_950);
    await Promise.all([notify(), notify()]);
    await spend(month(), 8_500);
    await notify();
    await spend(month(), 10_000);
    await notify();
    expect((await mails()).slice(1)).toEqual(['Your account has reached its monthly spend cap']);
  });

  it('is one if an account passes both thresholds at once, and another in the next month', async () => {
    await setPrices(api.database.pool, 'free', 100);
    await setAccount(api.database.pool, tenant.accountId, { spendCapMonthlyCents: 10 });
    await spend(month(), 10_000);
    await notify();
    await query(`update money_notices set month = '2020-01-01' where account_id = $1`, [tenant.accountId]);
    await notify();
    expect(await mails()).toEqual(
      Array.from({ length: 2 }, () => 'Your account has reached its monthly spend cap'),
    );
  });

  const NO_FUNDS = 'Your account has no funds left';
  const DAY = `interval '1 day'`;
  /** Lets a day pass since the last mail. */
  const passADay = () =>
    query(`update money_notices set created_at = created_at - ${DAY} where account_id = $1`, [
      tenant.accountId,
    ]);

  it('come once when funds run out, and again if they do so after a top-up', async () => {
    await setPrices(api.database.pool, 'free', 100);
    await notify();
    expect(await mails()).toEqual([]);
    await credit(1_000, 'a');
    await notify();
    await spend(month(), 950);
    await Promise.all([notify(), notify()]);
    await notify();
    expect(await mails()).toEqual([NO_FUNDS]);
    await credit(1_000, 'b');
    await notify();
    await credit(1_000, 'c', 'debit');
    await notify();
    expect(await mails()).toHaveLength(1);
    await passADay();
    await Promise.all([notify(), notify()]);
    await notify();
    expect(await mails()).toEqual([NO_FUNDS, NO_FUNDS]);
  });

  it('are not repeated while the balance fluctuates around zero without a credit', async () => {
    await setPrices(api.database.pool, 'free', 100);
    await query(
      `insert into wallet_entries (account_id, kind, millicents, cause, created_at)
       values ($1, 'credit', 1000, 'long ago', now() - 9 * ${DAY})`,
      [tenant.accountId],
    );
    for (let day = 0; day < 3; day += 1) {
      await spend(month(), 950);
      await notify();
      await spend(month(), 850);
      await notify();
      await passADay();
    }
    expect(await mails()).toEqual([NO_FUNDS]);
  });
});

it('adds an entry once per cause', async () => {
  const entry = { accountId: tenant.accountId, kind: 'refund', millicents: 7, cause: 'x' } as const;
  expect(await addWalletEntry(api.database.pool, entry)).toEqual(expect.any(Number));
  expect(await addWalletEntry(api.database.pool, { ...entry, millicents: 8 })).toBeNull();
  expect(await showWallet(api.database.pool, tenant.accountId)).toMatchObject({ entries_cents: 0.007 });
});
