// POST /messages answers from what it has written, and shows what GET shows right after, for every kind of message.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it, jest } from '@jest/globals';
import { pauseSending, resumeSending } from '../../../src/features/accounts/service.ts';
import { startTestApi, type TestApi, type TestBody, type TestRequest } from '../../support/api.ts';
import { insertVerifiedDomain } from '../../support/domains.ts';

let home: string;
let api: TestApi;
let templateId: number;
beforeAll(async () => {
  home = await mkdtemp(join(tmpdir(), 'carillon-accepted-'));
  api = await startTestApi({ env: { CARILLON_HOME: home, PUBLIC_URL: 'https://carillon.test' } });
  await insertVerifiedDomain(api.database, api, 'own.test', { keyring: null });
  await api.request('POST', '/v1/my/suppressions', { body: { email: 'gone@example.com' } });
  await api.database.pool.query('update brands set track_opens = true, track_clicks = true where id = $1', [
    api.brandId,
  ]);
  const template = { name: 'Welcome', channel: 'email', subject: 'Hi {{ name }}', body: '<p>{{ name }}</p>' };
  templateId = Number((await api.request('POST', '/v1/my/templates', { body: template })).body.id);
});
afterAll(async () => {
  await api.close();
  await rm(home, { recursive: true, force: true });
});

const email = {
  channel: 'email',
  to: 'Ada <ada@example.com>',
  subject: 'Hello',
  html: '<p>Hi</p>',
  body: 'Hi',
};
const several = { ...email, to: ['ada@example.com', 'Bob <bob@example.com>'], cc: 'cid@example.com' };
const files = [
  { filename: 'naïve.txt', content: 'aGVsbG8=' },
  {
    filename: 'a.png',
    content_type: 'image/png',
    content: 'aGVsbG8=',
    content_id: 'logo',
    disposition: 'inline',
  },
];
const sms = { channel: 'sms', to: '+14155552671', body: 'Hi' };
const test = () => ({ token: api.testApiKey });

/** Each with the options of its request. */
const shapes: Record<string, [object, () => Partial<TestRequest>]> = {
  'an email': [email, () => ({})],
  'an email with everything': [
    {
      ...{ channel: 'email', to: 'ada@example.com', template_id: 0, variables: { name: 'Ada' } },
      ...{ from: 'News <news@own.test>', reply_to: 'help@own.test', in_reply_to: 'a@b.example' },
      ...{ headers: { 'X-Order': '7', A: '' }, tags: { kind: 'x', b: '' }, tracking: { opens: false } },
    },
    () => ({ headers: { 'Idempotency-Key': 'everything' } }),
  ],
  'an email with files': [{ ...email, attachments: files }, () => ({})],
  'a tracked email with a file': [
    { ...email, from_email: 'news@own.test', attachments: files, tags: { kind: 'x' } },
    () => ({ headers: { 'Idempotency-Key': 'file' } }),
  ],
  'a letter with files': [
    {
      ...{ ...several, bcc: ['dan@example.com', 'gone@example.com'], attachments: files },
      ...{ html: '<img src="cid:logo"><img src="cid:other">', headers: { 'X-Order': '7' } },
    },
    () => ({}),
  ],
  'a letter with a Bcc': [{ ...email, to: 'ada@example.com', bcc: ['ann@example.com'] }, () => ({})],
  'a letter of a template': [
    {
      ...{ ...several, html: undefined, body: undefined, subject: undefined, template_id: 0 },
      ...{ variables: { name: 'all' }, references: ['<a@b.example>'] },
      ...{ reply_to: ['Help <help@own.test>', 'sales@own.test'] },
    },
    () => ({}),
  ],
  'an email of a test key': [email, test],
  'an email of a test key that fails': [{ ...email, to: 'failed@example.com' }, test],
  'an email of a test key with a file': [{ ...email, to: 'bounced@example.com', attachments: files }, test],
  'a letter of a test key': [
    { ...several, cc: ['bounced@example.com', 'failed@example.com'], bcc: 'complained@example.com' },
    test,
  ],
  'a text': [sms, () => ({})],
  'a text of a test key': [sms, test],
};

const get = async (id: unknown, token = api.apiKey) =>
  (await api.request('GET', `/v1/my/messages/${String(id)}`, { token })).body;
const withoutContent = ({ html: _html, text: _text, events: _events, ...message }: TestBody) => message;
const withoutWarnings = ({ warnings: _warnings, ...message }: TestBody) => message;

/** The text of a statement, as `query` takes it. */
const textOf = (query: unknown): string =>
  typeof query === 'string' ? query : (query as { text: string }).text;

/** Sends a request, and looks whether messages are read for its answer. */
async function answer(path: string, request: TestRequest): Promise<{ message: TestBody; reads: number }> {
  const look = jest.spyOn(api.database.pool, 'query');
  const { status, body } = await api.request('POST', path, request);
  const texts = look.mock.calls.map(([query]: unknown[]) => textOf(query));
  look.mockRestore();
  expect([status, body.validation_errors ?? {}]).toEqual([201, {}]);
  return {
    message: body,
    reads: texts.filter((text) => /from (messages|message_attachments)\b/.test(text)).length,
  };
}

it.each(Object.entries(shapes))('shows %s as GET does', async (_name, [given, requestOf]) => {
  const body = 'template_id' in given ? { ...given, template_id: templateId } : given;
  const request = { ...requestOf(), body };
  const { message, reads } = await answer('/v1/my/messages', request);
  expect(withoutWarnings(message)).toEqual(
    withoutContent(await get(message.id, request.token ?? api.apiKey)),
  );
  expect(reads).toBe(0);
  if (request.headers === undefined) return;
  await api.database.pool.query(`update messages set status = 'delivered' where id = $1`, [message.id]);
  const again = await answer('/v1/my/messages', request);
  expect(again.message).toMatchObject({ id: message.id, status: 'delivered' });
  expect(withoutWarnings(again.message)).toEqual(withoutContent(await get(message.id)));
});

it('warns of what a letter lacks, as a repeated request does', async () => {
  const [body] = shapes['a letter with files'] ?? [];
  const request = { body, headers: { 'Idempotency-Key': 'warned' } };
  const { message } = await answer('/v1/my/messages', request);
  expect(message.warnings).toMatchObject([
    { field: 'html', code: 'unknown_cid' },
    { field: 'bcc', code: 'suppressed' },
  ]);
  expect((await answer('/v1/my/messages', request)).message).toEqual(message);
});

it('shows what an account that is paused will send later, and what is resent', async () => {
  await pauseSending(api.database.pool, api.accountId, 'unpaid');
  const { message } = await answer('/v1/my/messages', { body: { ...email, attachments: files } });
  expect(withoutWarnings(message)).toEqual(withoutContent(await get(message.id)));
  const resent = await answer(`/v1/my/messages/${String(message.id)}/resend`, {});
  expect(withoutWarnings(resent.message)).toEqual(withoutContent(await get(resent.message.id)));
  await resumeSending(api.database.pool, api.accountId);
});
