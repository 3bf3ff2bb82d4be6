// Signed Twilio callbacks update a message and deliver STOP, HELP and START, and forged ones change nothing.
import { createHmac } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { isOptedOut } from '../../../src/delivery/ledger/consent/opt-outs.ts';
import {
  addProvider,
  callbackUrlOf,
  type NamedProvider,
} from '../../../src/delivery/wire/providers/named.ts';
import { twilio } from '../../../src/delivery/wire/providers/twilio/provider.ts';
import { addSmsSender } from '../../../src/features/sms/service.ts';
import { createKeyring } from '../../../src/platform/secrets/keyring.ts';
import { startTestApi, TEST_SECRET, type TestApi } from '../../support/api.ts';
import { testReference } from '../../support/callbacks.ts';
import { outgoingSms } from '../../support/outgoing.ts';
import { answerJson, type ProviderApi, startProviderApi } from '../../support/provider-api.ts';

const PUBLIC_URL = 'https://mail.test';
const AUTH_TOKEN = 'an auth token of 32 characters..';
const NUMBER = '+14155550100';
const RECIPIENT = '+14155552671';
const keyring = createKeyring(TEST_SECRET);

let api: TestApi;
let service: ProviderApi;
let named: NamedProvider;
beforeAll(async () => {
  [api, service] = await Promise.all([startTestApi({ env: { PUBLIC_URL } }), startProviderApi()]);
  service.answer = answerJson(201, { sid: 'SM1' });
  named = await addProvider(api.database.pool, keyring, {
    name: 'twilio-us',
    kind: twilio,
    settings: { account_sid: `AC${'0a'.repeat(16)}`, auth_token: AUTH_TOKEN, base_url: service.baseUrl },
  });
  await addSmsSender(api.database.pool, {
    brandId: api.brandId,
    provider: 'twilio-us',
    from: NUMBER,
    keywords: null,
    helpText: 'Call us',
  });
});
afterAll(async () => {
  await api.close();
  await service.close();
});

/** Calls a URL like Twilio, signed with the public URL. */
async function call(url: string, form: Record<string, string>, token = AUTH_TOKEN) {
  const names = Object.keys(form).sort();
  const text = names.map((name) => `${name}${form[name]}`).join('');
  const answer = await fetch(url.replace(PUBLIC_URL, api.baseUrl), {
    method: 'POST',
    headers: {
      'x-twilio-signature': createHmac('sha1', token)
        .update(url + text)
        .digest('base64'),
    },
    body: new URLSearchParams(form),
  });
  return { status: answer.status, type: answer.headers.get('content-type'), text: await answer.text() };
}

const query = <Row extends object>(text: string, values: unknown[] = []) =>
  api.database.pool.query<Row>(text, values).then(({ rows }) => rows);

describe('Twilio, for a brand with a sender', () => {
  it('reports the delivery of a message to the URL in its request', async () => {
    const posted = await api.request('POST', '/v1/my/messages', {
      body: { channel: 'sms', to: RECIPIENT, body: 'Hello' },
    });
    const id = Number(posted.body.id);
    const callbackUrl = callbackUrlOf(named, PUBLIC_URL);
    const provider = twilio.create(twilio.settings.parse(named.settings), {
      ...service.deps,
      callbackUrl,
      id: 1,
    });
    const reference = testReference(api.accountId, id);
    await provider.handOver([outgoingSms({ messageId: id, from: NUMBER, to: RECIPIENT, reference })]);
    await query(
      `update messages set status = 'sent', provider = 'twilio-us', sent_at = now(), sent_attempt = 1 where id = $1`,
      [id],
    );
    const url = new URLSearchParams(service.requests[0]?.body).get('StatusCallback') ?? '';
    const report = { MessageSid: 'SM1', MessageStatus: 'delivered', To: RECIPIENT, From: NUMBER };
    expect(await call(url, report, 'another token')).toMatchObject({ status: 403 });
    expect(await call(url, report)).toMatchObject({ status: 200 });
    expect(await query('select status from messages where id = $1', [id])).toEqual([{ status: 'delivered' }]);
  });

  it('delivers STOP, HELP and START of a recipient', async () => {
    const url = callbackUrlOf(named, PUBLIC_URL) ?? '';
    const reply = (Body: string, MessageSid: string, token?: string) =>
      call(url, { Body, MessageSid, SmsStatus: 'received', From: RECIPIENT, To: NUMBER }, token);
    const optedOut = () =>
      isOptedOut(api.database.pool, keyring, { brandId: api.brandId, channel: 'sms', address: RECIPIENT });
    expect(await reply('STOP', 'SM2', 'another token')).toMatchObject({ status: 403 });
    expect(await optedOut()).toBe(false);
    expect(await reply('Stop', 'SM2')).toMatchObject({
      status: 200,
      type: expect.stringContaining('text/xml'),
      text: expect.stringContaining('<Response></Response>'),
    });
    expect(await optedOut()).toBe(true);
    expect(await reply('Help', 'SM3')).toMatchObject({ status: 200 });
    const sent = await query(
      `select m.to_address, m.from_address, m.status, c.text from messages m
       join message_contents c on c.message_id = m.id where c.text = 'Call us'`,
    );
    expect(sent).toEqual([
      { to_address: RECIPIENT, from_address: NUMBER, status: 'queued', text: 'Call us' },
    ]);
    expect(await reply('START', 'SM4')).toMatchObject({ status: 200 });
    expect(await optedOut()).toBe(false);
  });
});
