// SendGrid gets each message without tracking, and its errors become verdicts, faults or unknown outcomes.
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { parseEmailAddress } from '../../../../../src/delivery/terms/addresses/email.ts';
import type { EmailContent } from '../../../../../src/delivery/content/mime/message.ts';
import type { OutgoingEmail } from '../../../../../src/delivery/wire/adapters/port.ts';
import { sendgrid } from '../../../../../src/delivery/wire/providers/sendgrid/provider.ts';
import { outgoingEmail } from '../../../../support/outgoing.ts';
import { answerJson, type ProviderApi, startProviderApi } from '../../../../support/provider-api.ts';

let api: ProviderApi;
beforeAll(async () => {
  api = await startProviderApi();
});
afterAll(() => api.close());
beforeEach(() => {
  api.requests = [];
  api.answer = (_request, response) => void response.writeHead(202, { 'x-message-id': 'LRzXl_NHSt' }).end();
});

const apiKey = 'SG.0123456789.abcdefghijklmnopqrstuvwxyz';

function settings(given: object = {}) {
  return sendgrid.settings.parse({ api_key: apiKey, base_url: api.baseUrl, ...given });
}

async function handOver(given: Partial<OutgoingEmail> = {}) {
  const provider = sendgrid.create(settings(), { ...api.deps, callbackUrl: null, id: 1 });
  const [outcome] = await provider.handOver([{ ...outgoingEmail(), ...given }]);
  return outcome;
}

const sent = () => JSON.parse(api.requests[0]?.body ?? 'null') as Record<string, unknown>;

function content(given: Partial<EmailContent>): EmailContent {
  return { ...outgoingEmail().content, ...given };
}

function address(text: string) {
  const parsed = parseEmailAddress(text);
  if ('error' in parsed) throw new Error(parsed.error);
  return parsed;
}

describe('a message for SendGrid', () => {
  it('is sent in its parts', async () => {
    const parts = content({
      subject: 'Grüße',
      html: '<p>Hello</p>',
      text: 'Hello',
      from: address('Ada Lovelace <ada@example.com>'),
      replyTo: address('help@example.com'),
      headers: { 'X-Entity-Ref-ID': '7' },
      feedbackId: '1:2:transactional:carillon',
    });
    const given = { content: parts, from: 'ada@example.com', to: 'reader@example.org', reference: '1-a-xyz' };
    expect(await handOver(given)).toEqual({
      kind: 'accepted',
      providerMessageId: 'LRzXl_NHSt',
      response: '202',
      delivered: false,
    });
    expect(api.requests[0]).toMatchObject({
      method: 'POST',
      url: '/v3/mail/send',
      headers: { authorization: `Bearer ${apiKey}` },
    });
    expect(sent()).toMatchObject({
      personalizations: [{ to: [{ email: 'reader@example.org' }] }],
      from: { email: 'ada@example.com', name: 'Ada Lovelace' },
      reply_to: { email: 'help@example.com' },
      subject: 'Grüße',
      content: [
        { type: 'text/plain', value: 'Hello' },
        { type: 'text/html', value: '<p>Hello</p>' },
      ],
      headers: {
        'X-Entity-Ref-ID': '7',
        'Feedback-ID': '1:2:transactional:carillon',
        'Message-ID': '<1-a-xyz@mail.example.com>',
      },
    });
  });

  it('is not tracked by SendGrid', async () => {
    await handOver();
    expect(sent().tracking_settings).toEqual({
      click_tracking: { enable: false, enable_text: false },
      open_tracking: { enable: false },
      subscription_tracking: { enable: false },
      ganalytics: { enable: false },
    });
  });

  it('gets its text version from the HTML if it has none', async () => {
    await handOver({ content: content({ html: '<p>Hello <b>you</b></p>', text: null }) });
    expect(sent().content).toMatchObject([{ value: 'Hello you' }, { type: 'text/html' }]);
  });

  it('has no text version if the conversion of its HTML would delay other mail', async () => {
    await handOver({ content: content({ html: `<p>${'x'.repeat(100_000)}</p>`, text: null }) });
    expect(sent().content).toMatchObject([{ type: 'text/html' }]);
  });

  it('may be empty', async () => {
    await handOver({ content: content({ html: null, text: '' }) });
    expect(sent().content).toEqual([{ type: 'text/plain', value: ' ' }]);
  });

  it('carries its reference, and tags that cannot be mistaken for fields of an event', async () => {
    await handOver({
      reference: '1-a-xyz',
      tags: { event: 'delivered', message_id: '7', long: 'x'.repeat(10_000) },
    });
    expect(sent().personalizations).toMatchObject([
      { custom_args: { carillon_reference: '1-a-xyz', tag_event: 'delivered', tag_message_id: '7' } },
    ]);
    expect(JSON.stringify(sent().personalizations).length).toBeLessThan(1_000);
  });

  it('is refused if its recipient needs SMTPUTF8', async () => {
    const built = { ...outgoingEmail().built, smtpUtf8: true };
    expect(await handOver({ built })).toMatchObject({ kind: 'refused', code: 'invalid_recipient' });
    expect(api.requests).toHaveLength(0);
  });
});

