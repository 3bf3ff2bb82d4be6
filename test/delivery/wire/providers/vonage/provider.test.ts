// Vonage gets each text with a signed token, and only webhooks with a genuine token are accepted.
import { createHash, generateKeyPairSync } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { jwtVerify, SignJWT } from 'jose';
import type { CallbackResult } from '../../../../../src/delivery/wire/adapters/kind.ts';
import { vonage } from '../../../../../src/delivery/wire/providers/vonage/provider.ts';
import { hostileTexts } from '../../../../support/hostile-texts.ts';
import { outgoingSms } from '../../../../support/outgoing.ts';
import { answerJson, type ProviderApi, startProviderApi } from '../../../../support/provider-api.ts';

let api: ProviderApi;
beforeAll(async () => {
  api = await startProviderApi();
});
afterAll(() => api.close());

const UUID = 'aaaaaaaa-bbbb-4ccc-8ddd-0123456789ab';
const APPLICATION = '78d335fa-323d-0114-9c3d-d6f0d48968cf';
const SECRET = 'a signature secret of the account';
const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
const PEM = privateKey.export({ type: 'pkcs8', format: 'pem' }) as string;

beforeEach(() => {
  api.requests = [];
  api.answer = answerJson(202, { message_uuid: UUID });
});

function settings(given: object = {}) {
  return vonage.settings.parse({
    application_id: APPLICATION,
    private_key: PEM.replaceAll('\n', '\\n'),
    signature_secret: SECRET,
    base_url: api?.baseUrl,
    ...given,
  });
}

function send(given: Parameters<typeof outgoingSms>[0] = {}, more: object = { from: '+14155550100' }) {
  return vonage
    .create(settings(more), { ...api.deps, callbackUrl: null, id: 1 })
    .handOver([outgoingSms(given)]);
}

const sentBody = () => JSON.parse(api.requests[0]?.body ?? '') as Record<string, unknown>;

describe('a hand-over to Vonage', () => {
  it('sends the text with its reference, and a token signed by the application', async () => {
    const outcomes = await send({ to: '+447700900000', text: 'Grüße 👍', reference: 'ref_1-A' });
    expect(outcomes).toEqual([
      { kind: 'accepted', providerMessageId: UUID, response: '202', delivered: false },
    ]);
    expect(api.requests[0]).toMatchObject({ method: 'POST', url: '/v1/messages' });
    expect(sentBody()).toEqual({
      channel: 'sms',
      message_type: 'text',
      to: '447700900000',
      from: '14155550100',
      text: 'Grüße 👍',
      client_ref: 'ref_1-A',
    });
    const token = String(api.requests[0]?.headers.authorization).replace('Bearer ', '');
    const { payload } = await jwtVerify(token, publicKey, { algorithms: ['RS256'] });
    expect(payload).toMatchObject({ application_id: APPLICATION, jti: expect.any(String) });
    expect((payload.exp ?? 0) - (payload.iat ?? 0)).toBe(900);
  });

  it("sends from the brand's sender, with one token for many messages", async () => {
    const provider = vonage.create(settings(), { ...api.deps, callbackUrl: null, id: 1 });
    await provider.handOver([outgoingSms({ from: 'Acme' }), outgoingSms({ from: '+14155550123' })]);
    const sent = api.requests.map(({ body }) => (JSON.parse(body) as { from: string }).from);
    expect(sent.sort()).toEqual(['14155550123', 'Acme']);
    expect(new Set(api.requests.map(({ headers }) => headers.authorization)).size).toBe(1);
  });

  it('refuses a message without a sender', async () => {
    expect(await send({}, {})).toMatchObject([{ kind: 'refused', code: 'sender_rejected' }]);
    expect(api.requests).toHaveLength(0);
  });

  const problem = (code: string) => `https://developer.vonage.com/api-errors/messages${code}`;

  // Codes: https://developer.vonage.com/api-errors/messages
  it.each([
    [422, problem('#1020'), 'Invalid params', { kind: 'refused', code: 'rejected' }],
    [422, problem('#1120'), 'Invalid sender', { kind: 'refused', code: 'sender_rejected' }],
    [422, problem('#1170'), 'Invalid or missing msisdn', { kind: 'refused', code: 'invalid_recipient' }],
    [422, problem('#1240'), 'Illegal number', { kind: 'refused', code: 'rejected', optedOut: true }],
    [422, problem('#1190'), 'Absent subscriber', { kind: 'bounced', bounce: { type: 'hard' } }],
    [422, 'https://developer.vonage.com/api-errors', 'Something', { kind: 'refused', code: 'rejected' }],
    [401, 'https://developer.vonage.com/api-errors#unauthorized', 'Unauthorized', { kind: 'fault' }],
    [402, 'https://developer.vonage.com/api-errors#low-balance', 'Low balance', { kind: 'fault' }],
    [422, problem('#1070'), 'Quota exceeded', { kind: 'fault', reason: 'Vonage: HTTP 422 1070' }],
    [429, problem('#1000'), 'Throttled', { kind: 'fault', reason: 'Vonage: HTTP 429 1000' }],
    [500, problem('#1'), 'Internal', { kind: 'unknown' }],
  ])('with the response %i %s %s is %o', async (status, type, title, outcome) => {
    api.answer = answerJson(status, {
      type,
      title,
      detail: 'Details',
      instance: 'bf0ca0bf927b3b52e3cb03217e1a1ddf',
    });
    expect(await send()).toMatchObject([outcome]);
  });

  it('is unknown if the connection is lost, or the response has no id', async () => {
    api.answer = (_request, response) => void response.socket?.destroy();
    expect(await send()).toMatchObject([{ kind: 'unknown' }]);
    api.answer = answerJson(202, {});
    expect(await send()).toMatchObject([{ kind: 'unknown' }]);
  });
});

