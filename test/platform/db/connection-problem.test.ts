// Whatever keeps a command or a role from its database is explained in one sentence, without the password.
import net from 'node:net';
import tls from 'node:tls';
import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import pg from 'pg';
import { ConfigError, loadConfig } from '../../../src/config.ts';
import { createLogger } from '../../../src/log.ts';
import { migrateDatabase } from '../../../src/local/postgres/database.ts';
import { createDatabaseWait } from '../../../src/platform/db/availability.ts';
import { connectionProblem } from '../../../src/platform/db/connection-problem.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database.ts';
import { carillonCommand } from '../../support/commands.ts';

let made: TestDatabase;
/** Speaks TLS like a PostgreSQL server, with a certificate that no authority has signed. */
let untrusted: net.Server;
/** Asks for a password. A real server would keep the connection open for a minute, and its database from being dropped. */
let asking: net.Server;
const sockets: net.Socket[] = [];

function startServer(answer: (socket: net.Socket) => void): Promise<net.Server> {
  const server = net.createServer((socket) => {
    sockets.push(socket);
    socket.on('error', () => undefined);
    socket.once('data', () => answer(socket));
  });
  return new Promise((done) => server.listen(0, '127.0.0.1', () => done(server)));
}

function presentCertificate(socket: net.Socket): void {
  const file = (name: string) => readFileSync(new URL(`../../support/tls/${name}`, import.meta.url));
  const secureContext = tls.createSecureContext({
    cert: file('self-signed.pem'),
    key: file('self-signed-key.pem'),
  });
  socket.write('S');
  new tls.TLSSocket(socket, { isServer: true, secureContext }).on('error', () => undefined);
}

/** AuthenticationSASL of PostgreSQL's protocol, and AuthenticationSASLContinue, for which the client needs its password. */
function askForPassword(socket: net.Socket): void {
  socket.write(Buffer.from('R\0\0\0\x17\0\0\0\x0aSCRAM-SHA-256\0\0', 'latin1'));
  socket.once('data', () => socket.write(Buffer.from('R\0\0\0\x09\0\0\0\x0bx', 'latin1')));
}

beforeAll(async () => {
  [made, untrusted, asking] = await Promise.all([
    createTestDatabase(),
    startServer(presentCertificate),
    startServer(askForPassword),
  ]);
});
afterAll(async () => {
  for (const socket of sockets) socket.destroy();
  await Promise.all([untrusted, asking].map((server) => new Promise((done) => server.close(done))));
  await made.drop();
});

/** The test's URL with a change. */
function changed(change: (url: URL) => void): string {
  const url = new URL(made.url);
  change(url);
  return url.href;
}
const portOf = (server: net.Server) => String((server.address() as net.AddressInfo).port);

const faults: [name: string, url: () => string, says: RegExp][] = [
  ['a wrong password', () => changed((url) => (url.password = 'hunter2')), /refuses the login/],
  [
    'no password',
    () => changed((url) => ((url.port = portOf(asking)), (url.password = ''))),
    /asks for a password/,
  ],
  ['an unknown user', () => changed((url) => (url.username = 'stranger')), /refuses the login/],
  ['an unknown database', () => changed((url) => (url.pathname = '/missing')), /"missing" does not exist/],
  [
    'sslmode without TLS at the server',
    () => changed((url) => (url.search = '?sslmode=require')),
    /offers no TLS, which sslmode/,
  ],
  [
    'a certificate that is not trusted',
    () => changed((url) => ((url.port = portOf(untrusted)), (url.search = '?sslmode=verify-full'))),
    /not trusted \(DEPTH_ZERO_SELF_SIGNED_CERT\).*sslrootcert/,
  ],
  [
    'a file that is not there',
    () => changed((url) => (url.search = '?sslmode=verify-full&sslrootcert=/missing/ca.pem')),
    /needs a file.*\/missing\/ca\.pem/,
  ],
  ['a port that is no port', () => 'postgres://ann:hunter2@127.0.0.1:99999999/x', /no valid address/],
  ['a server that is down', () => changed((url) => (url.port = '9')), /unavailable \(ECONNREFUSED\)/],
];

describe.each(faults)('%s', (_name, url, says) => {
  const sentence = new RegExp(`^the database [^\\n]*${says.source}[^\\n]*$`);

  it('is one sentence of a command, without a stack trace', async () => {
    const settings = { DATABASE_URL: url() };
    const { code, output } = await carillonCommand(['account', 'resume', '1'], settings);
    expect(code).toBe(1);
    expect(output.replace(/^carillon: |\n$/g, '')).toMatch(sentence);
    expect(output).not.toContain('hunter2');
  });

  it('is the same sentence of a migration', async () => {
    await expect(migrateDatabase(url(), { partitions: [], sealed: [] }, loadConfig({}))).rejects.toThrow(
      sentence,
    );
  });
});

it('ends the start of a role with the sentence, and does not wait for better settings', async () => {
  const url = changed((one) => (one.search = '?sslmode=require'));
  const whenAvailable = createDatabaseWait(
    url,
    createLogger({ LOG_LEVEL: 'silent', LOG_FORMAT: 'json' }, 'test'),
  );
  const step = async () => {
    const client = new pg.Client({ connectionString: url });
    await client.connect();
  };
  await expect(whenAvailable(step)).rejects.toThrow(ConfigError);
  await expect(whenAvailable(step)).rejects.toThrow(/offers no TLS/);
});

it.each([
  { code: 'ENOENT', message: "ENOENT: no such file or directory, open '/data/blobs/x'" },
  { code: 'EAI_AGAIN', message: 'getaddrinfo EAI_AGAIN smtp.example', hostname: 'smtp.example' },
  { code: 'ECONNREFUSED', message: 'connect ECONNREFUSED 10.0.0.9:25', port: 25 },
  { code: '42501', message: 'permission denied for table messages' },
])('does not blame the database for $message', (facts) => {
  expect(connectionProblem(Object.assign(new Error(facts.message), facts), made.url)).toBeNull();
});

it('leaves other errors to those who know them', () => {
  expect(connectionProblem(new Error('division by zero'), made.url)).toBeNull();
  expect(connectionProblem(Object.assign(new Error('no'), { code: '23505' }), made.url)).toBeNull();
});