describe('an error of SendGrid', () => {
  const error = (message: string, field: string | null = null) => ({
    errors: [{ message, field, help: null }],
  });
  const identity = 'The from address does not match a verified Sender Identity.';

  it.each([
    [400, error('Does not contain a valid address.', 'personalizations.0.to.0.email'), 'invalid_recipient'],
    [400, error('Does not contain a valid address.', 'from.email'), 'sender_rejected'],
    [400, error('The content value must be a string', 'content.0.value'), 'content_rejected'],
    [400, error('The subject is required', 'subject'), 'content_rejected'],
    [400, error('Bad Request'), 'rejected'],
    [400, 'no JSON that SendGrid sends', 'rejected'],
    [413, error('Payload too large'), 'content_rejected'],
  ])('%i %j is a verdict about the message', async (status, body, code) => {
    api.answer = answerJson(status, body);
    expect(await handOver()).toMatchObject({ kind: 'refused', code });
  });

  it('that the sender is not verified defers the message, because SendGrid may verify it later', async () => {
    api.answer = answerJson(403, error(identity, 'from'));
    expect(await handOver()).toEqual({ kind: 'deferred', response: `403 ${identity}` });
  });

  it.each([
    [401, error('Maximum credits exceeded')],
    [401, error('The provided authorization grant is invalid')],
    [403, error('access forbidden')],
    [404, {}],
    [200, {}],
  ])('%i %j is a fault', async (status, body) => {
    api.answer = answerJson(status, body);
    expect(await handOver()).toEqual({ kind: 'fault', reason: `SendGrid: HTTP ${status}` });
  });

  it('429 is a fault until SendGrid resets its limit', async () => {
    const reset = Math.ceil(Date.now() / 1_000) + 3_600;
    api.answer = answerJson(429, error('too many requests'), { 'x-ratelimit-reset': String(reset) });
    const outcome = await handOver();
    expect(outcome).toMatchObject({ kind: 'fault', reason: 'SendGrid: HTTP 429' });
    const waitMs = outcome?.kind === 'fault' ? outcome.retryAfterMs : 0;
    expect(waitMs).toBeGreaterThan(3_000_000);
    expect(waitMs).toBeLessThanOrEqual(3_601_000);
  });

  it('leaves the message unknown if SendGrid may have accepted it', async () => {
    api.answer = answerJson(503, {});
    expect(await handOver()).toMatchObject({ kind: 'unknown' });
    api.answer = (_request, response) => void response.socket?.destroy();
    expect(await handOver()).toMatchObject({ kind: 'unknown' });
  });
});

