// The operator lets accounts have inboxes, lists them, and gives out URLs whose tokens are not stored.
import { createHash } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { resolveInboxAddress } from '../../src/features/inbox/inboxes/resolve.ts';
import { carillonCommand } from '../support/commands.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { insertInbox } from '../support/inboxes.ts';
import { insertAccount, type QueuedAccount } from '../support/queued.ts';

let made: TestDatabase;
let one: QueuedAccount;
let two: QueuedAccount;
beforeAll(async () => {
  made = await createTestDatabase();
  one = await insertAccount(made.database);
  two = await insertAccount(made.database);
});
afterAll(() => made.drop());

const carillon = (args: string[], settings: Record<string, string> = {}) =>
  carillonCommand(['inbox', ...args], { DATABASE_URL: made.url, CARILLON_OPERATOR: 'olive', ...settings });
const of = ({ accountId }: QueuedAccount) => ['--account', String(accountId)];
const logOf = async ({ accountId }: QueuedAccount) =>
  (
    await made.database.pool.query<{ actor: string; action: string; changes: unknown }>(
      'select actor, action, changes from account_log where account_id = $1 order by id',
      [accountId],
    )
  ).rows;

describe('carillon inbox', () => {
  it('lets an account have inboxes, and ends that', async () => {
    const address = `inbox-${one.brandId}@mail.test`;
    await insertInbox(made.database, one, address, { builtIn: true });
    const kind = async () => (await resolveInboxAddress(made.database.pool, address, 'mail.test')).kind;
    expect(await kind()).toBe('refused');
    const enabled = await carillon(['enable', ...of(one)]);
    expect(enabled).toMatchObject({ code: 0, output: expect.stringMatching(/inboxes +allowed/) });
    expect(await kind()).toBe('inbox');
    expect((await logOf(one)).map(({ actor, action }) => [actor, action])).toEqual([
      ['olive', 'account set'],
    ]);
    expect(await carillon(['disable', ...of(one)])).toMatchObject({
      code: 0,
      output: expect.stringContaining('not allowed'),
    });
    expect(await kind()).toBe('refused');
  });

  it('lists inboxes, or those of one account', async () => {
    await insertInbox(made.database, two, 'a@two.example');
    await carillon(['enable', ...of(two)]);
    const { output } = await carillon(['list']);
    expect(output).toMatch(/inbox-\d+@mail\.test {2}the account may not have inboxes\n/);
    expect(output).toMatch(/a@two\.example {2}accepts mail\n/);
    const some = await carillon(['list', ...of(two), '--json']);
    expect(JSON.parse(some.output)).toEqual([
      expect.objectContaining({ account_id: two.accountId, address: 'a@two.example', allowed: true }),
    ]);
    expect((await carillon(['list', '--account', '999'])).output).toBe('no inboxes\n');
  });

  it('prints a new token and its URL once, stores only the digest, and replaces the old one', async () => {
    const settings = { PUBLIC_URL: 'https://api.acme.example/' };
    const first = JSON.parse((await carillon(['token', ...of(one), '--json'], settings)).output);
    expect(first).toEqual({
      account_id: one.accountId,
      token: expect.stringMatching(/^[\w-]{43}$/),
      url: `https://api.acme.example/inbound/${first.token}`,
    });
    const second = await carillon(['token', ...of(one)]);
    const token = /shown only once\) +(\S{43})\n/.exec(second.output)?.[1] ?? '';
    expect(second.output).toContain(`/inbound/${token}`);
    expect(token).not.toBe(first.token);
    const { rows } = await made.database.pool.query('select account_id, digest from inbound_tokens');
    const digest = createHash('sha256').update(token).digest();
    expect(rows).toEqual([{ account_id: one.accountId, digest }]);
    const log = JSON.stringify(await logOf(one));
    expect(log).toContain('inbox token');
    expect(log).not.toContain(token);
  });

  it('prints the URL at the address of a development start', async () => {
    const home = mkdtempSync(join(tmpdir(), 'carillon-home-'));
    const none = {
      email: 'x',
      password: 'x',
      api_key: 'x',
      account_id: 1,
      brand_id: 1,
      temporal_address: 'x',
    };
    const pids = { api: null, worker: null, sender: null, mail: null, temporal: null, postgres: null };
    const dev = { ...none, base_url: 'http://127.0.0.1:3100', database_url: made.url, pids };
    writeFileSync(
      join(home, 'dev.json'),
      JSON.stringify({ ...dev, temporal_ui_url: null, mailbox_url: null }),
    );
    const urlOf = async (settings: Record<string, string>) =>
      JSON.parse(
        (await carillon(['token', ...of(one), '--json'], { CARILLON_HOME: home, ...settings })).output,
      ).url;
    expect(await urlOf({ DATABASE_URL: '' })).toMatch(/^http:\/\/127\.0\.0\.1:3100\/inbound\/[\w-]{43}$/);
    expect(await urlOf({})).toMatch(/^http:\/\/127\.0\.0\.1:3100\/inbound\//);
    expect(await urlOf({ PUBLIC_URL: 'https://api.acme.example' })).toMatch(
      /^https:\/\/api\.acme\.example\/inbound\//,
    );
    rmSync(home, { recursive: true });
  });

  it.each([['enable'], ['disable'], ['token']])('%s needs an account that exists', async (command) => {
    expect(await carillon([command, '--account', '999'])).toMatchObject({
      code: 1,
      output: expect.stringContaining('account not found'),
    });
    expect((await carillon([command])).code).toBe(1);
  });

  it('has help for each command', async () => {
    const { output } = await carillon(['--help']);
    for (const name of ['enable', 'disable', 'list', 'token']) expect(output).toContain(name);
    expect((await carillon(['token', '--help'])).output).toContain('/inbound/<token>?from=');
  });
});
