// Every role waits for an unavailable database, and reports each problem only once.
import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { expect, it } from '@jest/globals';
import { claimPort } from '../../src/local/machine/ports.ts';
import { createTestDatabase } from '../support/database.ts';
import { type Program, runProgram, until } from '../support/programs.ts';
import { certificates } from '../support/submission.ts';

const ROLES = ['api', 'worker', 'sender', 'mail', 'submission'];
const START_LIMIT_MS = 90_000;
const TEST_LIMIT_MS = 120_000;
/** The database breaks off so many of a role's first connections, each a statement later than the one before. */
const BROKEN_CONNECTIONS = 8;

/**
 * Nothing listens on the port until the database becomes available, so it is below those that other tests take meanwhile.
 */
const [FREE_FROM, FREE_BELOW] = [15_000, 20_000];

/** The way to a database, which is closed at first. */
class Front {
  readonly #target: URL;
  readonly port: number;
  #server: Server | null = null;
  #sockets: Socket[] = [];

  constructor(target: URL, port: number) {
    this.#target = target;
    this.port = port;
  }

  /** Makes the database available. @param breaks how many of the first connections break */
  async open(breaks = 0): Promise<void> {
    let opened = 0;
    this.#server = createServer((socket) => {
      opened += 1;
      const server = connect(Number(this.#target.port), '127.0.0.1');
      this.#forward(socket, server, opened <= breaks ? opened : Infinity);
    });
    this.#server.listen(this.port, '127.0.0.1');
    await once(this.#server, 'listening');
  }

  /** Makes the database unavailable, and breaks its connections. */
  async cut(): Promise<void> {
    this.#server?.close();
    for (const socket of this.#sockets) socket.destroy();
    if (this.#server?.listening) await once(this.#server, 'close');
    this.#sockets = [];
  }

  close(): void {
    this.#server?.close();
  }

  #forward(client: Socket, server: Socket, statementsAllowed: number): void {
    let statements = 0;
    this.#sockets.push(client);
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
}

interface RunningRole {
  program: Program;
  database: Front;
  /** The lines of its log. */
  lines(): string[];
  /** Those that say that it waits. */
  waiting(): string[];
}

/** Starts a role whose database is unavailable. After `check`, the role must end when it is asked to. */
async function withRole(name: string, check: (role: RunningRole) => Promise<void>): Promise<void> {
  const test = await createTestDatabase();
  const port = await claimPort(randomInt(FREE_FROM, FREE_BELOW), 'DATABASE_URL');
  const url = new URL(test.url);
  const database = new Front(new URL(test.url), port);
  url.host = `127.0.0.1:${port}`;
  const program = runProgram('src/main.ts', ['start', name], {
    DATABASE_URL: url.href,
    TEMPORAL_ADDRESS: '127.0.0.1:1',
    APP_SECRET: 'a secret of the tests that is long enough',
    EMAIL_PROVIDER_URL: 'smtp://127.0.0.1:1?tls=off',
    MAIL_DOMAIN: 'mail.test',
    PORT: '0',
    MAIL_PORT: '0',
    SUBMISSION_PORTS: '0',
    SUBMISSION_TLS_PORTS: 'none',
    SUBMISSION_TLS_CERT_FILE: certificates.first.cert,
    SUBMISSION_TLS_KEY_FILE: certificates.first.key,
    OPS_PORT: '0',
    LOG_FORMAT: 'json',
  });
  const lines = () => program.output().trim().split('\n');
  const waiting = () => lines().filter((line) => line.includes('waiting for it'));
  const end = async () => {
    program.child.kill('SIGTERM');
    const ended = await program.ended;
    database.close();
    await test.drop();
    if (ended !== 0) throw new Error(`the role ended with ${ended}: ${program.output()}`);
  };
  try {
    await check({ program, database, lines, waiting });
  } finally {
    await end();
  }
}

it.concurrent.each(ROLES)(
  'the %s role waits for its database and says so in one log line',
  (name) =>
    withRole(name, async ({ program, database, lines, waiting }) => {
      const { port } = database;
      await until(() => waiting().length > 0, program.output, START_LIMIT_MS);
      await delay(3_500);
      expect(lines()).toHaveLength(1);
      expect(JSON.parse(lines()[0] ?? '')).toMatchObject({
        level: 40,
        msg: `PostgreSQL at 127.0.0.1:${port} is unavailable (connect ECONNREFUSED 127.0.0.1:${port}): waiting for it`,
      });
      await database.open();
      await program.ready();
      expect(waiting()).toHaveLength(1);
    }),
  TEST_LIMIT_MS,
);

it.concurrent.each(ROLES)(
  'the %s role starts although its first connections to the database break',
  (name) =>
    withRole(name, async ({ program, database, lines, waiting }) => {
      await database.open(BROKEN_CONNECTIONS);
      await program.ready();
      expect(waiting()).toHaveLength(1);
      const ready = lines().findIndex((line) => /started|listens/.test(line));
      expect(
        lines()
          .slice(0, ready)
          .filter((line) => line.includes('"stack"')),
      ).toEqual([]);
    }),
  TEST_LIMIT_MS,
);

it.concurrent.each(ROLES)(
  'the %s role says each thing once while its database is unavailable',
  (name) =>
    withRole(name, async ({ program, database, lines }) => {
      await database.open();
      await program.ready();
      const before = lines().length;
      await database.cut();
      await delay(5_000);
      await database.open();
      const messages = lines()
        .slice(before)
        .map((line) => JSON.parse(line) as { level: number; msg: string })
        .filter(({ level, msg }) => level >= 40 && !msg.includes('engine'))
        .map(({ msg }) => msg);
      expect(messages).toEqual([...new Set(messages)]);
    }),
  TEST_LIMIT_MS,
);

it.concurrent(
  'ends at once if it is stopped while it waits',
  () =>
    withRole('sender', async ({ program, waiting }) => {
      await until(() => waiting().length > 0, program.output, START_LIMIT_MS);
      program.child.kill('SIGTERM');
      expect(await program.ended).toBe(0);
    }),
  TEST_LIMIT_MS,
);
