// DKIM signatures are valid and repeatable, survive changes of white space, and fail if the content is changed.
import { createPublicKey } from 'node:crypto';
import { beforeAll, describe, expect, it } from '@jest/globals';
import {
  createDkimSigner,
  dkimRecord,
  generateDkimKey,
  type DkimKey,
} from '../../../../src/delivery/content/dkim/sign.ts';
import {
  buildMessage,
  prepareContent,
  type EmailContent,
} from '../../../../src/delivery/content/mime/message.ts';
import { address, date, email, recipient, split, verify } from '../mime/wire.ts';

let rsa: DkimKey;
let ed25519: DkimKey;

beforeAll(async () => {
  rsa = await generateDkimKey({ domain: 'example.com', selector: 'r1', algorithm: 'rsa' });
  ed25519 = await generateDkimKey({ domain: 'example.com', selector: 'e1', algorithm: 'ed25519' });
});

const bothKeys = (): DkimKey[] => [rsa, ed25519];

function signed(content: EmailContent, keys = bothKeys(), to = recipient.to) {
  return Promise.resolve(
    buildMessage(prepareContent(content), { ...recipient, to }, keys.map(createDkimSigner)),
  );
}

async function statuses(data: Buffer | string): Promise<string[]> {
  return (await verify(Buffer.from(data), bothKeys())).map(({ status }) => status.result);
}

