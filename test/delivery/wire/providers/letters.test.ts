// Each provider hands over the files and addresses of a letter as its service takes them, to the copy's recipient only.
import { hash, randomBytes } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { EmailProvider } from '../../../../src/delivery/wire/adapters/port.ts';
import { providerFacts } from '../../../../src/delivery/terms/provider-facts.ts';
import { createCaptureProvider } from '../../../../src/delivery/wire/providers/capture/provider.ts';
import { providerKind, providers } from '../../../../src/delivery/wire/providers/index.ts';
import { createSmtpProvider } from '../../../../src/delivery/wire/providers/smtp/hand-over.ts';
import { createTestDatabase, type TestDatabase } from '../../../support/database.ts';
import { type GivenFile, type GivenLetter, outgoingLetter } from '../../../support/outgoing.ts';
import { answerJson, type ProviderApi, startProviderApi } from '../../../support/provider-api.ts';
import {
  readPostmarkMail,
  readResendMail,
  readSendgridMail,
  type SentFile,
  type SentMail,
} from '../../../support/provider-mails.ts';
import { startSmtpServer, type TestSmtpServer } from '../../../support/sending.ts';

let made: TestDatabase;
let api: ProviderApi;
let server: TestSmtpServer;
beforeAll(async () => {
  [made, api, server] = await Promise.all([createTestDatabase(), startProviderApi(), startSmtpServer()]);
});
afterAll(() => Promise.all([made.drop(), api.close(), server.stop()]));
beforeEach(async () => {
  api.requests = [];
  server.received.length = 0;
  await made.database.pool.query('truncate captured_messages');
});

const settings: Record<string, Record<string, string>> = {
  ses: {
    region: 'eu-central-1',
    access_key_id: 'AKIAIOSFODNN7EXAMPLE',
    secret_access_key: 'wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY',
  },
  mailgun: { api_key: 'key-0123456789abcdef', webhook_signing_key: 'signing-0123456789abcdef' },
  sendgrid: { api_key: 'SG.0123456789.abcdefghijklmnopqrstuvwxyz' },
  postmark: { server_token: '2b9c7bd0-0000-4000-8000-server' },
  resend: {
    api_key: 're_123456789',
    webhook_secret: `whsec_${Buffer.from('0123456789abcdef').toString('base64')}`,
    requests_per_second: '1000',
  },
};

/** What each service answers to a message that it accepts. */
const acceptances: Record<string, [status: number, body: unknown]> = {
  ses: [200, { MessageId: 'a' }],
  mailgun: [200, { id: '<a@b>' }],
  sendgrid: [202, {}],
  postmark: [200, [{ ErrorCode: 0, MessageID: 'a' }]],
  resend: [200, { id: 'a' }],
};

function create(name: string): EmailProvider {
  if (name === 'capture') return createCaptureProvider({ pool: made.database.pool });
  if (name === 'smtp') {
    const target = {
      host: '127.0.0.1',
      port: server.port,
      security: 'none',
      clientName: 'mail.test',
    } as const;
    return createSmtpProvider({ target, connections: 1 });
  }
  const [status, body] = acceptances[name] ?? [500, null];
  api.answer = answerJson(status, body);
  const kind = providerKind(name);
  const parsed = kind?.settings.parse({ ...settings[name], base_url: api.baseUrl });
  return kind?.create(parsed, { ...api.deps, callbackUrl: null, id: 1 }) as EmailProvider;
}

async function handOver(name: string, given: GivenLetter) {
  const letter = outgoingLetter(given);
  const provider = create(name);
  const [outcome] = await provider.handOver([letter]);
  await provider.close();
  return { outcome, letter };
}

/** A complete message as a service got it. */
interface Raw {
  to: string;
  message: string;
}

/** How the services that take complete messages got the last one. */
const rawReaders: Record<string, () => Promise<Raw> | Raw> = {
  async capture() {
    const { rows } = await made.database.pool.query<{ to: string; message: Buffer }>(
      'select to_address as "to", raw as message from captured_messages',
    );
    return { to: rows[0]?.to ?? '', message: rows[0]?.message.toString('latin1') ?? '' };
  },
  smtp() {
    const { to = '', raw = '' } = server.received[0] ?? {};
    return { to, message: raw };
  },
  ses() {
    const body = JSON.parse(api.requests[0]?.body ?? '') as {
      Destination: { ToAddresses: string[] };
      Content: { Raw: { Data: string } };
    };
    const message = Buffer.from(body.Content.Raw.Data, 'base64').toString('latin1');
    return { to: body.Destination.ToAddresses.join(), message };
  },
  async mailgun() {
    const [request] = api.requests;
    const headers = { 'content-type': request?.headers['content-type'] as string };
    const form = await new Response(request?.body ?? '', { headers }).formData();
    return { to: form.getAll('to').join(), message: await (form.get('message') as File).text() };
  },
};

