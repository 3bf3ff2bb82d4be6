import { readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pino from 'pino';
import {
  startSubmissionListener,
  type SubmissionListener,
  type SubmissionListenerOptions,
} from '../../src/delivery/wire/submission/listener.ts';
import type { SubmittedMail } from '../../src/delivery/wire/submission/port.ts';
import { createFindKey, type FindKey } from '../../src/platform/auth/find-key.ts';
import { createKeyLookup } from '../../src/platform/auth/key-lookup.ts';
import type { Queryable } from '../../src/platform/db/queryable.ts';
import { createHomeStore } from '../../src/platform/storage/local-disk.ts';
import type { SmtpDialogue } from './smtp-dialogue.ts';

const tlsFile = (name: string) => new URL(`./smtp/tls/${name}`, import.meta.url);
const read = (name: string) => readFileSync(tlsFile(name), 'utf8');

/** Paths of two certificates with their keys. */
export const certificates = {
  first: { key: tlsFile('server.key').pathname, cert: tlsFile('server.pem').pathname },
  second: { key: tlsFile('other-name.key').pathname, cert: tlsFile('other-name.pem').pathname },
};

/** A mail as it reached the port {@link SubmissionListenerOptions.submit}. */
export interface TakenMail extends Omit<SubmittedMail, 'recipients' | 'mail'> {
  recipients: string[];
  content: string;
  digest: string;
  inMemory: boolean;
  facts: { size: number; eightBit: boolean; longLine: number | null };
}

export interface TestSubmission extends SubmissionListener {
  /** Of STARTTLS, and of TLS. */
  port: number;
  tlsPort: number;
  /** What was accepted, in order. */
  taken: TakenMail[];
  /** Folder of the mails that are being read. */
  home: string;
}

async function takenFrom({ recipients, mail, ...rest }: SubmittedMail): Promise<TakenMail> {
  const pieces: Buffer[] = [];
  for await (const piece of mail.read()) pieces.push(piece);
  const { size, eightBit, longLine } = mail;
  return {
    ...rest,
    recipients: recipients.map(({ address }) => address),
    content: Buffer.concat(pieces).toString('latin1'),
    digest: mail.digest.toString('hex'),
    inMemory: mail.bytes !== null,
    facts: { size, eightBit, longLine },
  };
}

/** Finds the callers of keys in a database. */
export const findKeyIn = (db: Queryable): FindKey =>
  createFindKey({ keys: createKeyLookup(db), keyUses: { used: () => undefined } });

/**
 * Starts the listener of the role `submission` in this process, at mail.test. It accepts every mail, unless `submit`
 * throws.
 */
export async function startTestSubmission(
  db: Queryable,
  options: Partial<SubmissionListenerOptions> = {},
): Promise<TestSubmission> {
  const home = await mkdtemp(join(tmpdir(), 'submission-'));
  const taken: TakenMail[] = [];
  const listener = await startSubmissionListener({
    host: '127.0.0.1',
    ports: [0],
    tlsPorts: options.tls === null ? [] : [0],
    tls: { key: read('server.key'), cert: read('server.pem') },
    trustedProxies: [],
    clearLogins: false,
    mailDomain: 'mail.test',
    findKey: findKeyIn(db),
    limits: { request: () => undefined, burstOf: (perSecond) => 2 * perSecond },
    ratePerKey: 100,
    store: createHomeStore(home),
    maxBytes: 25 * 1024 * 1024,
    connections: 500,
    connectionsPerNetwork: 50,
    graceMs: 2_000,
    log: pino({ level: 'silent' }),
    ...options,
    async submit(mail) {
      const answer = await options.submit?.(mail);
      taken.push(await takenFrom(mail));
      return answer ?? { reply: `2.0.0 queued as ${taken.length}` };
    },
  });
  return {
    ...listener,
    port: listener.ports[0] ?? 0,
    tlsPort: listener.tlsPorts[0] ?? 0,
    taken,
    home,
    async stop() {
      await listener.stop();
      await rm(home, { recursive: true, force: true });
    },
  };
}

/** The argument of AUTH PLAIN. */
export const plainLogin = (key: string, user = 'carillon') =>
  Buffer.from(`\0${user}\0${key}`).toString('base64');

/** Greets and logs in. @returns the reply to the login */
export async function logIn(client: SmtpDialogue, key: string): Promise<string> {
  await client.say('EHLO app.example.com');
  return client.say(`AUTH PLAIN ${plainLogin(key)}`);
}

/** A short mail, without its final dot. */
export const SHORT_MAIL = 'From: ann@example.com\r\nSubject: Hello\r\n\r\nHow are you?\r\n';

/** Sends a mail over a connection that has logged in. @returns the reply that decides */
export async function mailOver(
  client: SmtpDialogue,
  { from = 'ann@example.com', to = ['bob@example.net'], data = SHORT_MAIL } = {},
): Promise<string> {
  const accepted = await client.say(`MAIL FROM:<${from}>`);
  if (!accepted.startsWith('250')) return accepted;
  for (const address of to) await client.say(`RCPT TO:<${address}>`);
  const begun = await client.say('DATA');
  return begun.startsWith('354') ? client.say(`${data}.`) : begun;
}