describe('the check of a Vonage provider', () => {
  it('reports what is wrong, and sends nothing', async () => {
    const check = () => vonage.check(settings(), api.deps);
    api.answer = answerJson(422, { title: 'Invalid params' });
    expect(await check()).toBeNull();
    expect(sentBody()).toEqual({ channel: 'sms', message_type: 'text' });
    api.answer = answerJson(401, { title: 'Unauthorized' });
    expect(await check()).toContain('refuses the application id');
    api.answer = answerJson(500, { title: 'Internal', detail: 'broken' });
    expect(await check()).toContain('500 broken');
    api.answer = (_request, response) => void response.socket?.destroy();
    expect(await check()).toContain('connection was lost');
  });

  it.each([
    { private_key: 'x' },
    { application_id: 'x' },
    { signature_secret: 'x' },
    { from: '12' },
    { other: 'x' },
  ])('does not accept the settings %o', (given) => {
    const all = { application_id: APPLICATION, private_key: PEM, signature_secret: SECRET, ...given };
    expect(vonage.settings.safeParse(all).success).toBe(false);
  });
});

const now = new Date('2026-11-22T07:00:00Z');

interface Sent {
  secret?: string;
  algorithm?: string;
  hash?: string;
  claims?: object;
  issuedAt?: Date;
  authorization?: string | undefined;
}

async function callback(event: unknown, given: Sent = {}): Promise<CallbackResult> {
  const body = Buffer.isBuffer(event) ? event : Buffer.from(JSON.stringify(event));
  const { hash = createHash('sha256').update(body).digest('hex'), issuedAt = now } = given;
  // https://developer.vonage.com/en/getting-started/concepts/webhooks#decoding-signed-webhooks
  const claims = { api_key: 'a1b2c3d4', application_id: APPLICATION, payload_hash: hash, ...given.claims };
  const token = await new SignJWT(claims)
    .setProtectedHeader({ alg: given.algorithm ?? 'HS256', typ: 'JWT' })
    .setIssuer('Vonage')
    .setJti('c5ba8f24-1a14-4c10-bfdf-3fbe8ce511b5')
    .setIssuedAt(issuedAt)
    .sign(Buffer.from(given.secret ?? SECRET));
  const authorization = 'authorization' in given ? given.authorization : `Bearer ${token}`;
  const request = {
    headers: { authorization },
    body,
    url: 'https://mail.example.com/callbacks/vonage/x',
    now,
  };
  const own = settings({ base_url: undefined });
  return (await vonage.callbacks?.parseCallback(request, own, {} as never)) as CallbackResult;
}

/** https://developer.vonage.com/en/api/messages, webhooks "Message status" and "Inbound message" of SMS */
const status = {
  message_uuid: UUID,
  to: '447700900000',
  from: '447700900001',
  timestamp: '2026-11-22T06:59:58Z',
  status: 'delivered',
  client_ref: 'ref-1',
  usage: { currency: 'EUR', price: '0.0333' },
  channel: 'sms',
  destination: { network_code: '12345' },
  sms: { count_total: '2' },
};
const inbound = {
  channel: 'sms',
  message_uuid: UUID,
  to: '447700900000',
  from: '447700900001',
  timestamp: '2026-11-22T06:59:58Z',
  text: 'Stop please',
  message_type: 'text',
  sms: { num_messages: '1', keyword: 'STOP' },
  usage: { currency: 'EUR', price: '0.0333' },
  origin: { network_code: '12345' },
};
const failed = (code: number | string, word = 'rejected') => ({
  ...status,
  status: word,
  error: {
    type: `https://developer.nexmo.com/api-errors/messages-olympus#${code}`,
    title: code,
    detail: 'Details',
    instance: 'bf0ca0bf927b3b52e3cb03217e1a1ddf',
  },
});

