// Postmark events are classified as bounces, deliveries or complaints, and other events are ignored.
import { describe, expect, it } from '@jest/globals';
import type { CallbackResult, ProviderFact } from '../../../../../src/delivery/wire/adapters/kind.ts';
import { postmark } from '../../../../../src/delivery/wire/providers/postmark/provider.ts';
import type { Egress } from '../../../../../src/platform/egress/client.ts';
import { mutatedBytes, mutatedJson } from '../../../../support/callback-fuzz.ts';

const now = new Date('2026-12-24T10:00:00Z');
const reference = '1-a-AAAAAAAAAAAAAAAAAAAAAA';

function parse(body: Buffer | string): Promise<CallbackResult> {
  if (!postmark.callbacks) throw new Error('Postmark has callbacks');
  const url = 'https://carillon.example/callbacks/postmark/token';
  const settings = postmark.settings.parse({ server_token: 'server-token' });
  const request = { headers: {}, body: Buffer.from(body), url, now };
  return postmark.callbacks.parseCallback(request, settings, {} as Egress);
}

async function factOf(event: object): Promise<ProviderFact | null> {
  const result = await parse(JSON.stringify(event));
  if (result.kind !== 'reports') throw new Error(JSON.stringify(result));
  return result.facts[0] ?? null;
}

/** https://postmarkapp.com/developer/webhooks/bounce-webhook, with the metadata of Carillon. */
const bounce = {
  RecordType: 'Bounce',
  ID: 42,
  Type: 'HardBounce',
  TypeCode: 1,
  Name: 'Hard bounce',
  Tag: 'Test',
  MessageID: '883953f4-6105-42a2-a16a-77a8eac79483',
  Metadata: { carillon_reference: reference, message_id: '7' },
  ServerID: 1234,
  Description: 'The server was unable to deliver your message (ex: unknown user, mailbox not found).',
  Details: 'Test bounce details',
  Email: 'john@example.com',
  From: 'sender@example.com',
  BouncedAt: '2014-08-01T13:28:10.2735393-04:00',
  DumpAvailable: true,
  Inactive: true,
  CanActivate: true,
  Subject: 'Test subject',
  MessageStream: 'outbound',
};