/** How the services that take the parts of a message got the last one. */
const partReaders: Record<string, (body: string) => SentMail> = {
  sendgrid: readSendgridMail,
  postmark: readPostmarkMail,
  resend: readResendMail,
};

const calendar = 'BEGIN:VCALENDAR\r\nMETHOD:REQUEST\r\nSUMMARY:Grüße\r\nEND:VCALENDAR\r\n';
const png = Buffer.from('89504e470d0a1a0a0000', 'hex');

const scripts = ['Café crème.txt', 'Καλημέρα.txt', 'שלום.txt', '你好；世界.txt', 'नमस्ते 🎉.txt'];

const letters: Record<string, GivenLetter> = {
  'a text file': {
    text: 'Hello',
    files: [{ filename: 'a;b,c.txt', contentType: 'text/plain; charset=utf-8', content: 'Hi' }],
  },
  'an inline image': {
    html: '<img src="cid:logo@acme">',
    files: [
      {
        filename: 'logo.png',
        contentType: 'image/png',
        contentId: 'logo@acme',
        disposition: 'inline',
        content: png,
      },
    ],
  },
  'a PDF': {
    replyTo: ['"Help" <help@example.com>', 'sales@example.com'],
    files: [{ filename: 'Invoice.pdf', contentType: 'application/pdf', content: randomBytes(1_500_001) }],
  },
  'an invitation': {
    html: '<p>Come</p>',
    text: 'Come',
    files: [
      {
        filename: 'invite.ics',
        contentType: 'text/calendar; charset=utf-8; method=request',
        content: calendar,
      },
      { filename: 'plan.ics', contentType: 'text/calendar', content: calendar },
    ],
  },
  'twenty files': {
    files: Array.from({ length: 20 }, (_, n) => ({ filename: `${n}.bin`, content: randomBytes(n + 1) })),
  },
  'names in five scripts': {
    text: scripts.join('\n'),
    files: scripts.map((filename) => ({ filename, contentType: 'text/plain', content: filename })),
  },
};

const invitationType = 'text/calendar; charset=utf-8; method=REQUEST';

/** How a service gets a file, unless it gets it otherwise. */
function expectedFile(file: GivenFile): SentFile {
  const { filename, contentType = 'application/octet-stream', contentId = null, disposition, content } = file;
  return {
    filename,
    type: contentType.includes('method=') ? invitationType : contentType,
    content: Buffer.from(content).toString('base64'),
    inline: disposition === 'inline' ? contentId : null,
  };
}

function expectedMail({ html = null, text = 'x', replyTo = [], files = [] }: GivenLetter): SentMail {
  return { to: ['reader@example.com'], replyTo, html, text, files: files.map(expectedFile), others: [] };
}

/** SendGrid takes no names of addresses apart, no parameters of types, and an invitation as a part of the body. */
function expectedOfSendgrid(mail: SentMail): SentMail {
  const isInvitation = ({ type }: SentFile) => type === invitationType;
  return {
    ...mail,
    replyTo: mail.replyTo.map((text) => text.replace(/.*<(.*)>/, '$1')),
    files: mail.files
      .filter((file) => !isInvitation(file))
      .map((file) => ({
        ...file,
        type: file.type.replace(/;.*/, ''),
        filename: file.filename.replace(/[;,]/g, '_'),
      })),
    others: mail.files.some(isInvitation) ? [{ type: 'text/calendar; method=REQUEST', value: calendar }] : [],
  };
}

/** Shortens contents, because Jest would print megabytes of a difference. */
const shortened = (mail: SentMail): SentMail => ({
  ...mail,
  files: mail.files.map((file) => ({ ...file, content: hash('sha256', file.content) })),
});

