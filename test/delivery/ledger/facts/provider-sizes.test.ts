// What a mail server says about the size of messages is stored when a sender connects, once until it says something else.
import { afterAll, afterEach, beforeAll, expect, it } from '@jest/globals';
import { createSizeRecorder } from '../../../../src/delivery/ledger/facts/provider-sizes.ts';
import { createSmtpProvider } from '../../../../src/delivery/wire/providers/smtp/hand-over.ts';
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
