// A relay is asked for delivery status notifications only if it offers them and the settings allow it.
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { SMTPServerSession } from 'smtp-server';
import {
  createSmtpProvider,
  smtpTargetFromUrl,
} from '../../../../../src/delivery/wire/providers/smtp/hand-over.ts';
import { outgoingEmail } from '../../../../support/outgoing.ts';
import { startSmtpServer, type TestSmtpServer } from '../../../../support/sending.ts';

let relay: TestSmtpServer;
const envelopes: SMTPServerSession['envelope'][] = [];

async function start(hideDSN: boolean): Promise<void> {
  relay = await startSmtpServer({
    hideDSN,
    onData(stream, session, done) {
      envelopes.push(structuredClone(session.envelope));
      stream.resume().on('end', () => done());
    },
  });
}

async function handOver(query: string): Promise<void> {
  const target = smtpTargetFromUrl(new URL(`smtp://127.0.0.1:${relay.port}?tls=off${query}`), 'mail.test');
  const provider = createSmtpProvider({ target, connections: 1 });
  const batch = ['ann', 'ben'].map((name) =>
    outgoingEmail({ to: `${name}@example.com`, reference: `1-2-${name}_-AAAAAAAAAAAAAAAAA` }),
  );
  const outcomes = await provider.handOver(batch);
  await provider.close();
  expect(outcomes.map(({ kind }) => kind)).toEqual(['accepted', 'accepted']);
}

beforeEach(() => void envelopes.splice(0));
afterEach(() => relay.stop());

describe('a relay that offers delivery status notifications', () => {
  beforeEach(() => start(false));

  it.each([
    ['', ['FAILURE']],
    ['&dsn=failure', ['FAILURE']],
    ['&dsn=success', ['SUCCESS', 'FAILURE']],
  ])(
    'with %j is asked for reports of %j that return only the reference and the header',
    async (query, notify) => {
      await handOver(query);
      expect(envelopes.map(({ dsn }) => dsn)).toEqual([
        { ret: 'HDRS', envid: '1-2-ann_-AAAAAAAAAAAAAAAAA' },
        { ret: 'HDRS', envid: '1-2-ben_-AAAAAAAAAAAAAAAAA' },
      ]);
      expect(envelopes.map(({ rcptTo }) => rcptTo[0]?.dsn?.notify)).toEqual([notify, notify]);
    },
  );

  it('is asked for nothing with dsn=off', async () => {
    await handOver('&dsn=off');
    expect(envelopes.map(({ dsn }) => dsn)).toEqual([
      { ret: null, envid: null },
      { ret: null, envid: null },
    ]);
  });
});

describe('a relay that does not offer them', () => {
  beforeEach(() => start(true));

  it('gets no parameter that it does not support', async () => {
    await handOver('&dsn=success');
    expect(envelopes).toMatchObject([{ mailFrom: { args: false } }, { mailFrom: { args: false } }]);
    expect(envelopes.map(({ rcptTo }) => rcptTo[0]?.args)).toEqual([false, false]);
  });
});
