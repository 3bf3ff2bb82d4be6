// SendGrid events count only with a valid signature, and are classified by their type and reason.
import { generateKeyPairSync, sign } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import type { CallbackResult, ProviderFact } from '../../../../../src/delivery/wire/adapters/kind.ts';
import { sendgrid } from '../../../../../src/delivery/wire/providers/sendgrid/provider.ts';
import type { Egress } from '../../../../../src/platform/egress/client.ts';
import { mutatedBytes, mutatedJson } from '../../../../support/callback-fuzz.ts';

const now = new Date('2026-12-24T10:00:00Z');
const reference = '1-a-AAAAAAAAAAAAAAAAAAAAAA';
const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
const ownKey = publicKey.export({ format: 'der', type: 'spki' }).toString('base64');

interface Given {
  body: Buffer | string;
  signature?: string | undefined;
  timestamp?: string | undefined;
  key?: string | undefined;
}

function parse({ body, signature, timestamp, key }: Given): Promise<CallbackResult> {
  if (!sendgrid.callbacks) throw new Error('SendGrid has callbacks');
  const settings = sendgrid.settings.parse({ api_key: 'SG.0123456789.abcdefghijkl', verification_key: key });
  const request = {
    headers: {
      'x-twilio-email-event-webhook-signature': signature,
      'x-twilio-email-event-webhook-timestamp': timestamp,
    },
    body: Buffer.from(body),
    url: 'https://carillon.example/callbacks/sendgrid/token',
    now,
  };
  return sendgrid.callbacks.parseCallback(request, settings, {} as Egress);
}

/** Signs as SendGrid does. */
function parseSigned(events: unknown): Promise<CallbackResult> {
  const body = JSON.stringify(events);
  const timestamp = '1600112502';
  const signature = sign('sha256', Buffer.from(timestamp + body), privateKey).toString('base64');
  return parse({ body, signature, timestamp, key: ownKey });
}

async function factOf(event: object): Promise<ProviderFact | null> {
  const result = await parseSigned([event]);
  if (result.kind !== 'reports') throw new Error(JSON.stringify(result));
  return result.facts[0] ?? null;
}

/** The published examples of https://github.com/sendgrid/sendgrid-nodejs (packages/eventwebhook), with their signatures. */
const published = {
  dropped: {
    key: 'MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE83T4O/n84iotIvIW4mdBgQ/7dAfSmpqIM8kF9mN1flpVKS3GRqe62gw+2fNNRaINXvVpiglSI8eNEc6wEA3F+g==',
    signature:
      'MEUCIGHQVtGj+Y3LkG9fLcxf3qfI10QysgDWmMOVmxG0u6ZUAiEAyBiXDWzM+uOe5W0JuG+luQAbPIqHh89M15TluLtEZtM=',
    timestamp: '1600112502',
    body: `${JSON.stringify([
      {
        email: 'hello@world.com',
        event: 'dropped',
        reason: 'Bounced Address',
        sg_event_id: 'ZHJvcC0xMDk5NDkxOS1MUnpYbF9OSFN0T0doUTRrb2ZTbV9BLTA',
        sg_message_id: 'LRzXl_NHStOGhQ4kofSm_A.filterdrecv-p3mdw1-756b745b58-kmzbl-18-5F5FC76C-9.0',
        'smtp-id': '<LRzXl_NHStOGhQ4kofSm_A@ismtpd0039p1iad1.sendgrid.net>',
        timestamp: 1600112492,
      },
    ])}\r\n`,
  },
  several: {
    key: 'MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEQ4LIFtWztlsF7skFqOncjD1lun4H5w8XOhyOArHW9RcIx/FfEzx6cikC/yPfUvwaX/JScE7Fc9CJD2afQ9Ok3Q==',
    signature:
      'MEYCIQC/I4o6vCgqRYrTljjoVWB/GRWNtxeePlLMHr3x9ETeRQIhAIpV+03nREPTTHWSW0wIOA0EoMPdcNgXa70yCaqDJlu5',
    timestamp: '1619651159',
    body: `${JSON.stringify([
      {
        email: 'invalid@gmail.com',
        event: 'processed',
        send_at: 0,
        sg_event_id: 'cHJvY2Vzc2VkLTE5OTQyMTEyLXFOd0JMZ1BRUWpXNkRKdktRd1NBYnctMA',
        sg_message_id: 'qNwBLgPQQjW6DJvKQwSAbw.filterdrecv-canary-547b64655b-cw6zx-1-6089EA4A-56.0',
        'smtp-id': '<qNwBLgPQQjW6DJvKQwSAbw@ismtpd0178p1mdw1.sendgrid.net>',
        timestamp: 1619651146,
      },
      {
        email: 'invalid@gmail.com',
        event: 'bounce',
        ip: '167.89.101.76',
        reason:
          '552 5.2.2 The email account that you tried to reach is over quota and inactive. Please direct the recipient to https://support.google.com/mail/?p=OverQuotaPerm c17si1130468pgv.34 - gsmtp',
        sg_event_id: 'Ym91bmNlLTAtMTk5NDIxMTItcU53QkxnUFFRalc2REp2S1F3U0Fidy0w',
        sg_message_id: 'qNwBLgPQQjW6DJvKQwSAbw.filterdrecv-canary-547b64655b-cw6zx-1-6089EA4A-56.0',
        'smtp-id': '<qNwBLgPQQjW6DJvKQwSAbw@ismtpd0178p1mdw1.sendgrid.net>',
        status: '5.2.2',
        timestamp: 1619651147,
        tls: 1,
        type: 'blocked',
      },
    ])
      .split('},{')
      .join('},\r\n{')}\r\n`,
  },
};

