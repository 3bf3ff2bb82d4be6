// The submission role accepts each mail once, whatever becomes of the database and of the process meanwhile.
import { afterAll, afterEach, beforeAll, expect, it } from '@jest/globals';
import { createTestTenant, type TestTenant } from '../support/api.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { insertVerifiedDomain } from '../support/domains.ts';
import { type Program, runProgram, until } from '../support/programs.ts';
import { type SmtpDialogue, startTlsDialogue } from '../support/smtp-dialogue.ts';
import { certificates, logIn, mailOver } from '../support/submission.ts';
import { startTcpGate, type TcpGate } from '../support/tcp-gate.ts';

let test: TestDatabase;
let tenant: TestTenant;
let gate: TcpGate;
let program: Program;

beforeAll(async () => {
  test = await createTestDatabase();
  tenant = await createTestTenant(test.database, 'Acme');
  await insertVerifiedDomain(test.database, tenant, 'example.com');
  const { hostname: host, port } = new URL(test.url);
  gate = await startTcpGate({ host, port: Number(port) });
}, 60_000);
afterEach(() => void program.child.kill('SIGKILL'));
afterAll(async () => {
  await gate.close();
  await test.drop();
});

/** Starts the role, whose database is behind the gate. @returns its port with TLS */
async function start(): Promise<number> {
  const url = new URL(test.url);
  url.host = `127.0.0.1:${gate.port}`;
  program = runProgram('src/main.ts', ['start', 'submission'], {
    DATABASE_URL: url.href,
    TEMPORAL_ADDRESS: '127.0.0.1:1',
    APP_SECRET: 'a secret of the tests that is long enough',
    EMAIL_PROVIDER_URL: 'capture:',
    MAIL_DOMAIN: 'mail.test',
    OPS_PORT: '0',
    SUBMISSION_PORTS: 'none',
    SUBMISSION_TLS_PORTS: '0',
    SUBMISSION_TLS_CERT_FILE: certificates.first.cert,
    SUBMISSION_TLS_KEY_FILE: certificates.first.key,
    LOG_FORMAT: 'json',
  });
  const port = await until(
    () => /"tls_ports":\[(\d+)\]/.exec(program.output())?.[1],
    () => program.output(),
    60_000,
  );
  return Number(port);
}

async function loggedIn(port: number): Promise<SmtpDialogue> {
  const client = await startTlsDialogue(port);
  expect(await logIn(client, tenant.apiKey)).toMatch(/^235 /);
  return client;
}

const mailWith = (id: string, trace = '') =>
  `${trace}From: Ann <ann@example.com>\r\nTo: bob@example.net\r\nSubject: ${id}\r\nMessage-ID: <${id}@app.example>\r\n\r\nHello\r\n`;

const queued = async (subject: string) => {
  const { rows } = await test.database.pool.query<{ id: number }>(
    `select id from messages where subject = $1 and status = 'queued'`,
    [subject],
  );
  return rows.map(({ id }) => id);
};

it('finishes the mail that is arriving when it is asked to stop, and hangs up on idle clients', async () => {
  const port = await start();
  const [busy, idle] = [await loggedIn(port), await loggedIn(port)];
  for (const command of ['MAIL FROM:<ann@example.com>', 'RCPT TO:<bob@example.net>', 'DATA'])
    expect(await busy.say(command)).toMatch(/^[23]5/);
  const mail = mailWith('stopped');
  busy.socket.write(mail.slice(0, 40));
  program.child.kill('SIGTERM');
  expect(await idle.reply()).toMatch(/^421 4\.3\.2 /);
  await expect(startTlsDialogue(port)).rejects.toThrow();
  expect(await busy.say(`${mail.slice(40)}.`)).toMatch(/^250 2\.0\.0 queued as \d+$/);
  expect(await program.ended).toBe(0);
  expect(await queued('stopped')).toHaveLength(1);
}, 120_000);

it('asks to try again while the database is away, and accepts the repetition once', async () => {
  const port = await start();
  const client = await loggedIn(port);
  for (const command of ['MAIL FROM:<ann@example.com>', 'RCPT TO:<bob@example.net>', 'DATA'])
    expect(await client.say(command)).toMatch(/^[23]5/);
  gate.shut();
  expect(await client.say(`${mailWith('repeated')}.`)).toMatch(/^451 4\.3\.0 /);
  gate.open();
  // Another server has it meanwhile, and tries more than once.
  const again = 'Received: from a.example by b.example; Fri, 1 Jan 2027 10:00:00 +0000\r\n';
  const data = mailWith('repeated', again);
  const envelope = { from: 'ann@example.com', to: ['bob@example.net'], data };
  const first = await until(
    async () => {
      const reply = await mailOver(client, envelope);
      return reply.startsWith('250 ') && reply;
    },
    () => program.output(),
    60_000,
  );
  const [id] = await queued('repeated');
  expect(first).toBe(`250 2.0.0 queued as ${id}`);
  expect(await mailOver(client, envelope)).toBe(`250 2.0.0 queued as ${id} (again)`);
  expect(await queued('repeated')).toEqual([id]);
  expect(program.output()).not.toContain('bob@example.net');
  expect(program.output()).not.toContain(tenant.apiKey);
}, 120_000);
