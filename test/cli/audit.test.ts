// What operators change in an account by commands is in its audit log, under their names, and what is refused is not.
import { afterAll, beforeAll, beforeEach, expect, it } from '@jest/globals';
import { carillonCommand } from '../support/commands.ts';
import { createTestTenant, TEST_SECRET, type TestTenant } from '../support/api.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';

let made: TestDatabase;
let tenant: TestTenant;
beforeAll(async () => {
  made = await createTestDatabase();
  tenant = await createTestTenant(made.database, 'Acme');
  await made.database.pool.query(
    `insert into domains (account_id, brand_id, name, status, return_path_host, tracking_host)
     values ($1, $2, 'acme.example', 'verified', 'r', 't')`,
    [tenant.accountId, tenant.brandId],
  );
});
afterAll(() => made.drop());
beforeEach(() => made.database.pool.query('delete from audit_entries'));

const carillon = (...args: string[]) =>
  carillonCommand(args, { DATABASE_URL: made.url, APP_SECRET: TEST_SECRET, CARILLON_OPERATOR: 'olive' });

async function entries() {
  const { rows } = await made.database.pool.query<{ entry: unknown }>(
    `select jsonb_build_array(account_id, actor_kind, actor_name, action, resource_id) as entry
     from audit_entries order by id`,
  );
  return rows.map(({ entry }) => entry);
}

const commands: [args: (tenant: TestTenant) => (string | number)[], action: string][] = [
  [({ accountId }) => ['account', 'set', accountId, '--tier', 'trusted'], 'account set'],
  [({ accountId }) => ['account', 'pause', accountId], 'account pause'],
  [({ accountId }) => ['account', 'resume', accountId], 'account resume'],
  [({ accountId }) => ['wallet', 'credit', accountId, 500, '--reference', 'a'], 'wallet credit'],
  [({ accountId }) => ['wallet', 'debit', accountId, 100, '--reference', 'b'], 'wallet debit'],
  [({ accountId }) => ['inbox', 'enable', '--account', accountId], 'inbox enable'],
  [({ accountId }) => ['inbox', 'token', '--account', accountId], 'inbox token'],
  [({ accountId }) => ['inbox', 'disable', '--account', accountId], 'inbox disable'],
  [() => ['domain', 'warmup', 'acme.example', 'on'], 'domain warmup on'],
  [() => ['domain', 'warmup', 'acme.example', 'off'], 'domain warmup off'],
  [() => ['domain', 'pace', 'acme.example', 600], 'domain pace'],
  [({ brandId }) => ['sms-sender', 'add', '--brand', brandId, '--from', 'Acme'], 'sms-sender add'],
  [({ brandId }) => ['sms-sender', 'remove', '--brand', brandId], 'sms-sender remove'],
  [({ email }) => ['user', 'reset-link', email], 'user reset-link'],
];

it.each(commands)('records a command once, under the name of the operator: %#', async (argsOf, action) => {
  const { code, output } = await carillon(...argsOf(tenant).map(String));
  expect([code, output]).toEqual([0, expect.any(String)]);
  expect(await entries()).toEqual([
    [tenant.accountId, 'operator', 'olive', action, expect.stringMatching(/^\d+$/)],
  ]);
});

it('records the creation of an account in the new account', async () => {
  const { output } = await carillon(
    ...['account', 'create', '--name', 'New', '--owner', 'nina@new.example', '--json'],
  );
  const { account } = JSON.parse(output) as { account: { id: number } };
  expect(await entries()).toEqual([[account.id, 'operator', 'olive', 'account create', String(account.id)]]);
});

it.each([
  ['a reference that was used before', ['wallet', 'credit', '1', '1', '--reference', 'a']],
  ['a change of an account that does not exist', ['account', 'pause', '999999']],
  ['a look', ['domain', 'warmup', 'acme.example', 'show']],
])('records nothing of %s', async (_, args) => {
  await carillon(...args);
  expect(await entries()).toEqual([]);
});