describe('the signature of SendGrid', () => {
  it('of the published example with one event is accepted', async () => {
    expect(await parse(published.dropped)).toMatchObject({
      kind: 'reports',
      facts: [
        {
          // Carillon did not send the message of the example.
          reference: null,
          providerMessageId: 'LRzXl_NHStOGhQ4kofSm_A',
          type: 'bounced',
          bounce: { type: 'hard', subtype: 'provider_suppressed' },
          occurredAt: new Date(1600112492_000),
        },
      ],
    });
  });

  it('of the published example with two events is accepted, and a blocked message suppresses nothing', async () => {
    expect(await parse(published.several)).toMatchObject({
      kind: 'reports',
      facts: [
        { type: 'accepted' },
        { type: 'bounced', bounce: { type: 'soft', subtype: 'mailbox_full' }, suppresses: false },
      ],
    });
  });

  it.each([
    ['another key', { key: ownKey }],
    ['no key', { key: undefined }],
    ['another timestamp', { timestamp: '1600112503' }],
    ['no timestamp', { timestamp: undefined }],
    ['another body', { body: published.dropped.body.trimEnd() }],
    ['no signature', { signature: undefined }],
    ['an empty signature', { signature: '' }],
    ['the signature of another body', { signature: published.several.signature }],
  ])('is wrong with %s', async (_what, given) => {
    expect(await parse({ ...published.dropped, ...given })).toMatchObject({ kind: 'refused' });
  });

  it('is wrong if anything in the body is changed', async () => {
    const original = Buffer.from(published.several.body);
    for (const body of mutatedBytes(original, 300)) {
      if (body.equals(original)) continue;
      expect(await parse({ ...published.several, body })).toMatchObject({ kind: 'refused' });
    }
  });
});

/** Events of https://www.twilio.com/docs/sendgrid/for-developers/tracking-events/event, with the argument of Carillon. */
const example = {
  email: 'example@test.com',
  timestamp: 1513299569,
  'smtp-id': '<14c5d75ce93.dfd.64b469@ismtpd-555>',
  sg_event_id: 'rbtnWrG1DVDGGGFHFyun0A==',
  sg_message_id: '14c5d75ce93.dfd.64b469.filter0001.16648.5515E0B88.000000000000000000000',
  carillon_reference: reference,
};