describe('a signature', () => {
  it.each(['rsa', 'ed25519'] as const)('by %s is valid and covers the expected fields', async (algorithm) => {
    const key = algorithm === 'rsa' ? rsa : ed25519;
    const { data } = await signed(email({ html: '<p>Hello</p>' }), [key]);
    const [result, ...more] = await verify(data, [key]);
    expect(more).toEqual([]);
    expect(result).toMatchObject({
      status: { result: 'pass', aligned: 'example.com' },
      signingDomain: 'example.com',
      selector: key.selector,
      algo: `${algorithm}-sha256`,
      format: 'relaxed/relaxed',
      signTime: '2026-03-01T09:05:07.000Z',
    });
  });

  it('is valid next to another one', async () => {
    expect(await statuses((await signed(email())).data)).toEqual(['pass', 'pass']);
  });

  it.each([
    ['no text at all', { text: '' }],
    ['empty lines at the end', { text: 'x\n\n\n\n' }],
    ['nothing but empty lines', { text: '\n\n\n' }],
    ['white space runs and tabs', { text: 'a  b\t\tc \n \n\t\n  d' }],
    ['a subject in many words', { subject: 'Größe  漢字 '.repeat(20) }],
    [
      'lists and replies',
      {
        replyTo: address('Jörg <r@example.com>'),
        headers: {
          'list-unsubscribe': '<https://e.example/u>',
          'List-Unsubscribe-Post': 'List-Unsubscribe=One-Click',
          'X-Other': 'x',
        },
        feedbackId: 'a:b',
      },
    ],
  ])('is valid with %s', async (_name, changes) => {
    expect(await statuses((await signed(email(changes))).data)).toEqual(['pass', 'pass']);
  });

  it('is valid on a message with raw UTF-8 in its addresses', async () => {
    const content = email({ replyTo: address('用户@example.com') });
    expect(
      await statuses((await signed(content, bothKeys(), address('Jörg <jörg@example.org>'))).data),
    ).toEqual(['pass', 'pass']);
  });

  it('lists the signed fields, and once more those that relays must not add', async () => {
    const content = email({
      feedbackId: 'f',
      headers: { 'List-Unsubscribe': '<https://e.example/u>', 'List-Unsubscribe-Post': 'x', 'X-Other': 'x' },
    });
    for (const [replyTo, replies] of [
      [null, 1],
      [address('r@example.com'), 2],
    ] as const) {
      const { head } = split(await signed({ ...content, replyTo }, [ed25519]));
      const names = (/h=([^;]+);/.exec(head)?.[1] ?? '').toLowerCase().split(/[:\s]+/);
      const count = (name: string): number => names.filter((other) => other === name).length;
      for (const name of ['from', 'to', 'subject', 'date']) expect([name, count(name)]).toEqual([name, 2]);
      for (const name of [
        'message-id',
        'mime-version',
        'content-type',
        'content-transfer-encoding',
        'list-unsubscribe',
        'list-unsubscribe-post',
        'feedback-id',
      ]) {
        expect([name, count(name)]).toEqual([name, 1]);
      }
      expect(count('reply-to')).toBe(replies);
      expect(count('x-other')).toBe(0);
      expect(head).not.toMatch(/\bl=/);
    }
  });

  it.each([
    ['a changed body', (text: string) => text.replace('Hello\r\n', 'Hullo\r\n')],
    ['a longer body', (text: string) => `${text}more\r\n`],
    ['a changed subject', (text: string) => text.replace('Subject: Hello', 'Subject: Hullo')],
    ['a changed Message-ID', (text: string) => text.replace('<42.7', '<43.7')],
    ['a changed content type', (text: string) => text.replace('text/plain', 'text/html')],
    ['another From', (text: string) => `From: evil@example.com\r\n${text}`],
    ['another To', (text: string) => `To: evil@example.com\r\n${text}`],
    ['another Subject', (text: string) => `Subject: evil\r\n${text}`],
    ['another Date', (text: string) => `Date: Mon, 02 Mar 2026 09:05:07 +0000\r\n${text}`],
    ['an added Reply-To', (text: string) => `Reply-To: evil@example.com\r\n${text}`],
  ])('does not survive %s', async (_name, change) => {
    const text = (await signed(email())).data.toString();
    expect(change(text)).not.toBe(text);
    expect(await statuses(change(text))).not.toContain('pass');
  });

  it('survives changes of white space by relays', async () => {
    const text = (await signed(email({ text: 'a b\nc' }))).data.toString();
    const relayed = text.replace('Subject: ', 'SUBJECT:  ').replace('a b\r\n', 'a \t b  \r\n') + '\r\n\r\n';
    expect(await statuses(relayed)).toEqual(['pass', 'pass']);
  });

  it('is the same each time it is made', async () => {
    const first = await signed(email());
    expect((await signed(email())).data.equals(first.data)).toBe(true);
    expect(split(first).head).toContain(`t=${Math.floor(date.getTime() / 1000)};`);
  });

  it('keeps its lines within 78 characters', async () => {
    const { head } = split(await signed(email()));
    expect(Math.max(...head.split('\r\n').map((line) => line.length))).toBeLessThanOrEqual(78);
  });

  it('with RSA is not computed on the event loop', async () => {
    const message = signed(email(), [rsa]);
    let settled = false;
    void message.then(() => (settled = true));
    // If it were computed on the event loop, the message would settle within a few microtasks.
    for (let turn = 0; turn < 50; turn += 1) await Promise.resolve();
    expect(settled).toBe(false);
    await message;
  });
});

describe('a DKIM key', () => {
  it('publishes its own public half', () => {
    expect(dkimRecord(rsa)).toEqual({
      name: 'r1._domainkey.example.com',
      type: 'TXT',
      value: `v=DKIM1; k=rsa; p=${rsa.publicKeyBase64}`,
    });
    expect(dkimRecord(ed25519).value).toMatch(/^v=DKIM1; k=ed25519; p=[A-Za-z0-9+/]{43}=$/);
    expect(createPublicKey(rsa.privateKeyPem).asymmetricKeyDetails?.modulusLength).toBe(2048);
    const spki = createPublicKey(rsa.privateKeyPem).export({ type: 'spki', format: 'der' });
    expect(rsa.publicKeyBase64).toBe(spki.toString('base64'));
  });

  it.each([
    { domain: 'example.com; x=y' },
    { domain: 'example.com\r\nBcc: a@b.c' },
    { selector: '' },
    { selector: 's;' },
    { algorithm: 'ed25519' as const },
  ])('with %j cannot sign', (changes) => {
    expect(() => createDkimSigner({ ...rsa, ...changes })).toThrow(TypeError);
  });
});
