// Twilio gets each text with a callback URL, and only callbacks with its signature are accepted.
import { createHash, createHmac } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { CallbackResult } from '../../../../../src/delivery/wire/adapters/kind.ts';
import { twilio } from '../../../../../src/delivery/wire/providers/twilio/provider.ts';
import { hostileTexts } from '../../../../support/hostile-texts.ts';
import { outgoingSms } from '../../../../support/outgoing.ts';
import { answerJson, type ProviderApi, startProviderApi } from '../../../../support/provider-api.ts';

let api: ProviderApi;
beforeAll(async () => {
  api = await startProviderApi();
});
afterAll(() => api.close());

const ACCOUNT = 'ACaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa';
const SERVICE = 'MGaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa';
const SID = 'SMaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa';
const TOKEN = 'an auth token of 32 characters..';
const CALLBACK = 'https://mail.example.com/callbacks/twilio/secret';

beforeEach(() => {
  api.requests = [];
  // As in https://github.com/twilio/twilio-oai, spec/yaml/twilio_api_v2010.yaml.
  api.answer = answerJson(201, { account_sid: ACCOUNT, sid: SID, status: 'queued', error_code: null });
});

function settings(given: object = {}) {
  return twilio.settings.parse({ account_sid: ACCOUNT, auth_token: TOKEN, base_url: api?.baseUrl, ...given });
}

function send(
  given: Parameters<typeof outgoingSms>[0] = {},
  more: object = {},
  callbackUrl: string | null = CALLBACK,
) {
  const provider = twilio.create(settings({ from: '+14155550100', ...more }), {
    ...api.deps,
    callbackUrl,
    id: 1,
  });
  return provider.handOver([outgoingSms(given)]);
}

const sentForm = () => Object.fromEntries(new URLSearchParams(api.requests[0]?.body));

describe('a hand-over to Twilio', () => {
  it('sends the text with the callback URL that returns its reference', async () => {
    const outcomes = await send({ to: '+14155552345', text: 'Hello! 👍 & more', reference: 'ref_1-A' });
    expect(outcomes).toEqual([
      { kind: 'accepted', providerMessageId: SID, response: '201', delivered: false },
    ]);
    expect(api.requests[0]).toMatchObject({
      method: 'POST',
      url: `/2010-04-01/Accounts/${ACCOUNT}/Messages.json`,
    });
    expect(api.requests[0]?.headers.authorization).toBe(
      `Basic ${Buffer.from(`${ACCOUNT}:${TOKEN}`).toString('base64')}`,
    );
    expect(sentForm()).toEqual({
      To: '+14155552345',
      From: '+14155550100',
      Body: 'Hello! 👍 & more',
      StatusCallback: `${CALLBACK}?reference=ref_1-A`,
    });
  });

  it("sends from the brand's sender, and through a Messaging Service", async () => {
    await send({ from: 'Acme' });
    expect(sentForm()).toMatchObject({ From: 'Acme' });
    api.requests = [];
    await send({ from: SERVICE }, {}, null);
    expect(sentForm()).toEqual({
      To: '+4915112345678',
      MessagingServiceSid: SERVICE,
      Body: 'Your code is 1234',
    });
  });

  it('refuses a message without a sender', async () => {
    expect(await send({}, { from: undefined })).toMatchObject([{ kind: 'refused', code: 'sender_rejected' }]);
    expect(api.requests).toHaveLength(0);
  });

  // Codes and texts: https://www.twilio.com/docs/api/errors
  it.each([
    [400, 21211, "Invalid 'To' Phone Number", { kind: 'refused', code: 'invalid_recipient' }],
    [400, 21614, "'To' number is not a valid mobile number", { kind: 'refused', code: 'invalid_recipient' }],
    [
      400,
      21610,
      'Attempt to send to unsubscribed recipient',
      { kind: 'refused', code: 'rejected', optedOut: true },
    ],
    [400, 21606, "The 'From' phone number is not valid", { kind: 'refused', code: 'sender_rejected' }],
    [
      400,
      21617,
      'The concatenated message body exceeds the 1600 character limit',
      { kind: 'refused', code: 'content_rejected' },
    ],
    [
      400,
      21408,
      'Permission to send an SMS has not been enabled for the region',
      { kind: 'refused', code: 'rejected' },
    ],
    [400, 21611, "This 'From' number has exceeded the maximum number of queued messages", { kind: 'fault' }],
    [429, 63038, 'Account exceeded the daily messages limit', { kind: 'fault' }],
    [400, 99999, 'Something new', { kind: 'refused', code: 'rejected' }],
    [401, 20003, 'Authenticate', { kind: 'fault', reason: 'Twilio: HTTP 401 20003' }],
    [404, 20404, 'The requested resource was not found', { kind: 'fault' }],
    [429, 20429, 'Too Many Requests', { kind: 'fault' }],
    [503, 20503, 'Service unavailable', { kind: 'unknown' }],
  ])('with the response %i %i %s is %o', async (status, code, message, outcome) => {
    api.answer = answerJson(status, {
      code,
      message,
      more_info: `https://www.twilio.com/docs/errors/${code}`,
      status,
    });
    expect(await send()).toEqual([expect.objectContaining(outcome)]);
  });

  it('is unknown if the connection is lost, or the response has no sid', async () => {
    api.answer = (_request, response) => void response.socket?.destroy();
    expect(await send()).toMatchObject([{ kind: 'unknown' }]);
    api.answer = answerJson(201, {});
    expect(await send()).toMatchObject([{ kind: 'unknown' }]);
  });
});