describe('a letter', () => {
  const rows = (names: string[]) =>
    names.flatMap((name) => Object.entries(letters).map(([what, given]) => [name, what, given] as const));

  it.each(rows(Object.keys(rawReaders)))(
    'through %s with %s is the complete message',
    async (name, _what, given) => {
      const { outcome, letter } = await handOver(name, given);
      expect(outcome).toMatchObject({ kind: 'accepted' });
      const raw = await rawReaders[name]?.();
      expect(raw?.to).toBe('reader@example.com');
      // Not compared by Jest, which would print megabytes.
      expect(raw?.message === letter.bytes.toString('latin1')).toBe(true);
    },
  );

  it.each(rows(Object.keys(partReaders)))('through %s with %s is its parts', async (name, _what, given) => {
    const { outcome } = await handOver(name, given);
    expect(outcome).toMatchObject({ kind: 'accepted' });
    const sent = partReaders[name]?.(api.requests[0]?.body ?? '') as SentMail;
    const expected = expectedMail(given);
    expect(shortened(sent)).toEqual(shortened(name === 'sendgrid' ? expectedOfSendgrid(expected) : expected));
  });

  const several = { to: ['reader@example.com', 'Ada <ada@example.com>'], cc: ['bob@example.com'] };

  it.each(Object.entries(providerFacts))(
    'to several through %s goes to the one of the copy, or is refused',
    async (name, facts) => {
      const { outcome } = await handOver(name, several);
      if (facts.ccIsEnvelope) {
        const response = expect.stringContaining('cannot send one letter to several recipients');
        expect(outcome).toEqual({ kind: 'refused', code: 'rejected', response });
        expect(api.requests).toEqual([]);
        return;
      }
      expect(outcome).toMatchObject({ kind: 'accepted' });
      expect((await rawReaders[name]?.())?.to).toBe('reader@example.com');
    },
  );

  it.each(Object.keys(providerFacts))('through %s is not sent if a file cannot be read', async (name) => {
    const files = [{ filename: 'a.bin', content: randomBytes(200_000) }];
    const { outcome } = await handOver(name, { files, unreadable: true });
    expect(outcome).toEqual({ kind: 'lost', reason: 'the message could not be read' });
    expect(api.requests).toEqual([]);
    expect(server.received).toEqual([]);
  });

  it.each([
    [
      'ses',
      400,
      { __type: 'BadRequestException', message: 'Message length is more than 41943040 bytes long' },
    ],
    ['ses', 400, { __type: 'MessageRejected', message: "Illegal filename 'a.exe'." }],
    ['ses', 413, {}],
    ['mailgun', 400, { message: 'message is too large' }],
    ['mailgun', 413, { message: 'Request Entity Too Large' }],
    [
      'sendgrid',
      400,
      { errors: [{ field: 'attachments.0.type', message: "The attachment type cannot contain ';'" }] },
    ],
    [
      'sendgrid',
      413,
      { errors: [{ field: null, message: 'The JSON payload you have included is too large.' }] },
    ],
    ['postmark', 422, { ErrorCode: 300, Message: "Attachment 'a.vbs' has a forbidden file type." }],
    ['postmark', 413, { ErrorCode: 0, Message: 'Payload Too Large' }],
    ['postmark', 413, 'no JSON'],
    [
      'resend',
      422,
      { name: 'invalid_attachment', message: 'Attachment must have either a `content` or `path`.' },
    ],
    [
      'resend',
      422,
      { name: 'validation_error', message: 'The attachments exceed the maximum size of 40MB.' },
    ],
    ['resend', 413, {}],
  ])('that %s refuses because of its files, with %i %j, is content_rejected', async (name, status, body) => {
    const provider = create(name);
    api.answer = answerJson(status, body);
    const [outcome] = await provider.handOver([
      outgoingLetter({ files: [{ filename: 'a.bin', content: 'x' }] }),
    ]);
    expect(outcome).toMatchObject({ kind: 'refused', code: 'content_rejected' });
  });
});

it('has facts about each provider of emails, and no others', () => {
  const emailProviders = providers.filter(({ channel }) => channel === 'email').map(({ name }) => name);
  expect(Object.keys(providerFacts).toSorted()).toEqual(emailProviders.toSorted());
});

it('leaves letters out of the batches of Postmark', async () => {
  const [one, two] = [
    outgoingLetter({ recipient: 'a@example.com' }),
    outgoingLetter({ recipient: 'b@example.com' }),
  ];
  const provider = create('postmark');
  expect(await provider.handOver([one, two])).toMatchObject([{ kind: 'accepted' }, { kind: 'accepted' }]);
  expect(api.requests.map(({ body }) => readPostmarkMail(body).to)).toEqual([
    ['a@example.com'],
    ['b@example.com'],
  ]);
});
