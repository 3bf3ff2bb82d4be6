// Amazon SES events count only if Amazon SNS signed them for the configured topic.
import { createSign } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { CallbackResult, ProviderFact } from '../../../../../src/delivery/wire/adapters/kind.ts';
import { ses } from '../../../../../src/delivery/wire/providers/ses/provider.ts';
import type { Egress } from '../../../../../src/platform/egress/client.ts';
import { mutatedBytes, mutatedJson } from '../../../../support/callback-fuzz.ts';
import { type ProviderApi, startProviderApi } from '../../../../support/provider-api.ts';

const fixture = (name: string) =>
  readFileSync(new URL(`../../../../support/tls/${name}`, import.meta.url), 'utf8');
const certificate = fixture('sns.pem');
const signingKey = fixture('sns-key.pem');
const now = new Date('2026-12-24T10:00:00Z');
const topic = 'arn:aws:sns:us-east-1:123456789012:ses-events';
const reference = '1-a-AAAAAAAAAAAAAAAAAAAAAA';

let api: ProviderApi;
let egress: Egress;
/** The requests to Amazon's hosts. */
let requested: string[];
/** A new path for each test, because certificates are cached by their URL. */
let certificates = 0;
let certificateUrl: string;

beforeAll(async () => {
  api = await startProviderApi();
  // The test's server stands in for Amazon's hosts.
  egress = {
    ...api.deps.egress,
    request: (request) => {
      requested.push(request.url);
      const { host, pathname } = new URL(request.url);
      if (!host.endsWith('.amazonaws.com')) throw new Error(`request to ${request.url}`);
      return api.deps.egress.request({ ...request, url: `${api.baseUrl}${pathname}` });
    },
  };
});
afterAll(() => api.close());
beforeEach(() => {
  requested = [];
  certificates += 1;
  certificateUrl = `https://sns.us-east-1.amazonaws.com/SimpleNotificationService-${certificates.toString(16)}.pem`;
  api.answer = (_request, response) => void response.end(certificate);
});

type SnsFields = Record<string, string | undefined>;

/** Signs a message as SNS does. */
function signed(fields: SnsFields): SnsFields {
  const names =
    fields.Type === 'Notification'
      ? ['Message', 'MessageId', 'Subject', 'Timestamp', 'TopicArn', 'Type']
      : ['Message', 'MessageId', 'SubscribeURL', 'Timestamp', 'Token', 'TopicArn', 'Type'];
  const text = names.map((name) => (fields[name] === undefined ? '' : `${name}\n${fields[name]}\n`)).join('');
  const signer = createSign(fields.SignatureVersion === '1' ? 'RSA-SHA1' : 'RSA-SHA256').update(text);
  return { ...fields, Signature: signer.sign(signingKey, 'base64') };
}

function notification(event: unknown, given: SnsFields = {}): SnsFields {
  return signed({
    Type: 'Notification',
    MessageId: '19ba9823-d7f2-53c1-860e-cb10e0d13dfc',
    TopicArn: topic,
    Subject: 'Amazon SES Email Event Notification',
    Message: typeof event === 'string' ? event : `${JSON.stringify(event)}\n`,
    Timestamp: '2026-12-24T09:59:59.675Z',
    SignatureVersion: '2',
    SigningCertURL: certificateUrl,
    ...given,
  });
}

/** As in the example of https://docs.aws.amazon.com/sns/latest/dg/http-subscription-confirmation-json.html */
function confirmation(given: SnsFields = {}): SnsFields {
  return signed({
    Type: 'SubscriptionConfirmation',
    MessageId: '165545c9-2a5c-472c-8df2-7ff2be2b3b1b',
    Token: '2336412f37f',
    TopicArn: topic,
    Message: `You have chosen to subscribe to the topic ${topic}.\nTo confirm, visit the SubscribeURL.`,
    SubscribeURL: `https://sns.us-east-1.amazonaws.com/?Action=ConfirmSubscription&TopicArn=${topic}&Token=2336412f37f`,
    Timestamp: '2026-12-24T09:59:59.675Z',
    SignatureVersion: '1',
    SigningCertURL: certificateUrl,
    ...given,
  });
}

function parse(body: SnsFields | Buffer, options: object = {}): Promise<CallbackResult> {
  const settings = ses.settings.parse({
    region: 'us-east-1',
    access_key_id: 'AKIAIOSFODNN7EXAMPLE',
    secret_access_key: 'wJalrXUtnFEMI/K7MDENG',
    topic_arn: topic,
    ...options,
  });
  const request = {
    headers: { 'content-type': 'text/plain; charset=UTF-8' },
    body: Buffer.isBuffer(body) ? body : Buffer.from(JSON.stringify(body)),
    url: 'https://carillon.example/callbacks/ses/token',
    now,
  };
  if (!ses.callbacks) throw new Error('SES has callbacks');
  return ses.callbacks.parseCallback(request, settings, egress);
}

