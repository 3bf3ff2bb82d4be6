// By SMTP, an email carries Carillon's own tags in a header, and none of the client's.
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import type { OutgoingEmail } from '../../../../../src/delivery/wire/adapters/port.ts';
import { createSmtpProvider } from '../../../../../src/delivery/wire/providers/smtp/hand-over.ts';
import { outgoingEmail } from '../../../../support/outgoing.ts';
import { startSmtpServer, type TestSmtpServer } from '../../../../support/sending.ts';

const DATA = 'DKIM-Signature: v=1\r\nSubject: x\r\n\r\nx\r\n';

let server: TestSmtpServer;
beforeAll(async () => {
  server = await startSmtpServer();
});
afterAll(() => server.stop());

async function handOver(email: OutgoingEmail): Promise<string | undefined> {
  const target = { host: '127.0.0.1', port: server.port, security: 'none', clientName: 'mail.test' } as const;
  const provider = createSmtpProvider({ target, connections: 1 });
  const [outcome] = await provider.handOver([email]);
  await provider.close();
  expect(outcome?.kind).toBe('accepted');
  return server.received.pop()?.raw;
}

const tags = { order: '1042', account_id: '3', brand_id: '5', message_id: '42' };
const header = 'X-Carillon-Tags: account_id=3; brand_id=5; message_id=42\r\n';

it('precedes the signed message, whether it is given as bytes or as text', async () => {
  const email = outgoingEmail({ data: DATA, tags });
  expect(await handOver(email)).toBe(header + DATA);
  expect(await handOver({ ...email, built: { ...email.built, text: DATA } })).toBe(header + DATA);
});

it('leaves the bytes of a text unmade, because they cost more than the rest of the hand-over', async () => {
  const email = outgoingEmail({ data: DATA, tags });
  const built = { ...email.built, text: DATA };
  Object.defineProperty(built, 'data', {
    get() {
      throw new Error('the bytes are made');
    },
  });
  expect(await handOver({ ...email, built })).toBe(header + DATA);
});

it('adds the campaign of a message', async () => {
  const raw = await handOver(outgoingEmail({ data: DATA, tags: { ...tags, campaign_id: '7' } }));
  expect(raw).toMatch(/^X-Carillon-Tags: .*; message_id=42; campaign_id=7\r\n/);
});