describe('an event of Postmark', () => {
  it('reports a bounce', async () => {
    expect(await factOf(bounce)).toEqual({
      reference,
      providerMessageId: '883953f4-6105-42a2-a16a-77a8eac79483',
      type: 'bounced',
      occurredAt: new Date('2014-08-01T17:28:10.273Z'),
      response: 'Test bounce details',
      bounce: { type: 'hard', subtype: 'other', diagnostic: 'Test bounce details' },
      failure: null,
      suppresses: true,
    });
  });

  it.each([
    ['HardBounce', 'smtp;550 5.1.1 The email account does not exist', 'hard', 'no_such_mailbox', true],
    ['HardBounce', 'smtp;550 5.7.1 rejected as spam', 'soft', 'blocked', false],
    ['SoftBounce', 'smtp;452 4.2.2 The email account is over quota', 'soft', 'mailbox_full', true],
    ['SoftBounce', '', 'soft', 'other', false],
    ['BadEmailAddress', 'x', 'hard', 'bad_address', true],
    ['ManuallyDeactivated', 'x', 'hard', 'provider_suppressed', false],
    ['SpamNotification', 'smtp;550 5.1.1 spam', 'soft', 'blocked', false],
    ['Blocked', 'smtp;550 5.1.1 blocked', 'soft', 'blocked', false],
    ['DMARCPolicy', 'x', 'soft', 'blocked', false],
    ['VirusNotification', 'x', 'soft', 'blocked', false],
    ['TemplateRenderingFailed', 'x', 'soft', 'other', false],
    ['Unknown', '', 'soft', 'other', false],
  ])('classifies %s (%s)', async (Type, Details, type, subtype, suppresses) => {
    expect(await factOf({ ...bounce, Type, Details })).toMatchObject({
      type: 'bounced',
      bounce: { type, subtype },
      suppresses,
    });
  });

  it.each(['Transient', 'DnsError'])('reports %s as a delay', async (Type) => {
    expect(await factOf({ ...bounce, Type })).toMatchObject({ type: 'deferred', suppresses: false });
  });

  it.each([
    'AutoResponder',
    'AddressChange',
    'ChallengeVerification',
    'Subscribe',
    'InboundError',
    'constructor',
  ])('ignores the automatic reply %s', async (Type) => {
    expect(await factOf({ ...bounce, Type })).toBeNull();
  });

  it('reports a delivery', async () => {
    /** https://postmarkapp.com/developer/webhooks/delivery-webhook */
    const delivery = {
      RecordType: 'Delivery',
      ServerID: 23,
      MessageStream: 'outbound',
      MessageID: '00000000-0000-0000-0000-000000000000',
      Recipient: 'john@example.com',
      Tag: 'welcome-email',
      DeliveredAt: '2021-02-21T16:34:52Z',
      Details: 'smtp;250 2.0.0 OK',
      Metadata: { carillon_reference: reference },
    };
    expect(await factOf(delivery)).toMatchObject({
      type: 'delivered',
      reference,
      response: 'smtp;250 2.0.0 OK',
      occurredAt: new Date('2021-02-21T16:34:52Z'),
    });
  });

  it('reports complaints, in each form that Postmark has', async () => {
    const complaint = { type: 'complained', suppresses: true, reference };
    expect(await factOf({ ...bounce, RecordType: 'SpamComplaint', Type: 'SpamComplaint' })).toMatchObject(
      complaint,
    );
    expect(await factOf({ ...bounce, Type: 'SpamComplaint' })).toMatchObject(complaint);
    /** https://postmarkapp.com/developer/webhooks/subscription-change-webhook */
    const change = {
      RecordType: 'SubscriptionChange',
      MessageID: '883953f4-6105-42a2-a16a-77a8eac79483',
      ServerID: 123456,
      MessageStream: 'outbound',
      ChangedAt: '2020-02-01T10:53:34.416071Z',
      Recipient: 'bounced-address@wildbit.com',
      Origin: 'Recipient',
      SuppressSending: true,
      SuppressionReason: 'SpamComplaint',
      Tag: 'my-tag',
      Metadata: { carillon_reference: reference },
    };
    expect(await factOf(change)).toMatchObject({
      ...complaint,
      occurredAt: new Date('2020-02-01T10:53:34.416Z'),
    });
    expect(await factOf({ ...change, SuppressionReason: 'HardBounce' })).toBeNull();
    expect(
      await factOf({ ...change, SuppressionReason: 'ManualSuppression', Origin: 'Customer' }),
    ).toBeNull();
    expect(await factOf({ ...change, SuppressSending: false })).toBeNull();
  });

  it.each(['Open', 'Click', 'Inbound', 'toString'])('ignores %s', async (RecordType) => {
    expect(await factOf({ ...bounce, RecordType })).toBeNull();
  });

  it('about mail from elsewhere has no reference', async () => {
    expect(await factOf({ ...bounce, Metadata: { user_id: 43 } })).toMatchObject({ reference: null });
    expect(await factOf({ ...bounce, Metadata: undefined })).toMatchObject({ reference: null });
  });

  it('is refused if it is not an object', async () => {
    for (const body of ['', '[]', 'null', '7', '{', 'x'.repeat(10_000)]) {
      expect(await parse(body)).toMatchObject({ kind: 'refused' });
    }
  });

  it('never throws, whatever it contains', async () => {
    for (const body of mutatedBytes(Buffer.from(JSON.stringify(bounce)), 1_000)) {
      expect(['reports', 'refused']).toContain((await parse(body)).kind);
    }
    for (const event of mutatedJson(bounce, 500)) {
      const result = await parse(JSON.stringify(event));
      if (result.kind !== 'reports') continue;
      for (const { reference: found } of result.facts) expect(found?.length ?? 0).toBeLessThanOrEqual(2_000);
    }
  });
});
