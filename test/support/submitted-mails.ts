import { createHash } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from '@jest/globals';
import pino, { type Logger } from 'pino';
import { createSendingDomains } from '../../src/delivery/content/dkim/domain-signers.ts';
import { createContentEngine } from '../../src/delivery/content/templates/engine.ts';
import { createEmailChannel } from '../../src/delivery/sender/email/hand-over.ts';
import { parseEmailAddress } from '../../src/delivery/terms/addresses/email.ts';
import { createSmtpProvider } from '../../src/delivery/wire/providers/smtp/hand-over.ts';
import type { SpooledMail } from '../../src/delivery/wire/submission/port.ts';
import { openSubmission } from '../../src/features/submission/service.ts';
import type { Tenant } from '../../src/platform/auth/tenant.ts';
import { createWaker } from '../../src/platform/db/wake.ts';
import { createKeyring } from '../../src/platform/secrets/keyring.ts';
import { newBlobKey } from '../../src/platform/storage/blob-store.ts';
import { createHomeStore } from '../../src/platform/storage/local-disk.ts';
import { startTestApi, TEST_SECRET, type TestApi } from './api.ts';
import { insertVerifiedDomain } from './domains.ts';
import { eventually } from './eventually.ts';
import {
  emailSettings,
  type ReceivedMail,
  startSmtpServer,
  startTestSender,
  type TestSmtpServer,
} from './sending.ts';

export interface TestSubmission {
  api: TestApi;
  home: string;
  /** What has arrived: one mail for each recipient. */
  server: TestSmtpServer;
  /**
   * Submits a mail, from the brand of the API, with the verified domain `own.test`.
   * @param raw its lines may end with LF; one character for each byte
   * @returns the reply
   */
  submit(
    raw: string | Buffer,
    recipients: readonly string[],
    options?: { actor?: Tenant['actor']; spooled?: boolean },
  ): Promise<string>;
  /** The same, and what the recipients got, in their order. */
  deliver(raw: string | Buffer, recipients: readonly string[]): Promise<string[]>;
  close(): Promise<void>;
}

const TRACE = /^(?:received|return-path|delivered-to|x-original-to):.*(?:\r\n[ \t].*)*\r\n/gim;

/** The bytes of a mail as the port for submission hands them on. */
function inMemory(bytes: Buffer): SpooledMail {
  const digest = createHash('sha256').update(bytes.toString('latin1').replace(TRACE, ''), 'latin1').digest();
  const eightBit = bytes.some((byte) => byte > 0x7f);
  async function* read() {
    yield bytes;
  }
  return { size: bytes.length, bytes, blobKey: null, read, digest, eightBit, longLine: null };
}

/** Starts what accepts submitted mail, an API over the same database, and a sender with a server. */
export async function startTestSubmission(log: Logger = pino({ level: 'silent' })): Promise<TestSubmission> {
  const home = await mkdtemp(join(tmpdir(), 'carillon-submission-'));
  const api = await startTestApi({
    env: { CARILLON_HOME: home, MAIL_DOMAIN: 'mail.test', EMAIL_PROVIDER_URL: 'smtp://127.0.0.1:2525' },
  });
  const keyring = createKeyring(TEST_SECRET);
  await insertVerifiedDomain(api.database, api, 'own.test', { keyring });
  const url = api.config.DATABASE_URL ?? '';
  const store = createHomeStore(home);
  const waker = createWaker({ url });
  const contents = createContentEngine({ threads: 1 });
  const submission = openSubmission({
    ...{ config: api.config, database: api.database, keyring, waker, contents, log },
  });
  const server = await startSmtpServer();
  const target = { host: '127.0.0.1', port: server.port, security: 'none', clientName: 'mail.test' } as const;
  const domains = createSendingDomains(api.database.pool, keyring);
  const sender = await startTestSender({
    ...{ url, port: server.port },
    channel: createEmailChannel(createSmtpProvider({ target, connections: 2 }), {
      ...emailSettings({ domains }),
      referenceKey: keyring.subkey('reference').key,
      letterFiles: store,
    }),
  });

  const submit: TestSubmission['submit'] = async (raw, recipients, options = {}) => {
    const { accountId, brandId, apiKeyId } = api;
    const actor = options.actor ?? { kind: 'api_key', id: apiKeyId, test: false };
    const bytes = typeof raw === 'string' ? Buffer.from(raw.replace(/\r?\n/g, '\r\n'), 'latin1') : raw;
    const mail = inMemory(bytes);
    const blobKey = options.spooled === true ? newBlobKey('submissions', accountId) : null;
    if (blobKey !== null) await store.put(blobKey, bytes);
    const addresses = recipients.map((text) => {
      const parsed = parseEmailAddress(text);
      if ('error' in parsed) throw new Error(`${text} ${parsed.error}`);
      return parsed;
    });
    const { reply } = await submission.submit({
      tenant: { accountId, brandId, role: 'admin', actor },
      from: 'bounces@own.test',
      recipients: addresses,
      smtpUtf8: false,
      mail: blobKey === null ? mail : { ...mail, bytes: null, blobKey },
    });
    if (blobKey !== null) await store.remove(blobKey);
    return reply;
  };

  return {
    ...{ api, home, server, submit },
    async deliver(raw, recipients) {
      const lead = Number(/queued as (\d+)/.exec(await submit(raw, recipients))?.[1]);
      const isOf = (mail: ReceivedMail) => {
        const id = Number(/^X-Carillon-Tags: .*\bmessage_id=(\d+)/m.exec(mail.raw)?.[1]);
        return id >= lead && id < lead + recipients.length;
      };
      const mails = () => server.received.filter(isOf);
      await eventually(() => expect(mails()).toHaveLength(recipients.length));
      return recipients.map((address) => mails().find(({ to }) => to === address)?.raw ?? '');
    },
    async close() {
      await sender.stop();
      await server.stop();
      await submission.close();
      await contents.close();
      await waker.close();
      await api.close();
      await rm(home, { recursive: true, force: true });
    },
  };
}
