// A named provider that fails affects only its own messages, which go to the next provider of the account.
import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import pino from 'pino';
import { loadConfig } from '../../../src/config.ts';
import { addProvider, requireProviderKind } from '../../../src/delivery/wire/providers/named.ts';
import { removeProvider } from '../../../src/delivery/wire/providers/removal.ts';
import { createFailOver } from '../../../src/delivery/sender/failover/fail-over.ts';
import {
  createNamedChannels,
  type NamedChannels,
} from '../../../src/delivery/sender/channels/named-channel.ts';
import { createFollowProviders } from '../../../src/delivery/sender/loop/named-shares.ts';
import { inTransaction } from '../../../src/platform/db/queryable.ts';
import { createResolver } from '../../../src/platform/dns/resolver.ts';
import { createEgress, type Egress } from '../../../src/platform/egress/client.ts';
import { createKeyring } from '../../../src/platform/secrets/keyring.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database.ts';
import { eventually } from '../../support/eventually.ts';
import { testPulse } from '../../support/pulse.ts';
import { insertAccount, queueEmails, type QueuedAccount, wakeSenders } from '../../support/queued.ts';
import {
  emailSettings,
  startSmtpServer,
  startTestSender,
  type TestSender,
  type TestSmtpServer,
} from '../../support/sending.ts';

const keyring = createKeyring('a secret of at least thirty-two characters');
const log = pino({ level: 'silent' });
const resolver = createResolver([]);

let test: TestDatabase;
let fallback: TestSmtpServer;
let one: TestSmtpServer;
let other: TestSmtpServer;
let account: QueuedAccount;
let sender: TestSender | null;
let egress: Egress;
let channels: NamedChannels;

beforeEach(async () => {
  test = await createTestDatabase();
  [fallback, one, other] = await Promise.all([startSmtpServer(), startSmtpServer(), startSmtpServer()]);
  account = await insertAccount(test.database);
  sender = null;
  egress = createEgress({ resolver, allow: [], userAgent: 'Test' });
  channels = createNamedChannels({
    keyring,
    providers: { config: loadConfig({}), pool: test.database.pool, resolver, egress },
    settings: emailSettings(),
    optOut: () => undefined,
  });
});
afterEach(async () => {
  await sender?.stop();
  await channels.close();
  await egress.close();
  await Promise.all([fallback, one, other].map((server) => server.crash()));
  await test.drop();
});

const query = <Row extends object>(text: string, values: unknown[] = []) =>
  test.database.pool.query<Row>(text, values).then(({ rows }) => rows);

async function add(name: string, { port }: Pick<TestSmtpServer, 'port'>): Promise<number> {
  const settings = { url: `smtp://127.0.0.1:${port}?tls=off`, connections: 2 };
  const kind = requireProviderKind('smtp');
  return (await addProvider(test.database.pool, keyring, { name, kind, settings })).id;
}

/** Adds a provider whose settings no process can read. */
async function addBroken(): Promise<number> {
  const id = await add('broken', one);
  await query('update providers set settings_sealed = $2 where id = $1', [id, 'nonsense']);
  return id;
}

/** @param outageMs how long a provider fails before its messages go elsewhere */
async function start(outageMs = 3_600_000): Promise<void> {
  const { pool } = test.database;
  const waker = { wake: () => void wakeSenders(test.database) };
  const failOver = createFailOver({ pool, waker, log, outageMs });
  const followProviders = createFollowProviders({
    pool,
    open: channels.open,
    failOver,
    pulse: testPulse(pool, { intervalMs: 20 }),
    log,
    intervalMs: 50,
  });
  sender = await startTestSender({ url: test.url, port: fallback.port, followProviders });
}

/** Queues messages for a provider. */
const queue = (count: number, providerId: number, of = account) =>
  queueEmails(test.database, of, count, { providerId });

const counts = (providerId: number) =>
  query(
    `select status, q.attempt_count, count(*)::int as count from messages m join send_queue q on q.message_id = m.id
     where q.provider_id = $1 group by 1, 2`,
    [providerId],
  );

const untilSent = (provider: string, count: number) =>
  eventually(async () => {
    const sent = await query(`select 1 from messages where status = 'sent' and provider = $1`, [provider]);
    expect(sent).toHaveLength(count);
  });

/** Starts a server that accepts connections and never sends anything. */
async function startSilentServer(): Promise<{ port: number; stop(): void }> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    stop() {
      server.close();
      for (const socket of sockets) socket.destroy();
    },
  };
}