describe('a webhook of Vonage', () => {
  it('reports a delivery', async () => {
    expect(await callback(status)).toEqual({
      kind: 'reports',
      facts: [
        {
          reference: 'ref-1',
          providerMessageId: UUID,
          type: 'delivered',
          occurredAt: new Date('2026-11-22T06:59:58Z'),
          response: null,
          bounce: null,
          failure: null,
          suppresses: false,
        },
      ],
      inbound: [],
      ignored: 0,
      onceTokens: [],
    });
    expect(await callback({ ...status, status: 'submitted' })).toMatchObject({
      facts: [{ type: 'accepted' }],
    });
    expect(await callback({ ...status, status: 'read' })).toMatchObject({ facts: [], ignored: 1 });
    expect(await callback({ ...status, client_ref: undefined })).toMatchObject({
      facts: [{ reference: null }],
    });
  });

  it.each([
    [1180, { type: 'bounced', bounce: { type: 'soft', diagnostic: '1180 Details' }, suppresses: false }],
    ['1190', { type: 'bounced', bounce: { type: 'hard', subtype: 'no_such_mailbox' }, suppresses: true }],
    [1210, { type: 'failed', failure: { code: 'content_rejected' } }],
    [1120, { type: 'failed', failure: { code: 'sender_rejected' } }],
    [1240, { type: 'failed', failure: { code: 'rejected' }, optedOut: true }],
    [1170, { type: 'failed', failure: { code: 'invalid_recipient' } }],
    [1000, { type: 'failed', failure: { code: 'provider_error' } }],
    [1330, { type: 'failed', failure: { code: 'provider_error' } }],
  ])('reports the error %s as %o', async (code, fact) => {
    const expected = { facts: [{ reference: 'ref-1', ...fact }] };
    expect(await callback(failed(code))).toMatchObject(expected);
    const { error } = failed(code);
    expect(
      await callback({ ...failed(code, 'undeliverable'), error: { ...error, title: 'Words' } }),
    ).toMatchObject(expected);
  });

  it('reports a failure without an error', async () => {
    expect(await callback({ ...status, status: 'undeliverable' })).toMatchObject({
      facts: [{ type: 'failed', failure: { code: 'provider_error', message: 'undeliverable' } }],
    });
  });

  it('passes on a message from a recipient', async () => {
    const sms = { pool: null, answered: null, providerMessageId: UUID };
    expect(await callback(inbound)).toMatchObject({
      facts: [],
      inbound: [{ ...sms, from: '+447700900001', to: '+447700900000', text: 'Stop please' }],
    });
    expect(await callback({ ...inbound, to: '12345' })).toMatchObject({ inbound: [{ to: '12345' }] });
    for (const other of [{ channel: 'whatsapp' }, { from: 'Acme' }, { to: 7 }]) {
      expect(await callback({ ...inbound, ...other })).toMatchObject({ inbound: [], ignored: 1 });
    }
  });

  it('is refused without a genuine token that covers its body', async () => {
    const hours = (count: number) => new Date(now.getTime() + count * 3_600_000);
    const unsigned = `${Buffer.from('{"alg":"none"}').toString('base64url')}.${Buffer.from(
      JSON.stringify({ payload_hash: createHash('sha256').update(JSON.stringify(status)).digest('hex') }),
    ).toString('base64url')}.`;
    for (const given of [
      { secret: 'another secret' },
      { algorithm: 'HS512' },
      { hash: createHash('sha256').update('another body').digest('hex') },
      { claims: { payload_hash: undefined } },
      { claims: { application_id: UUID } },
      { issuedAt: hours(-26) },
      { issuedAt: hours(1) },
      { authorization: undefined },
      { authorization: 'Bearer' },
      { authorization: 'Basic YTpi' },
      { authorization: `Bearer ${unsigned}` },
      { authorization: `Bearer ${'a.'.repeat(5_000)}` },
    ]) {
      expect(await callback(status, given)).toMatchObject({ kind: 'refused' });
    }
    expect(await callback(status, { issuedAt: hours(-20) })).toMatchObject({ kind: 'reports' });
    expect(await callback(status, { claims: { application_id: undefined } })).toMatchObject({
      kind: 'reports',
    });
  });

  it('never makes the reader throw, whatever it contains', async () => {
    for (const make of Object.values(hostileTexts)) {
      const text = make(5_000);
      await expect(callback(Buffer.from(text))).resolves.toMatchObject({ kind: 'reports', ignored: 1 });
      const error = { type: text, title: text, detail: text };
      const sent = { ...failed(1000), message_uuid: text, client_ref: text, timestamp: text, error };
      await expect(callback(sent)).resolves.toMatchObject({ kind: 'reports', facts: [{ type: 'failed' }] });
      await expect(callback({ ...inbound, text, message_uuid: text })).resolves.toMatchObject({
        kind: 'reports',
      });
      await expect(callback(status, { authorization: `Bearer ${text}` })).resolves.toMatchObject({
        kind: 'refused',
      });
    }
  });
});
