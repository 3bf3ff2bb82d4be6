// The CLI manages providers without showing secrets, and refuses those that track opens and clicks themselves.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { carillonCommand } from '../support/commands.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { type Receiver, startReceiver, testCa } from '../support/https-receiver.ts';
import { startSmtpServer, type TestSmtpServer } from '../support/sending.ts';

let made: TestDatabase;
let home: string;
let server: TestSmtpServer;
beforeAll(async () => {
  made = await createTestDatabase();
  home = mkdtempSync(join(tmpdir(), 'carillon-provider-'));
  server = await startSmtpServer();
});
afterAll(async () => {
  await server.stop();
  await made.drop();
  rmSync(home, { recursive: true, force: true });
});

const provider = (args: string[], input?: string) => run(['provider', ...args], input);

function run(args: string[], input?: string) {
  const settings = {
    DATABASE_URL: made.url,
    APP_SECRET: 'a secret of at least thirty-two characters',
    PUBLIC_URL: 'https://mail.acme.test/',
    CARILLON_HOME: join(home, 'none'),
    EGRESS_ALLOW: '127.0.0.0/8',
  };
  return carillonCommand(args, settings, input);
}

describe('carillon provider', () => {
  it('adds a provider with a secret from a file, and shows the secret nowhere', async () => {
    const file = join(home, 'url');
    writeFileSync(file, 'smtp://ann:hunter2@relay.acme.test\n');
    const added = await provider(['add', 'acme', '--kind', 'smtp', '--set', `url=@${file}`]);
    expect(added).toMatchObject({ code: 0, output: expect.stringContaining('SMTP has no callbacks.') });
    const changed = await provider(['set', 'acme', '--set', 'connections=-'], '3\n');
    const listed = await provider(['list', '--reveal']);
    expect(listed.output).toMatch(/url +\*\*\*\nconnections +3/);
    for (const { output } of [added, changed, listed]) expect(output).not.toContain('hunter2');
  });

  it('names the option that is wrong, and the settings of the kind', async () => {
    const kind = await provider(['add', 'x', '--kind', 'pigeon']);
    expect(kind).toMatchObject({
      code: 1,
      output: expect.stringMatching(/^carillon: --kind must be one of: /),
    });
    const bad = await provider(['add', 'x', '--kind', 'smtp', '--set', 'colour=red']);
    expect(bad.output).toContain('--set url must be a URL such as smtp:');
    expect(bad.output).toContain('--set colour is not a setting of this kind');
    expect(bad.output).toMatch(/settings of smtp:\n {2}url {2}smtp:/);
    expect((await provider(['add', 'x', '--kind', 'smtp', '--set', 'red'])).output).toContain('name=value');
    expect((await provider(['test', 'nobody'])).output).toContain('there is no provider nobody');
  });

  it('prints the callback URL of a service that has callbacks, and masks its secrets', async () => {
    const set = ['server_token=pm-secret'].flatMap((each) => ['--set', each]);
    const added = await provider(['add', 'pm', '--kind', 'postmark', ...set]);
    expect(added.output).toMatch(/https:\/\/mail\.acme\.test\/callbacks\/postmark\/[\w-]{43}\n/);
    expect(added.output).not.toContain('pm-secret');
    expect((await provider(['list'])).output).not.toContain('/callbacks/');
    expect((await provider(['list', '--reveal'])).output).toContain('/callbacks/postmark/');
  });

  describe('of a service that tracks opens and clicks by settings of its own', () => {
    let resend: Receiver;
    let tracks: boolean;
    const trusted = getCACertificates();
    beforeAll(async () => {
      setDefaultCACertificates([...trusted, testCa]);
      resend = await startReceiver({
        answer: ({ url }, response) => {
          const list = { object: 'list', has_more: false, data: [{ id: 'd1', name: 'acme.com' }] };
          const body = url.startsWith('/domains/') ? { open_tracking: tracks, click_tracking: false } : list;
          response.writeHead(200, { 'content-type': 'application/json' });
          response.end(JSON.stringify(body));
        },
      });
    });
    afterAll(async () => {
      setDefaultCACertificates(trusted);
      await resend.close();
    });
    const set = (port: number, command: string, ...args: string[]) =>
      provider([
        ...[
          command,
          ...args,
          '--set',
          'api_key=re_12345678',
          '--set',
          'webhook_secret=whsec_abcdefghijklmnop',
        ],
        ...['--set', `base_url=https://127.0.0.1:${port}`],
      ]);

    it('refuses to add or change it until that is switched off', async () => {
      tracks = true;
      const problem = 'Resend: the domain acme.com tracks opens or clicks: switch both off';
      const refused = await set(resend.port, 'add', 'tracks', '--kind', 'resend');
      expect(refused).toMatchObject({ code: 1, output: expect.stringContaining(problem) });
      expect((await provider(['list'])).output).not.toContain('tracks');
      tracks = false;
      expect((await set(resend.port, 'add', 'tracks', '--kind', 'resend')).code).toBe(0);
      tracks = true;
      expect((await set(resend.port, 'set', 'tracks')).output).toContain(problem);
    });

    it('adds it if the service cannot be asked, and says so', async () => {
      const added = await set(1, 'add', 'silent', '--kind', 'resend');
      expect(added).toMatchObject({
        code: 0,
        output: expect.stringMatching(/did not say whether it tracks .*Run carillon provider test silent/),
      });
    });
  });

  it('tests a provider, and says what is wrong', async () => {
    const url = `url=smtp://127.0.0.1:${server.port}?tls=off`;
    await provider(['add', 'works', '--kind', 'smtp', '--set', url]);
    expect(await provider(['test', 'works'])).toMatchObject({
      code: 0,
      output: expect.stringContaining('works works'),
    });
    await provider(['add', 'fails', '--kind', 'smtp', '--set', 'url=smtp://127.0.0.1:1?tls=off']);
    expect(await provider(['test', 'fails'])).toMatchObject({
      code: 1,
      output: expect.stringMatching(/^carillon: fails: cannot connect and log in: /),
    });
  });

  it('reserves a provider for accounts, which alone may have it in their order', async () => {
    const { rows } = await made.database.pool.query<{ id: number }>(
      `insert into accounts (name) values ('One'), ('Two') returning id`,
    );
    const [one, two] = rows.map(({ id }) => String(id)) as [string, string];
    const kind = ['--kind', 'smtp', '--set', 'url=smtp://relay.test'];
    const missing = await provider(['add', 'theirs', ...kind, '--account', '999999']);
    expect(missing).toMatchObject({ code: 1, output: expect.stringContaining('there is no account 999999') });
    const added = await provider(['add', 'theirs', ...kind, '--account', one, '--account', one]);
    expect(added.output).toMatch(new RegExp(`^accounts +${one}$`, 'm'));
    const order = (account: string) =>
      run(['account', 'set', account, '--email-providers', 'theirs,default']);
    expect(await order(two)).toMatchObject({
      code: 1,
      output: expect.stringContaining('names theirs, which is not an email provider'),
    });
    expect((await order(one)).code).toBe(0);
    expect((await provider(['set', 'theirs'])).output).toContain('give --set, --account or --all-accounts');
    const both = await provider(['set', 'theirs', '--account', two, '--all-accounts']);
    expect(both.output).toContain('--all-accounts');
    await made.database.pool.query(
      `with b as (insert into brands (account_id) values ($1) returning id)
       insert into domains (account_id, brand_id, name, provider_id, return_path_host, tracking_host)
       select $1, b.id, 'one.example', p.id, 'r', 't' from b, providers p where p.name = 'theirs'`,
      [one],
    );
    await made.database.pool.query(
      `insert into sms_senders (account_id, brand_id, provider_id, sender, takes_replies)
       select account_id, brand_id, provider_id, 'Acme', false from domains where name = 'one.example'`,
    );
    const moved = await provider(['set', 'theirs', '--account', two]);
    expect(moved.output).toContain(
      '1 domain(s), 1 order(s) of providers, 1 SMS sender(s) of other accounts still use it.',
    );
    expect((await order(two)).code).toBe(0);
    expect((await provider(['set', 'theirs', '--all-accounts'])).output).toMatch(/^accounts +all$/m);
    expect((await order(one)).code).toBe(0);
  });

  it('removes a provider that is used only with --force', async () => {
    await provider(['add', 'used', '--kind', 'smtp', '--set', 'url=smtp://relay.test']);
    await made.database.pool.query(
      `insert into accounts (name, email_provider_ids) select 'Acme', array[id] from providers where name = 'used'`,
    );
    const refused = await provider(['remove', 'used']);
    expect(refused).toMatchObject({
      code: 1,
      output: expect.stringContaining('used is used by 1 account(s) in their order of providers; --force'),
    });
    expect((await provider(['remove', 'used', '--force'])).code).toBe(0);
    const { rows } = await made.database.pool.query(
      `select email_provider_ids from accounts where name = 'Acme'`,
    );
    expect(rows).toEqual([{ email_provider_ids: null }]);
    expect((await provider(['list', '--json'])).output).not.toContain('"used"');
  });
});