async function factOf(event: unknown): Promise<ProviderFact | null> {
  const result = await parse(notification(event));
  if (result.kind !== 'reports') throw new Error(JSON.stringify(result));
  return result.facts[0] ?? null;
}

/** `mail` of the published examples, with the tag of a message that Carillon sent. */
const mail = {
  timestamp: '2017-08-05T00:40:02.012Z',
  source: 'Sender Name <sender@example.com>',
  sourceArn: 'arn:aws:ses:us-east-1:123456789012:identity/sender@example.com',
  sendingAccountId: '123456789012',
  messageId: 'EXAMPLE7c191be45-e9aedb9a-02f9-4d12-a87d-dd0099a07f8a-000000',
  destination: ['recipient@example.com'],
  headersTruncated: false,
  headers: [{ name: 'From', value: 'Sender Name <sender@example.com>' }],
  tags: { 'ses:configuration-set': ['ConfigSet'], carillon_reference: [reference] },
};

/** https://docs.aws.amazon.com/ses/latest/dg/event-publishing-retrieving-sns-examples.html */
const bounceEvent = {
  eventType: 'Bounce',
  bounce: {
    bounceType: 'Permanent',
    bounceSubType: 'General',
    bouncedRecipients: [
      {
        emailAddress: 'recipient@example.com',
        action: 'failed',
        status: '5.1.1',
        diagnosticCode: 'smtp; 550 5.1.1 user unknown',
      },
    ],
    timestamp: '2017-08-05T00:41:02.669Z',
    feedbackId: '01000157c44f053b-61b59c11-9236-11e6-8f96-7be8aexample-000000',
    reportingMTA: 'dsn; mta.example.com',
  },
  mail,
};

function bounce(bounceType: string, bounceSubType: string, recipient: object = {}) {
  return {
    ...bounceEvent,
    bounce: { ...bounceEvent.bounce, bounceType, bounceSubType, bouncedRecipients: [recipient] },
  };
}