describe('the check of a Twilio provider', () => {
  it('reports what is wrong', async () => {
    const check = () => twilio.check(settings(), api.deps);
    api.answer = answerJson(200, { sid: ACCOUNT, status: 'active' });
    expect(await check()).toBeNull();
    expect(api.requests[0]).toMatchObject({ method: 'GET', url: `/2010-04-01/Accounts/${ACCOUNT}.json` });
    api.answer = answerJson(200, { sid: ACCOUNT, status: 'suspended' });
    expect(await check()).toContain('suspended');
    api.answer = answerJson(401, { code: 20003, message: 'Authenticate' });
    expect(await check()).toContain('refuses the Account SID');
    api.answer = answerJson(500, { message: 'broken' });
    expect(await check()).toContain('500 broken');
    api.answer = (_request, response) => void response.socket?.destroy();
    expect(await check()).toContain('connection was lost');
  });

  it.each([{ account_sid: 'SK1' }, { from: '12' }, { from: 'Ünal' }, { auth_token: 'x' }, { unknown: 'x' }])(
    'does not accept the settings %o',
    (given) => {
      const all = { account_sid: ACCOUNT, auth_token: TOKEN, ...given };
      expect(twilio.settings.safeParse(all).success).toBe(false);
    },
  );
});

const now = new Date('2026-11-22T07:00:00Z');
type Form = Record<string, string> | [string, string][];

function signatureOf(url: string, form: Form, token = TOKEN): string {
  const pairs = Array.isArray(form) ? form : Object.entries(form);
  const text = pairs
    .sort(([one], [other]) => (one < other ? -1 : 1))
    .map((pair) => pair.join(''))
    .join('');
  return createHmac('sha1', token)
    .update(url + text)
    .digest('base64');
}

interface Sent {
  url?: string;
  signature?: string | null;
  signedUrl?: string;
  token?: string;
}

function callback(form: Form, given: Sent = {}): Promise<CallbackResult> {
  const { url = `${CALLBACK}?reference=ref-1`, signedUrl = url } = given;
  const { signature = signatureOf(signedUrl, form, given.token) } = given;
  const request = {
    headers: {
      'content-type': 'application/x-www-form-urlencoded; charset=UTF-8',
      ...(signature === null ? {} : { 'x-twilio-signature': signature }),
    },
    body: Buffer.from(new URLSearchParams(form).toString()),
    url,
    now,
  };
  return twilio.callbacks?.parseCallback(
    request,
    settings({ base_url: undefined }),
    {} as never,
  ) as Promise<CallbackResult>;
}

/** https://www.twilio.com/docs/messaging/guides/track-outbound-message-status */
const status = {
  SmsSid: SID,
  SmsStatus: 'delivered',
  MessageStatus: 'delivered',
  To: '+14155552345',
  MessageSid: SID,
  AccountSid: ACCOUNT,
  From: '+14155550100',
  ApiVersion: '2010-04-01',
  RawDlrDoneDate: '2611220659',
};