describe('an event of SendGrid', () => {
  it('reports acceptance, delivery, delay and complaints', async () => {
    expect(await factOf({ ...example, event: 'processed' })).toMatchObject({
      type: 'accepted',
      reference,
      providerMessageId: '14c5d75ce93.dfd.64b469',
      occurredAt: new Date(1513299569_000),
    });
    expect(await factOf({ ...example, event: 'delivered', response: '250 OK' })).toMatchObject({
      type: 'delivered',
      response: '250 OK',
    });
    const response = '400 try again later';
    expect(await factOf({ ...example, event: 'deferred', response, attempt: '5' })).toMatchObject({
      type: 'deferred',
      response,
    });
    expect(await factOf({ ...example, event: 'spamreport' })).toMatchObject({
      type: 'complained',
      suppresses: true,
    });
  });

  it.each([
    ['bounce', '5.0.0', '500 unknown recipient', 'hard', 'no_such_mailbox', true],
    ['bounce', '5.1.1', '550 5.1.1 The email account does not exist', 'hard', 'no_such_mailbox', true],
    ['bounce', undefined, 'rejected', 'hard', 'other', true],
    ['bounce', '5.7.1', '550 5.7.1 Message rejected due to spam', 'soft', 'blocked', false],
    ['blocked', '5.7.1', '550 5.7.1 blocked', 'soft', 'blocked', false],
    ['blocked', '5.1.1', '550 5.1.1 no such user', 'soft', 'blocked', false],
    ['expired', '4.2.1', '450 4.2.1 try later', 'soft', 'expired', true],
    ['expired', undefined, 'unable to get mx info', 'soft', 'expired', false],
  ])(
    'with type %s, status %s and reason %j is a bounce',
    async (type, status, reason, kind, subtype, suppresses) => {
      expect(await factOf({ ...example, event: 'bounce', type, status, reason })).toMatchObject({
        type: 'bounced',
        bounce: { type: kind, subtype },
        suppresses,
      });
    },
  );

  it.each([
    ['Bounced Address', 'hard', 'provider_suppressed', true],
    ['Spam Reporting Address', 'hard', 'provider_suppressed', true],
    ['Invalid', 'hard', 'bad_address', true],
    ['Unsubscribed Address', 'hard', 'provider_suppressed', false],
    ['Spam Content', 'soft', 'other', false],
    ['Recipient List over Package Quota', 'soft', 'other', false],
  ])('of a message dropped because of %s is a bounce', async (reason, type, subtype, suppresses) => {
    expect(await factOf({ ...example, event: 'dropped', reason, status: '5.0.0' })).toMatchObject({
      type: 'bounced',
      bounce: { type, subtype, diagnostic: reason },
      suppresses,
    });
  });

  it.each(['open', 'click', 'unsubscribe', 'group_unsubscribe', 'constructor', ''])(
    'of type %j is ignored',
    async (event) => {
      expect(await factOf({ ...example, event })).toBeNull();
    },
  );

  it('that is malformed does not affect the others of its batch', async () => {
    const good = { ...example, event: 'delivered' };
    expect(await parseSigned([null, good, 7, { event: 5 }, [], good])).toMatchObject({
      kind: 'reports',
      facts: [{ type: 'delivered' }, { type: 'delivered' }],
      ignored: 4,
    });
  });

  it('is never dated in the future', async () => {
    expect(await factOf({ ...example, event: 'delivered', timestamp: 1e12 })).toMatchObject({
      occurredAt: now,
    });
  });

  it('never throws, whatever it contains', async () => {
    const events = [
      { ...example, event: 'bounce', type: 'bounce', status: '5.0.0', reason: '500 unknown recipient' },
      { ...example, event: 'dropped', reason: 'Bounced Address' },
    ];
    for (const mutated of mutatedJson(events, 500)) {
      expect(['reports', 'refused']).toContain((await parseSigned(mutated)).kind);
    }
  });
});