describe('an event of Amazon SES', () => {
  it('reports a bounce', async () => {
    expect(await factOf(bounceEvent)).toEqual({
      reference,
      providerMessageId: mail.messageId,
      type: 'bounced',
      occurredAt: new Date('2017-08-05T00:41:02.669Z'),
      response: '550 5.1.1 user unknown',
      bounce: { type: 'hard', subtype: 'no_such_mailbox', diagnostic: '550 5.1.1 user unknown' },
      failure: null,
      suppresses: true,
    });
  });

  it.each([
    ['Permanent', 'NoEmail', {}, 'hard', 'no_such_mailbox', true],
    ['Permanent', 'General', {}, 'hard', 'other', true],
    ['Permanent', 'Suppressed', {}, 'hard', 'provider_suppressed', true],
    ['Permanent', 'OnAccountSuppressionList', {}, 'hard', 'provider_suppressed', true],
    [
      'Permanent',
      'General',
      { diagnosticCode: 'smtp; 550 5.7.1 blocked by spam policy' },
      'soft',
      'blocked',
      false,
    ],
    [
      'Permanent',
      'General',
      { status: '5.2.2', diagnosticCode: 'smtp; 552 over quota' },
      'soft',
      'mailbox_full',
      true,
    ],
    ['Transient', 'MailboxFull', {}, 'soft', 'mailbox_full', true],
    ['Transient', 'MessageTooLarge', {}, 'soft', 'other', false],
    ['Transient', 'ContentRejected', {}, 'soft', 'other', false],
    ['Transient', 'General', {}, 'soft', 'other', false],
    ['Undetermined', 'Undetermined', {}, 'soft', 'other', false],
  ])('classifies %s %s %j', async (type, subtype, recipient, bounceType, expected, suppresses) => {
    expect(await factOf(bounce(type, subtype, recipient))).toMatchObject({
      type: 'bounced',
      bounce: { type: bounceType, subtype: expected },
      suppresses,
    });
  });

  it('reports acceptance, delivery and delay', async () => {
    expect(await factOf({ eventType: 'Send', mail, send: {} })).toMatchObject({
      type: 'accepted',
      occurredAt: new Date('2017-08-05T00:40:02.012Z'),
      reference,
    });
    const delivery = {
      timestamp: '2016-10-19T23:21:04.133Z',
      processingTimeMillis: 11893,
      recipients: ['recipient@example.com'],
      smtpResponse: '250 2.6.0 Message received',
      reportingMTA: 'mta.example.com',
    };
    expect(await factOf({ eventType: 'Delivery', mail, delivery })).toMatchObject({
      type: 'delivered',
      response: '250 2.6.0 Message received',
      occurredAt: new Date('2016-10-19T23:21:04.133Z'),
    });
    const deliveryDelay = {
      timestamp: '2020-06-16T00:25:40.095Z',
      delayType: 'TransientCommunicationFailure',
      expirationTime: '2020-06-16T00:25:40.914Z',
      delayedRecipients: [
        {
          emailAddress: 'recipient@example.com',
          status: '4.4.1',
          diagnosticCode: 'smtp; 421 4.4.1 Unable to connect to remote host',
        },
      ],
    };
    expect(await factOf({ eventType: 'DeliveryDelay', mail, deliveryDelay })).toMatchObject({
      type: 'deferred',
      response: 'smtp; 421 4.4.1 Unable to connect to remote host',
    });
  });

  it('reports a complaint, unless the recipient reports that the message is not spam', async () => {
    const complaint = {
      complainedRecipients: [{ emailAddress: 'recipient@example.com' }],
      timestamp: '2017-08-05T00:41:02.669Z',
      complaintFeedbackType: 'abuse',
    };
    expect(await factOf({ eventType: 'Complaint', mail, complaint })).toMatchObject({
      type: 'complained',
      suppresses: true,
      reference,
    });
    const noSpam = { ...complaint, complaintFeedbackType: 'not-spam' };
    expect(await factOf({ eventType: 'Complaint', mail, complaint: noSpam })).toBeNull();
  });

  it('reports a message that SES did not send as a bounce that suppresses nothing', async () => {
    expect(await factOf({ eventType: 'Reject', mail, reject: { reason: 'Bad content' } })).toMatchObject({
      type: 'bounced',
      bounce: { type: 'soft', subtype: 'other', diagnostic: 'Bad content' },
      suppresses: false,
    });
    const failure = { errorMessage: "Attribute 'x' is not present", templateName: 'MyTemplate' };
    expect(await factOf({ eventType: 'Rendering Failure', mail, failure })).toMatchObject({
      type: 'bounced',
      suppresses: false,
    });
  });

  it.each(['Open', 'Click', 'Subscription', 'constructor', '__proto__'])('ignores %s', async (eventType) => {
    expect(await factOf({ eventType, mail })).toBeNull();
  });

  it('is also read in the older format, with the reference from Message-ID', async () => {
    const { eventType: notificationType, ...rest } = bounceEvent;
    const headers = [{ name: 'Message-ID', value: `<${reference}@mail.example.com>` }];
    const old = { ...rest, notificationType, mail: { ...mail, tags: undefined, headers } };
    expect(await factOf(old)).toMatchObject({ type: 'bounced', reference });
    expect(await factOf({ ...old, mail: { ...mail, tags: undefined } })).toMatchObject({ reference: null });
  });

  it('is never dated in the future', async () => {
    const future = { ...bounceEvent, bounce: { ...bounceEvent.bounce, timestamp: '2099-01-01T00:00:00Z' } };
    expect(await factOf(future)).toMatchObject({ occurredAt: now });
  });

  it('that cannot be read is ignored', async () => {
    const text = 'Successfully validated SNS topic for Amazon SES event publishing.';
    expect(await parse(notification(text))).toMatchObject({ kind: 'reports', facts: [], ignored: 1 });
  });
});