/** https://www.twilio.com/docs/messaging/guides/webhook-request */
const inbound = {
  ToCountry: 'US',
  ToState: 'CA',
  SmsMessageSid: SID,
  NumMedia: '0',
  ToCity: '',
  FromZip: '94105',
  SmsSid: SID,
  FromState: 'CA',
  SmsStatus: 'received',
  FromCity: 'SAN FRANCISCO',
  Body: 'Stop',
  FromCountry: 'US',
  To: '+14155550100',
  ToZip: '',
  NumSegments: '1',
  MessageSid: SID,
  AccountSid: ACCOUNT,
  From: '+14155552345',
  ApiVersion: '2010-04-01',
};

describe('a callback of Twilio', () => {
  it('reports a delivery', async () => {
    expect(await callback(status)).toEqual({
      kind: 'reports',
      facts: [
        {
          reference: 'ref-1',
          providerMessageId: SID,
          type: 'delivered',
          occurredAt: now,
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
  });

  it.each(['accepted', 'queued', 'sending', 'sent'])('reports %s as accepted', async (word) => {
    expect(await callback({ ...status, MessageStatus: word })).toMatchObject({
      facts: [{ type: 'accepted' }],
    });
  });

  it.each([
    ['30003', { type: 'bounced', bounce: { type: 'soft', subtype: 'other' }, suppresses: false }],
    ['30005', { type: 'bounced', bounce: { type: 'hard', subtype: 'no_such_mailbox' }, suppresses: true }],
    ['30006', { type: 'bounced', bounce: { type: 'hard', subtype: 'bad_address' }, suppresses: true }],
    ['30007', { type: 'failed', failure: { code: 'content_rejected', message: '30007 Details' } }],
    ['30004', { type: 'failed', failure: { code: 'rejected' } }],
    ['30034', { type: 'failed', failure: { code: 'sender_rejected' } }],
    ['21610', { type: 'failed', failure: { code: 'rejected' }, optedOut: true }],
    ['21211', { type: 'failed', failure: { code: 'invalid_recipient' } }],
    ['30001', { type: 'failed', failure: { code: 'provider_error' } }],
    ['30008', { type: 'failed', failure: { code: 'provider_error' } }],
    ['', { type: 'failed', failure: { code: 'provider_error' } }],
  ])('reports the error %s as %o', async (code, fact) => {
    const failed = { ...status, MessageStatus: 'undelivered', ErrorCode: code, ErrorMessage: 'Details' };
    expect(await callback(failed)).toMatchObject({
      facts: [{ reference: 'ref-1', suppresses: false, ...fact }],
    });
  });

  it('does not suppress a number that a short code cannot reach', async () => {
    const failed = { ...status, MessageStatus: 'failed', ErrorCode: '30006', From: '12345' };
    expect(await callback(failed)).toMatchObject({
      facts: [{ bounce: { type: 'soft' }, suppresses: false }],
    });
  });

  it('passes on a message from a recipient, and makes Twilio send no reply', async () => {
    expect(await callback(inbound, { url: CALLBACK })).toMatchObject({
      facts: [],
      inbound: [
        {
          from: '+14155552345',
          to: '+14155550100',
          pool: null,
          text: 'Stop',
          answered: null,
          providerMessageId: SID,
        },
      ],
      response: { contentType: 'text/xml', body: expect.stringContaining('<Response></Response>') },
    });
  });

  it('reports whether Twilio has answered the keyword, and which Messaging Service received it', async () => {
    for (const [OptOutType, answered] of [
      ['STOP', 'stop'],
      ['START', 'start'],
      ['HELP', 'help'],
      ['OTHER', null],
    ] as const) {
      const received = { ...inbound, OptOutType, MessagingServiceSid: SERVICE };
      expect(await callback(received)).toMatchObject({ inbound: [{ answered, pool: SERVICE }] });
    }
  });

  it('is genuine with and without the standard port in the signed URL', async () => {
    const withPort = `${CALLBACK.replace('.com', '.com:443')}?reference=ref-1`;
    expect(await callback(status, { signedUrl: withPort })).toMatchObject({ kind: 'reports' });
    const other = `${CALLBACK.replace('.com', '.com:8443')}?reference=ref-1`;
    expect(await callback(status, { url: other })).toMatchObject({ kind: 'reports' });
    expect(await callback(status, { url: other, signedUrl: `${CALLBACK}?reference=ref-1` })).toMatchObject({
      kind: 'reports',
    });
  });

  /** The example of https://www.twilio.com/docs/usage/security#validating-requests and of its libraries. */
  it('has the signature that Twilio documents', async () => {
    const url = 'https://mycompany.com/myapp.php?foo=1&bar=2';
    const form = {
      CallSid: 'CA1234567890ABCDE',
      Caller: '+12349013030',
      Digits: '1234',
      From: '+12349013030',
      To: '+18005551212',
    };
    expect(signatureOf(url, form, '12345')).toBe('0/KCTR6DLpKmkAf8muzZqo1nDgQ=');
    const request = {
      headers: {
        'content-type': 'application/x-www-form-urlencoded',
        'x-twilio-signature': '0/KCTR6DLpKmkAf8muzZqo1nDgQ=',
      },
      body: Buffer.from(new URLSearchParams(form).toString()),
      url,
      now,
    };
    const own = { ...settings({ base_url: undefined }), auth_token: '12345' };
    expect(await twilio.callbacks?.parseCallback(request, own, {} as never)).toMatchObject({
      kind: 'reports',
      ignored: 1,
    });
  });

  it('is genuine with a digest of its body in the URL', async () => {
    const body = Buffer.from('{"a":1}');
    const digest = createHash('sha256').update(body).digest('hex');
    const send = (hash: string, signed: string) => {
      const at = `${CALLBACK}?bodySHA256=${hash}`;
      const headers = {
        'content-type': 'application/json',
        'x-twilio-signature': createHmac('sha1', TOKEN).update(signed).digest('base64'),
      };
      return twilio.callbacks?.parseCallback({ headers, body, url: at, now }, settings(), {} as never);
    };
    expect(await send(digest, `${CALLBACK}?bodySHA256=${digest}`)).toMatchObject({
      kind: 'reports',
      ignored: 1,
    });
    const wrong = digest.replace(/^./, (c) => (c === '0' ? '1' : '0'));
    expect(await send(wrong, `${CALLBACK}?bodySHA256=${wrong}`)).toMatchObject({ kind: 'refused' });
    expect(await send('', `${CALLBACK}?bodySHA256=`)).toMatchObject({ kind: 'refused' });
  });

  it('is refused without a genuine signature', async () => {
    const genuine = signatureOf(`${CALLBACK}?reference=ref-1`, status);
    for (const given of [
      { signature: null },
      { signature: '' },
      { signature: 'AAAA' },
      { token: 'another token' },
      { url: `${CALLBACK}?reference=ref-2`, signature: genuine },
      { url: `http://mail.example.com/callbacks/twilio/secret?reference=ref-1`, signature: genuine },
    ]) {
      expect(await callback(status, given)).toMatchObject({ kind: 'refused' });
    }
    expect(await callback({ ...status, MessageStatus: 'failed' }, { signature: genuine })).toMatchObject({
      kind: 'refused',
    });
    const added: [string, string][] = [...Object.entries(status), ['MessageStatus', 'failed']];
    expect(await callback(added, { signature: genuine })).toMatchObject({ kind: 'refused' });
  });

  it('is refused if two parameters only joined give the signed text', async () => {
    const genuine = signatureOf(CALLBACK, { A: 'bC', D: 'e' });
    expect(await callback({ Ab: 'C', D: 'e' }, { url: CALLBACK, signature: genuine })).toMatchObject({
      facts: [],
    });
  });

  it('never makes the reader throw, whatever it contains', async () => {
    for (const make of Object.values(hostileTexts)) {
      const text = make(5_000);
      const form = {
        ...status,
        MessageStatus: 'failed',
        ErrorCode: text,
        ErrorMessage: text,
        From: text,
        MessageSid: text,
      };
      await expect(callback(form)).resolves.toMatchObject({ kind: 'reports', facts: [{ type: 'failed' }] });
      await expect(callback({ ...inbound, Body: text, From: text, To: text })).resolves.toMatchObject({
        kind: 'reports',
      });
      await expect(callback(status, { signature: text })).resolves.toMatchObject({ kind: 'refused' });
      await expect(callback({ [text]: text }, { url: text })).resolves.toMatchObject({ kind: 'reports' });
    }
    const many = Object.fromEntries(Array.from({ length: 5_000 }, (_, n) => [`p${n}`, 'x']));
    await expect(callback(many)).resolves.toMatchObject({ kind: 'refused' });
  });
});
