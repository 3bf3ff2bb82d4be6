// What a mail server says about the size of messages is stored when a sender connects, at most once a minute if it is the same.
import { afterAll, afterEach, beforeAll, expect, it } from '@jest/globals';
import { createSizeRecorder } from '../../../../src/delivery/ledger/facts/provider-sizes.ts';
import { createSmtpProvider } from '../../../../src/delivery/wire/providers/smtp/hand-over.ts';
import {
  addProvider,
  changeProviderSettings,
  requireProviderKind,
} from '../../../../src/delivery/wire/providers/named.ts';
import { removeProvider } from '../../../../src/delivery/wire/providers/removal.ts';
import { createDefaultProvider } from '../../../../src/delivery/wire/providers/settings-url.ts';
import { createKeyring } from '../../../../src/platform/secrets/keyring.ts';
import { createResolver } from '../../../../src/platform/dns/resolver.ts';
import type { Config } from '../../../../src/config.ts';
import type { Queryable } from '../../../../src/platform/db/queryable.ts';
import { createTestDatabase, type TestDatabase } from '../../../support/database.ts';
import { eventually } from '../../../support/eventually.ts';
import { outgoingEmail } from '../../../support/outgoing.ts';
import { startSmtpServer, type TestSmtpServer } from '../../../support/sending.ts';

let made: TestDatabase;
beforeAll(async () => {
  made = await createTestDatabase();
});
afterAll(() => made.drop());

const servers: TestSmtpServer[] = [];
afterEach(() => Promise.all(servers.splice(0).map((server) => server.stop())));

async function sizes(): Promise<unknown[]> {
  const { rows } = await made.database.pool.query(
    'select provider_id as id, max_bytes as bytes from provider_sizes order by provider_id',
  );
  return rows;
}

/** Connects once to a server with this SIZE. */
async function connectTo(size: number | undefined, onSize: (maxBytes: number | null) => void): Promise<void> {
  const server = await startSmtpServer(size === undefined ? { hideSize: true } : { size });
  servers.push(server);
  const target = { host: '127.0.0.1', port: server.port, security: 'none', clientName: 'mail.test' } as const;
  const provider = createSmtpProvider({ target, connections: 1, onSize });
  expect(await provider.handOver([outgoingEmail()])).toMatchObject([{ kind: 'accepted' }]);
  await provider.close();
}

it('learns, changes and forgets SIZE', async () => {
  const onSize = createSizeRecorder(made.database.pool, 7);
  await made.database.pool.query('insert into provider_sizes (provider_id, max_bytes) values (8, 1)');
  const other = { id: 8, bytes: 1 };
  for (const [size, rows] of [
    [10_000_000, [{ id: 7, bytes: 10_000_000 }, other]],
    [5_000_000, [{ id: 7, bytes: 5_000_000 }, other]],
    [undefined, [other]],
    [10_000_000, [{ id: 7, bytes: 10_000_000 }, other]],
  ] as const) {
    await connectTo(size, onSize);
    await eventually(async () => expect(await sizes()).toEqual(rows));
  }
});

it('forgets SIZE when the provider has another server, or is removed', async () => {
  const { pool } = made.database;
  const keyring = createKeyring('a secret of at least thirty-two characters');
  const kind = requireProviderKind('smtp');
  const relay = await addProvider(pool, keyring, { name: 'relay', kind, settings: { url: 'smtp://a.test' } });
  const config = { EMAIL_PROVIDER_URL: 'capture:', CAPTURED_MB: 1 } as Config;
  for (const [id, change] of [
    [relay.id, () => changeProviderSettings(pool, keyring, relay, { url: 'smtp://b.test' })],
    [relay.id, () => removeProvider(pool, relay, { force: false })],
    [0, () => createDefaultProvider('email', { config, pool, resolver: createResolver([]) })],
  ] as const) {
    await pool.query('insert into provider_sizes (provider_id, max_bytes) values ($1, 1)', [id]);
    await change();
    await eventually(async () => expect(await sizes()).not.toContainEqual(expect.objectContaining({ id })));
  }
});

it('writes the same size once, and again if it could not be stored', async () => {
  let fails = true;
  let written = 0;
  const db: Queryable = {
    query: (...given: Parameters<Queryable['query']>) => {
      written += 1;
      return fails ? Promise.reject(new Error('down')) : made.database.pool.query(...given);
    },
  };
  const onSize = createSizeRecorder(db, 9);
  onSize(1_000);
  await eventually(() => {
    if (written === 1) onSize(1_000);
    expect(written).toBe(2);
  });
  fails = false;
  await eventually(async () => {
    onSize(1_000);
    expect(await sizes()).toContainEqual({ id: 9, bytes: 1_000 });
  });
  const now = written;
  for (let n = 0; n < 5; n += 1) onSize(1_000);
  expect(written).toBe(now);
});

it('corrects within a minute what another sender has stored meanwhile', async () => {
  let seconds = 0;
  const { pool } = made.database;
  const onSize = createSizeRecorder(pool, 10, () => seconds * 1_000);
  onSize(2_000);
  await eventually(async () => expect(await sizes()).toContainEqual({ id: 10, bytes: 2_000 }));
  createSizeRecorder(pool, 10)(1_000);
  await eventually(async () => expect(await sizes()).toContainEqual({ id: 10, bytes: 1_000 }));
  seconds = 60;
  onSize(2_000);
  await eventually(async () => expect(await sizes()).toContainEqual({ id: 10, bytes: 2_000 }));
});