describe('the signature of Amazon SNS', () => {
  it.each(['1', '2'])('of version %s is accepted', async (SignatureVersion) => {
    const result = await parse(notification(bounceEvent, { SignatureVersion }));
    expect(result).toMatchObject({ kind: 'reports', facts: [{ type: 'bounced' }] });
  });

  it.each([
    ['Message', JSON.stringify({ eventType: 'Complaint', mail })],
    ['MessageId', 'another'],
    ['Subject', 'another'],
    ['Timestamp', '2026-12-24T09:59:58.675Z'],
    ['Signature', 'AAAA'],
    ['SignatureVersion', '1'],
    ['SignatureVersion', '3'],
    ['SignatureVersion', 'toString'],
  ])('is wrong if %s is changed to %s', async (field, value) => {
    const result = await parse({ ...notification(bounceEvent), [field]: value });
    expect(result).toMatchObject({ kind: 'refused' });
  });

  it.each([
    'https://sns.us-east-1.amazonaws.com.evil.example/SimpleNotificationService-1.pem',
    'https://evil.example/SimpleNotificationService-1.pem',
    'https://sns.us-east-1.amazonaws.com@evil.example/SimpleNotificationService-1.pem',
    'https://evil-sns.us-east-1.amazonaws.com/SimpleNotificationService-1.pem',
    'https://sns.s3.amazonaws.com/SimpleNotificationService-1.pem',
    'https://s3.us-east-1.amazonaws.com/SimpleNotificationService-1.pem',
    'http://sns.us-east-1.amazonaws.com/SimpleNotificationService-1.pem',
    'https://sns.us-east-1.amazonaws.com:8443/SimpleNotificationService-1.pem',
    'https://sns.us-east-1.amazonaws.com/evil/SimpleNotificationService-1.pem',
    'https://sns.us-east-1.amazonaws.com/?Action=x&y=/SimpleNotificationService-1.pem',
    'https://sns.us-east-1.amazonaws.com/SimpleNotificationService-1.pem?x=y',
    'file:///etc/passwd',
    '',
  ])('with a certificate at %s is refused without a request', async (SigningCertURL) => {
    const result = await parse(notification(bounceEvent, { SigningCertURL }));
    expect(result).toMatchObject({ kind: 'refused' });
    expect(requested).toEqual([]);
  });

  it('needs one request for the certificate, even for concurrent callbacks', async () => {
    await Promise.all([1, 2, 3].map(() => parse(notification(bounceEvent))));
    await parse(notification(bounceEvent));
    expect(requested).toEqual([certificateUrl]);
  });

  it('is checked again later if the certificate cannot be fetched', async () => {
    api.answer = (_request, response) => void response.writeHead(503).end();
    expect(await parse(notification(bounceEvent))).toMatchObject({ kind: 'unavailable' });
    api.answer = (_request, response) => void response.end('not a certificate');
    expect(await parse(notification(bounceEvent))).toMatchObject({ kind: 'unavailable' });
    api.answer = (_request, response) => void response.end(certificate);
    expect(await parse(notification(bounceEvent))).toMatchObject({ kind: 'reports' });
  });
});

describe('a callback of Amazon SNS', () => {
  it('asks to confirm the subscription to the topic of the settings', async () => {
    for (const SignatureVersion of ['1', '2']) {
      expect(await parse(confirmation({ SignatureVersion }))).toEqual({
        kind: 'confirm',
        url: `https://sns.us-east-1.amazonaws.com/?Action=ConfirmSubscription&TopicArn=${topic}&Token=2336412f37f`,
      });
    }
  });

  it('of another topic, or without one in the settings, is refused', async () => {
    const TopicArn = 'arn:aws:sns:us-east-1:210987654321:ses-events';
    expect(await parse(confirmation({ TopicArn }))).toMatchObject({ kind: 'refused' });
    expect(await parse(notification(bounceEvent, { TopicArn }))).toMatchObject({ kind: 'refused' });
    expect(await parse(confirmation(), { topic_arn: undefined })).toMatchObject({ kind: 'refused' });
    expect(requested).toEqual([]);
  });

  it.each([
    'https://evil.example/?Action=ConfirmSubscription',
    'https://sns.us-east-1.amazonaws.com/?Action=Unsubscribe',
    `https://sns.us-east-1.amazonaws.com/?Action=ConfirmSubscription&TopicArn=${topic}x`,
  ])('does not confirm at %s', async (SubscribeURL) => {
    expect(await parse(confirmation({ SubscribeURL }))).toMatchObject({ kind: 'refused' });
  });

  it('that ends the subscription is not confirmed', async () => {
    const result = await parse(confirmation({ Type: 'UnsubscribeConfirmation' }));
    expect(result).toMatchObject({ kind: 'reports', facts: [] });
  });

  it('is accepted only with its signature, whatever its bytes', async () => {
    const valid = Buffer.from(JSON.stringify(notification(bounceEvent)));
    for (const body of mutatedBytes(valid, 300)) {
      const result = await parse(body);
      // A changed byte between fields, or in an unsigned field, has no effect.
      if (result.kind === 'reports') expect(result.facts).toMatchObject([{ reference, type: 'bounced' }]);
      else expect(['refused', 'unavailable']).toContain(result.kind);
    }
  });

  it('never throws, whatever an event contains', async () => {
    const { Signature: _signature, ...fields } = notification(bounceEvent);
    for (const message of mutatedJson(bounceEvent, 300)) {
      expect(await parse(signed({ ...fields, Message: JSON.stringify(message) }))).toMatchObject({
        kind: 'reports',
      });
    }
    for (const body of mutatedJson(notification(bounceEvent), 200)) {
      const result = await parse(Buffer.from(JSON.stringify(body)));
      expect(['refused', 'reports']).toContain(result.kind);
    }
  });
});
