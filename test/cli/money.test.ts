// The CLI refuses invalid prices, books a credit once per reference, and records it in the account's log.
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { createTestTenant, type TestTenant } from '../support/api.ts';
import { carillonCommand } from '../support/commands.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';

let made: TestDatabase;
let tenant: TestTenant;
beforeAll(async () => {
  made = await createTestDatabase();
  tenant = await createTestTenant(made.database, 'Acme');
});
afterAll(() => made.drop());

async function carillon(...args: string[]): Promise<string> {
  const settings = {
    DATABASE_URL: made.url,
    APP_SECRET: 'a secret of at least thirty-two characters',
    CARILLON_OPERATOR: 'Ann',
  };
  return (await carillonCommand(args, settings)).output;
}

it('sets prices with three decimals, and refuses what is no price', async () => {
  expect(await carillon('price', 'list')).toBe('No prices are set: everything is free.\n');
  expect(await carillon('price', 'set', 'paid', 'sms', '7.125', '--country', 'de')).toMatch(
    /^paid +sms +DE +7\.125\n$/,
  );
  expect(await carillon('price', 'set', 'paid', 'email', '0.0001')).toContain('at most three decimals');
  expect(await carillon('price', 'set', 'paid', 'email', '1', '--country', 'DE')).toBe(
    'carillon: only SMS prices have a country\n',
  );
});

it('books a credit once for its reference, and changes settings, all in the log of the account', async () => {
  const id = String(tenant.accountId);
  expect(await carillon('wallet', 'credit', id, '10')).toContain("required option '--reference <text>'");
  const credit = ['wallet', 'credit', id, '1000.5', '--reference', 'invoice 7'];
  expect(await carillon(...credit)).toMatch(/^balance \(cents\) +1000\.5$/m);
  expect(await carillon(...credit)).toBe(
    `carillon: the reference invoice 7 was already used in account ${id}\n`,
  );
  const set =
    '--monthly-emails 500 --capability validation=on --auto-topup --topup-amount 5000 --topup-below 900'.split(
      ' ',
    );
  expect(await carillon('account', 'set', id, ...set)).toContain('also need: customer, payment method');
  const card = ['--payment-customer', 'cus_1', '--payment-method', 'pm_1'];
  expect(await carillon('account', 'set', id, ...set, ...card)).toMatch(/^capabilities +validation=on$/m);
  const log = await carillon('account', 'log', id);
  const changes = log
    .trimEnd()
    .split('\n')
    .map((line) => line.replace(/^\S+ {2}/, ''));
  expect(changes.slice(0, 3)).toEqual([
    expect.stringMatching(
      /^Ann {2}account set {2}.*"capabilities":\{"to":\{"validation":true\},"from":\{\}\}.*"monthly_email_allowance"/,
    ),
    expect.stringMatching(/^Ann {2}account set {2}.*"auto_topup":\{"to":true,"from":false\}/),
    expect.stringMatching(/^Ann {2}wallet credit {2}.*"reference":"invoice 7"/),
  ]);
});
