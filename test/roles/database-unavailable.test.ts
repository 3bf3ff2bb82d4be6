// Every role waits for an unavailable database, and reports each problem only once.
import { once } from 'node:events';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { claimPorts } from '../../src/local/machine/ports.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { type Program, runProgram, until } from '../support/programs.ts';

const START_LIMIT_MS = 90_000;
/** The database breaks off so many of a role's first connections, each a statement later than the one before. */
const BROKEN_CONNECTIONS = 8;

let test: TestDatabase;
let port: number;
let front: Server | null = null;
let sockets: Socket[] = [];
let program: Program;

beforeAll(async () => {
  test = await createTestDatabase();
});
afterAll(() => test.drop());
afterEach(async () => {
  program.child.kill('SIGTERM');
  const ended = await program.ended;
  front?.close();
  front = null;
  if (ended !== 0) throw new Error(`the role ended with ${ended}: ${program.output()}`);
});

/** Makes the database available at `port`. @param breaks how many of the first connections break */
async function open(breaks = 0): Promise<void> {
  const target = Number(new URL(test.url).port);
  let opened = 0;
  front = createServer((socket) => {
    opened += 1;
    forward(socket, connect(target, '127.0.0.1'), opened <= breaks ? opened : Infinity);
  });
  front.listen(port, '127.0.0.1');
  await once(front, 'listening');
}

/** Makes the database unavailable, and breaks its connections. */
async function cut(): Promise<void> {
  front?.close();
  for (const socket of sockets) socket.destroy();
  if (front?.listening) await once(front, 'close');
  sockets = [];
}

function forward(client: Socket, server: Socket, statementsAllowed: number): void {
  let statements = 0;
  sockets.push(client);
  const close = () => {
    client.destroy();
    server.destroy();
  };
  for (const socket of [client, server]) socket.on('error', close).on('close', close);
  server.pipe(client);
  client.on('data', (chunk) => {
    // The protocol's messages Query and Parse begin with these letters.
    if (['Q', 'P'].includes(chunk.toString('latin1', 0, 1))) statements += 1;
    if (statements > statementsAllowed) close();
    else server.write(chunk);
  });
}

async function start(role: string): Promise<void> {
  [port] = (await claimPorts([{ port: 0, setting: 'PORT' }])) as [number];
  const url = new URL(test.url);
  url.host = `127.0.0.1:${port}`;
  program = runProgram('src/main.ts', ['start', role], {
    DATABASE_URL: url.href,
    TEMPORAL_ADDRESS: '127.0.0.1:1',
    APP_SECRET: 'a secret of the tests that is long enough',
    EMAIL_PROVIDER_URL: 'smtp://127.0.0.1:1?tls=off',
    MAIL_DOMAIN: 'mail.test',
    PORT: '0',
    MAIL_PORT: '0',
    OPS_PORT: '0',
    LOG_FORMAT: 'json',
  });
}

const lines = () => program.output().trim().split('\n');
const waiting = () => lines().filter((line) => line.includes('waiting for it'));

describe.each(['api', 'worker', 'sender', 'mail'])('the %s role', (role) => {
  it('waits for its database and says so in one log line', async () => {
    await start(role);
    await until(() => waiting().length > 0, program.output, START_LIMIT_MS);
    await delay(3_500);
    expect(lines()).toHaveLength(1);
    expect(JSON.parse(lines()[0] ?? '')).toMatchObject({
      level: 40,
      msg: `PostgreSQL at 127.0.0.1:${port} is unavailable (connect ECONNREFUSED 127.0.0.1:${port}): waiting for it`,
    });
    await open();
    await program.ready();
    expect(waiting()).toHaveLength(1);
  }, 120_000);

  it('starts although its first connections to the database break', async () => {
    await start(role);
    await open(BROKEN_CONNECTIONS);
    await program.ready();
    expect(waiting()).toHaveLength(1);
    const ready = lines().findIndex((line) => /started|listens/.test(line));
    expect(
      lines()
        .slice(0, ready)
        .filter((line) => line.includes('"stack"')),
    ).toEqual([]);
  }, 120_000);
});

it.each(['api', 'worker', 'sender', 'mail'])(
  'the %s role says each thing once while its database is unavailable',
  async (role) => {
    await start(role);
    await open();
    await program.ready();
    const before = lines().length;
    await cut();
    await delay(5_000);
    await open();
    const messages = lines()
      .slice(before)
      .map((line) => JSON.parse(line) as { level: number; msg: string })
      .filter(({ level, msg }) => level >= 40 && !msg.includes('engine'))
      .map(({ msg }) => msg);
    expect(messages).toEqual([...new Set(messages)]);
  },
  120_000,
);

it('ends at once if it is stopped while it waits', async () => {
  await start('sender');
  await until(() => waiting().length > 0, program.output, START_LIMIT_MS);
  program.child.kill('SIGTERM');
  expect(await program.ended).toBe(0);
}, 120_000);