describe('the check of the settings', () => {
  const check = () => sendgrid.check(settings(), api.deps);

  it('accepts a key that has permission to send', async () => {
    api.answer = answerJson(200, { scopes: ['mail.send', 'sender_verification_eligible'] });
    expect(await check()).toBeNull();
    expect(api.requests.map(({ method, url }) => `${method} ${url}`)).toEqual(['GET /v3/scopes']);
  });

  it('reports a wrong key, and never shows it', async () => {
    api.answer = answerJson(401, { errors: [{ message: 'authorization required' }] });
    expect(await check()).toBe('SendGrid: 401 authorization required');
    api.answer = answerJson(200, { scopes: ['user.profile.read'] });
    expect(await check()).toContain('Mail Send');
  });

  it('refuses an invalid verification key', () => {
    expect(() => settings({ verification_key: 'AAAA' })).toThrow('verification key');
  });
});

describe('a sending domain at SendGrid', () => {
  /** As in https://www.twilio.com/docs/sendgrid/api-reference/domain-authentication/list-all-authenticated-domains */
  const listed = (domain: string) => ({
    id: 1,
    user_id: 7,
    subdomain: 'em1',
    domain,
    automatic_security: true,
    valid: false,
    dns: {
      mail_cname: { valid: false, type: 'cname', host: `em1.${domain}`, data: 'u7.wl.sendgrid.net' },
      dkim1: {
        valid: false,
        type: 'cname',
        host: `s1._domainkey.${domain}`,
        data: 's1.domainkey.u7.wl.sendgrid.net',
      },
      dkim2: {
        valid: false,
        type: 'cname',
        host: `s2._domainkey.${domain}`,
        data: 's2.domainkey.u7.wl.sendgrid.net',
      },
    },
  });
  const made = () => api.requests.map(({ method, url }) => `${method} ${url}`);

  it('is registered once', async () => {
    api.answer = answerJson(200, [listed('sub.example.com')]);
    await sendgrid.domains?.registerDomain('example.com', settings(), api.deps);
    expect(made()).toEqual([
      'GET /v3/whitelabel/domains?limit=50&domain=example.com',
      'POST /v3/whitelabel/domains',
    ]);
    expect(JSON.parse(api.requests[1]?.body ?? '')).toEqual({
      domain: 'example.com',
      automatic_security: true,
      default: false,
    });
    api.requests = [];
    api.answer = answerJson(200, [listed('example.com')]);
    await sendgrid.domains?.registerDomain('example.com', settings(), api.deps);
    expect(made()).toHaveLength(1);
  });

  it('has the records that SendGrid asks for', async () => {
    api.answer = answerJson(200, [listed('example.com')]);
    const record = { type: 'CNAME', priority: null, required: true };
    expect(await sendgrid.domains?.dnsRecords('example.com', settings(), api.deps)).toEqual([
      { ...record, name: 'em1.example.com', value: 'u7.wl.sendgrid.net', purpose: 'return_path' },
      {
        ...record,
        name: 's1._domainkey.example.com',
        value: 's1.domainkey.u7.wl.sendgrid.net',
        purpose: 'dkim',
      },
      {
        ...record,
        name: 's2._domainkey.example.com',
        value: 's2.domainkey.u7.wl.sendgrid.net',
        purpose: 'dkim',
      },
    ]);
  });

  it('is checked by SendGrid when Carillon asks', async () => {
    api.answer = answerJson(200, [listed('example.com')]);
    await sendgrid.domains?.verifyDomain?.('example.com', settings(), api.deps);
    expect(made().at(-1)).toBe('POST /v3/whitelabel/domains/1/validate');
  });

  it("fails with SendGrid's error message", async () => {
    api.answer = answerJson(400, { errors: [{ message: 'domain is not allowed' }] });
    await expect(sendgrid.domains?.registerDomain('example.com', settings(), api.deps)).rejects.toThrow(
      'SendGrid refused: 400 domain is not allowed',
    );
  });

  it('reports only that the credentials are refused, without details', async () => {
    api.answer = answerJson(403, { errors: [{ message: 'access forbidden' }] });
    await expect(sendgrid.domains?.registerDomain('example.com', settings(), api.deps)).rejects.toThrow(
      'SendGrid does not accept the credentials of this installation (HTTP 403)',
    );
  });
});
