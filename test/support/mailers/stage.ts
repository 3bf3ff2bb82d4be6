/** Submission and sender, at work for a brand whose sender address the programs use. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { loadConfig } from '../../../src/config.ts';
import { claimPort } from '../../../src/local/machine/ports.ts';
import { parseKey } from '../../../src/platform/auth/api-key.ts';
import { claimFolder } from '../../../src/platform/housekeeping/orphaned-files.ts';
import { createHomeStore } from '../../../src/platform/storage/local-disk.ts';
import * as sender from '../../../src/roles/sender.ts';
import * as submission from '../../../src/roles/submission.ts';
import { createTestTenant, TEST_SECRET } from '../api.ts';
import { createTestDatabase } from '../database.ts';
import { insertVerifiedDomain } from '../domains.ts';
import { eventually } from '../eventually.ts';
import { startSmtpServer } from '../sending.ts';
import { startDialogue } from '../smtp-dialogue.ts';
import { certificates } from '../submission.ts';
import { MAILER_KEY, mailerContent } from './mailers.ts';
import type { Turn } from './recorder.ts';

/** What Python's `email` reads in a mail. */
export interface MailFacts {
  subject: string;
  texts: Record<string, string[]>;
  /** Name, type, id and hash. */
  files: [string, string, string, string][];
  /** Method, name and text. */
  invitations: [string, string, string][];
  [field: string]: unknown;
}

const FACTS = fileURLToPath(new URL('facts.py', import.meta.url));

/** @param mails by any name */
export async function factsOf(mails: Record<string, string>): Promise<Record<string, MailFacts>> {
  const child = spawn('python3', [FACTS], { stdio: ['pipe', 'pipe', 'inherit'] });
  const given = Object.entries(mails).map(([name, mail]) => [name, Buffer.from(mail).toString('base64')]);
  child.stdin.end(JSON.stringify(Object.fromEntries(given)));
  const [output] = await Promise.all([text(child.stdout), once(child, 'exit')]);
  return JSON.parse(output) as Record<string, MailFacts>;
}

/** The mail that a client gave in a dialogue, and whom for. */
export function submittedIn(turns: readonly Turn[]): { mail: string; recipients: string[] } {
  const lines = turns.flatMap(({ say }) => say);
  const after = turns.findIndex(({ say }) => say.at(-1)?.toLowerCase() === 'data') + 1;
  const data = turns[after]?.say ?? [];
  const bytes = data.slice(0, data.indexOf('.')).map((line) => (line.startsWith('.') ? line.slice(1) : line));
  return {
    mail: Buffer.from(`${bytes.join('\r\n')}\r\n`, 'latin1').toString('utf8'),
    recipients: lines.flatMap((line) => /^rcpt to:\s*<([^>]*)>/i.exec(line)?.[1] ?? []),
  };
}

/** Says what a client said. @throws Error unless each reply has the code that it had */
export async function replay(port: number, turns: readonly Turn[]): Promise<void> {
  const dialogue = await startDialogue(port);
  for (const { say, code } of turns) {
    dialogue.socket.write(Buffer.from(`${say.join('\r\n')}\r\n`, 'latin1'));
    const reply = await dialogue.reply();
    if (!reply.includes(`${code} `)) throw new Error(`expected ${code} to ${say[0]}: ${reply}`);
    if (say[0] === 'STARTTLS') await dialogue.secure();
  }
  dialogue.socket.destroy();
}

export interface MailerStage {
  /** With STARTTLS. */
  port: number;
  /** Waits for the copies of a mail. @returns them by recipient */
  arrived(copies: number): Promise<Record<string, string>>;
  close(): Promise<void>;
}

export async function openMailerStage(): Promise<MailerStage> {
  const test = await createTestDatabase();
  const tenant = await createTestTenant(test.database, 'Shop');
  const { accountId, brandId } = tenant;
  await test.database.pool.query(`update accounts set tier = 'trusted' where id = $1`, [accountId]);
  const domain = mailerContent.from.address.split('@')[1] ?? '';
  await insertVerifiedDomain(test.database, { accountId, brandId }, domain, { keyring: null });
  await test.database.pool.query(
    `insert into send_keys (account_id, brand_id, name, display_prefix, digest) values ($1, $2, 'mailers', $3, $4)`,
    [accountId, brandId, MAILER_KEY.slice(0, 13), parseKey(MAILER_KEY)?.digest],
  );
  const home = await mkdtemp(join(tmpdir(), 'carillon-mailers-'));
  // As a worker does. Senders without the folder of files send no letters.
  await claimFolder(test.database.pool, createHomeStore(home));
  const server = await startSmtpServer();
  const port = await claimPort(0, 'SUBMISSION_PORTS');
  const config = loadConfig({
    DATABASE_URL: test.url,
    APP_SECRET: TEST_SECRET,
    EMAIL_PROVIDER_URL: `smtp://127.0.0.1:${server.port}?tls=off`,
    MAIL_DOMAIN: 'mail.test',
    TEMPORAL_ADDRESS: '127.0.0.1:1',
    CARILLON_HOME: home,
    LOG_LEVEL: 'silent',
    SUBMISSION_PORTS: String(port),
    SUBMISSION_TLS_PORTS: 'none',
    SUBMISSION_TLS_CERT_FILE: certificates.first.cert,
    SUBMISSION_TLS_KEY_FILE: certificates.first.key,
  });
  const roles = await Promise.all([submission.run(config), sender.run(config)]);
  return {
    port,
    async arrived(copies) {
      await eventually(() => {
        if (server.received.length < copies) throw new Error(`${server.received.length} copies have arrived`);
      }, 20_000);
      const mails = server.received.splice(0);
      return Object.fromEntries(mails.map(({ to, raw }) => [to, raw]));
    },
    async close() {
      for (const role of roles) await role.stop();
      await server.stop();
      await test.drop();
      await rm(home, { recursive: true, force: true });
    },
  };
}