describe('named providers', () => {
  it('send the messages of their share, under their name, alongside the provider in the settings', async () => {
    const acme = await add('acme', one);
    await queue(3, acme);
    await queue(2, 0);
    await start();
    await untilSent('acme', 3);
    await untilSent('smtp', 2);
    expect([one.received.length, fallback.received.length]).toEqual([3, 2]);
    expect(Object.keys(sender?.sender.report().providers ?? {}).sort()).toEqual(['email:acme', 'email:smtp']);
  });

  it('are opened, changed and closed while the sender runs', async () => {
    await start();
    const acme = await add('acme', one);
    await queue(1, acme);
    await untilSent('acme', 1);
    const { changeProviderSettings } = await import('../../../src/delivery/wire/providers/named.ts');
    const kind = requireProviderKind('smtp');
    const settings = { url: `smtp://127.0.0.1:${other.port}?tls=off` };
    await changeProviderSettings(test.database.pool, keyring, { id: acme, kind }, settings);
    await eventually(async () => {
      await queue(1, acme);
      expect(other.received.length).toBeGreaterThan(0);
    });
    await inTransaction(test.database.pool, (trx) =>
      removeProvider(trx, { id: acme, name: 'acme' }, { force: true }),
    );
    await eventually(() =>
      expect(Object.keys(sender?.sender.report().providers ?? {})).toEqual(['email:smtp']),
    );
  });

  it('that fail stop only their own messages, and use up no attempts', async () => {
    const acme = await add('acme', one);
    const dead = await add('dead', { port: 1 });
    await queue(40, dead);
    await queue(300, acme);
    await start();
    await untilSent('acme', 300);
    expect(await counts(dead)).toEqual([{ status: 'queued', attempt_count: 0, count: 40 }]);
    await eventually(() =>
      expect(sender?.sender.report().providers).toMatchObject({
        'email:dead': { state: expect.stringMatching(/open/) },
        'email:acme': { state: 'closed' },
      }),
    );
  });

  it('that hang stop only their own messages', async () => {
    const acme = await add('acme', one);
    const silent = await startSilentServer();
    try {
      const hanging = await add('hanging', silent);
      await queue(40, hanging);
      await queue(300, acme);
      await start();
      await untilSent('acme', 300);
      expect(await counts(hanging)).toEqual([{ status: 'queued', attempt_count: 0, count: 40 }]);
    } finally {
      silent.stop();
    }
  });

  it('give their messages to the next provider of the account while they fail', async () => {
    const dead = await add('dead', { port: 1 });
    const acme = await add('acme', other);
    const loyal = await insertAccount(test.database);
    await query('update accounts set email_provider_ids = $2 where id = $1', [
      account.accountId,
      [dead, acme],
    ]);
    const [first] = await queue(20, dead);
    await queue(5, dead, loyal);
    await start(1);
    await untilSent('acme', 20);
    expect(await counts(dead)).toEqual([{ status: 'queued', attempt_count: 0, count: 5 }]);
    expect(await query('select attempt_count from messages where id = $1', [first])).toEqual([
      { attempt_count: 1 },
    ]);
    expect(await query('select provider_id from provider_outages')).toEqual([{ provider_id: dead }]);
  });

  it('that cannot be opened give their messages to the next provider of the account', async () => {
    const broken = await addBroken();
    const acme = await add('acme', other);
    await query('update accounts set email_provider_ids = $2 where id = $1', [
      account.accountId,
      [broken, acme],
    ]);
    await queue(5, broken);
    await start(1);
    await untilSent('acme', 5);
    expect(await query('select provider_id from provider_outages')).toEqual([{ provider_id: broken }]);
    expect(sender?.sender.report().providers).toMatchObject({ 'email:broken': { state: 'open' } });
  });

  it('that cannot be opened let their messages expire', async () => {
    const broken = await addBroken();
    const [old] = await queue(2, broken);
    await query(`update send_queue set queued_at = now() - interval '73 hours' where message_id = $1`, [old]);
    await start();
    await eventually(async () =>
      expect(await query(`select failure ->> 'code' as code from messages where id = $1`, [old])).toEqual([
        { code: 'expired' },
      ]),
    );
    expect(await counts(broken)).toEqual([{ status: 'queued', attempt_count: 0, count: 1 }]);
    expect(fallback.received).toHaveLength(0);
  });

  it('that were removed leave their messages to the provider in the settings', async () => {
    const acme = await add('acme', one);
    await queue(3, acme);
    await query(`update send_queue set due_at = now() + interval '1 hour' where provider_id = $1`, [acme]);
    const remove = (force: boolean) =>
      inTransaction(test.database.pool, (trx) => removeProvider(trx, { id: acme, name: 'acme' }, { force }));
    await expect(remove(false)).rejects.toThrow('acme is used by 3 queued message(s); --force');
    await remove(true);
    await start();
    await eventually(async () => {
      const [row] = await query<{ n: number }>('select count(*) as n from send_queue where provider_id = 0');
      expect(row?.n).toBe(3);
    });
  });
});

describe('a new message', () => {
  it('goes to the first provider of its account, or to the next while that one fails', async () => {
    const [first, second] = [await add('first', one), await add('second', other)];
    const accept = async () => {
      const [id] = await queueEmails(test.database, account, 1);
      const [row] = await query<{ provider_id: number }>(
        'select provider_id from send_queue where message_id = $1',
        [id],
      );
      return row?.provider_id;
    };
    expect(await accept()).toBe(0);
    await query('update accounts set email_provider_ids = $2 where id = $1', [
      account.accountId,
      [first, second],
    ]);
    expect(await accept()).toBe(first);
    const outage = (retryIn: string) =>
      query(
        `insert into provider_outages values ('email', $1, now(), now() + $2::interval)
         on conflict (channel, provider_id) do update set retry_at = excluded.retry_at`,
        [first, retryIn],
      );
    await outage('1 hour');
    expect([await accept(), await accept()]).toEqual([second, second]);
    // One message tests whether it works again.
    await outage('-1 second');
    expect(await accept()).toBe(first);
    const [tested] = await query(`select retry_at > now() as later from provider_outages`);
    expect(tested).toEqual({ later: true });
    await outage('1 hour');
    expect(await accept()).toBe(second);
    await query('update providers set removed_at = now() where id = $1', [first]);
    expect(await accept()).toBe(second);
  });
});
