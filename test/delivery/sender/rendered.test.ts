// A message without stored content is rendered from its version and contact, with its headers, links and tracking.
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import PostalMime from 'postal-mime';
import type { ContentEngine, VersionContent } from '../../../src/delivery/content/templates/content.ts';
import { createContentEngine } from '../../../src/delivery/content/templates/engine.ts';
import type { SharedValues } from '../../../src/delivery/sender/compose/shared-values.ts';
import { VersionMissingError } from '../../../src/delivery/content/templates/versions.ts';
import type { OutgoingSms, SmsProvider } from '../../../src/delivery/wire/adapters/port.ts';
import type { HandOverOutcome } from '../../../src/delivery/terms/hand-over-outcome.ts';
import { createSmtpProvider } from '../../../src/delivery/wire/providers/smtp/hand-over.ts';
import type { BatchMessage } from '../../../src/delivery/ledger/intend/batch.ts';
import { createEmailChannel } from '../../../src/delivery/sender/email/hand-over.ts';
import { createSmsChannel } from '../../../src/delivery/sender/sms/hand-over.ts';
import type { ProviderChannel } from '../../../src/delivery/sender/compose/provider-channel.ts';
import type { ContentSources } from '../../../src/delivery/sender/compose/version-groups.ts';
import { createLinkTracker } from '../../../src/features/tracking/links.ts';
import { createRecipientPages } from '../../../src/features/unsubscribe/service.ts';
import { parseUnsubscribeToken } from '../../../src/features/unsubscribe/tokens.ts';
import { emailSettings, startSmtpServer, type TestSmtpServer } from '../../support/sending.ts';
import { trackingTokens } from '../../support/tracking.ts';
import { testKeyring } from '../../support/webhooks.ts';

const PUBLIC_URL = 'https://carillon.test/app';
const HTML =
  '<html><body><p>Hi {{ contact.first_name | default: "you" }} of {{ contact.data.plan }}, {{ brand.company_name }}</p>' +
  '<a href="https://shop.test/a?x=1&amp;y=2">A</a><a href="https://shop.test/b">B</a>' +
  '<a href="{{ unsubscribe_url }}">leave</a><a href="{{ preferences_url }}">lists</a></body></html>';
const TEXT = 'Hi {{ contact.first_name }}\nhttps://shop.test/a\n{{ unsubscribe_url }}';

const version: VersionContent = {
  id: 12,
  templateId: 3,
  accountId: 7,
  brandId: 2,
  channel: 'email',
  subject: 'News for {{ contact.first_name }} in {{ campaign.name }}',
  preheader: null,
  html: HTML,
  text: TEXT,
  paths: ['data.plan', 'first_name'],
  segments: null,
  fromName: null,
  fromEmail: null,
  replyTo: null,
};

const shared: SharedValues = {
  brand: { company_name: 'Acme & Co' },
  campaign: { id: 4, name: 'Spring' },
  linkParameters: [],
};

function messageOf(
  n: number,
  contact: Record<string, unknown>,
  changes: Partial<BatchMessage> = {},
): BatchMessage {
  return {
    messageId: 1_000 + n,
    attempt: 1,
    epoch: 1,
    uncertain: false,
    verdict: 'send',
    accountId: 7,
    brandId: 2,
    hasContacts: true,
    domainId: null,
    channel: 'email',
    class: 2,
    providerId: 0,
    queuedAt: new Date(0),
    createdAt: new Date(0),
    to: `reader${n}@example.com`,
    from: 'Acme <news@acme.test>',
    replyTo: 'help@acme.test',
    subject: null,
    html: null,
    text: null,
    headers: null,
    tags: null,
    tracking: {
      opens: true,
      clicks: true,
      host: 'https://t.test',
      own: PUBLIC_URL,
      key: trackingTokens.keyId,
    },
    idempotencyKey: null,
    segments: null,
    contentVersionId: 12,
    campaign: { id: 4, name: 'Spring', variant: 0, contactId: 500 + n, contact },
    ...changes,
  };
}

let server: TestSmtpServer;
let engine: ContentEngine;
const channels: ProviderChannel[] = [];

beforeAll(async () => {
  server = await startSmtpServer();
  engine = createContentEngine({ threads: 1 });
});
afterEach(async () => {
  server.received.length = 0;
  await Promise.all(channels.splice(0).map((channel) => channel.close()));
});
afterAll(async () => {
  await engine.close();
  await server.stop();
});

const sources = (changes: Partial<ContentSources> = {}): ContentSources => ({
  versions: () => version,
  shared: () => shared,
  engine,
  pages: createRecipientPages(testKeyring, PUBLIC_URL),
  ...changes,
});

function openChannel(changes: Partial<ContentSources> = {}): ProviderChannel {
  const target = { host: '127.0.0.1', port: server.port, security: 'none', clientName: 'mail.test' } as const;
  const links = createLinkTracker(trackingTokens);
  const settings = { ...emailSettings({ links }), contents: sources(changes) };
  const channel = createEmailChannel(createSmtpProvider({ target, connections: 1 }), settings);
  channels.push(channel);
  return channel;
}

/** The mails of a batch, by recipient. */
async function send(messages: BatchMessage[], changes: Partial<ContentSources> = {}) {
  const outcomes = await openChannel(changes).handOver(messages);
  const mails = await Promise.all(
    server.received.map(async ({ to, raw }) => [to, await PostalMime.parse(raw)] as const),
  );
  server.received.length = 0;
  return { outcomes, mails: new Map(mails) };
}

const headersOf = (mail: Awaited<ReturnType<typeof PostalMime.parse>> | undefined) =>
  Object.fromEntries((mail?.headers ?? []).map(({ key, value }) => [key, value]));

let nextVersion = 100;

/** The sources with another version: an engine knows versions by their ids. */
function withHtml(html: string): Partial<ContentSources> {
  const other = { ...version, html, id: (nextVersion += 1) };
  return { versions: () => other };
}

describe('a message without stored content', () => {
  it('is rendered from its version with the values of its contact', async () => {
    const { mails } = await send([
      messageOf(1, { first_name: 'Ada <3', 'data.plan': 'pro' }),
      messageOf(2, {}),
    ]);
    const [ada, other] = [mails.get('reader1@example.com'), mails.get('reader2@example.com')];
    expect(ada?.subject).toBe('News for Ada <3 in Spring');
    expect(ada?.html).toContain('<p>Hi Ada &lt;3 of pro, Acme &amp; Co</p>');
    expect(ada?.text).toContain('Hi Ada <3\n');
    expect(other?.html).toContain('<p>Hi you of , Acme &amp; Co</p>');
    expect(other?.replyTo).toEqual([expect.objectContaining({ address: 'help@acme.test' })]);
  });

  it('has the headers of bulk mail and of one-click unsubscribe', async () => {
    const { mails } = await send([messageOf(1, {})]);
    const headers = headersOf(mails.get('reader1@example.com'));
    expect(headers).toMatchObject({
      precedence: 'bulk',
      'feedback-id': '4:2:campaign:carillon',
      'list-unsubscribe-post': 'List-Unsubscribe=One-Click',
    });
    const token = /^<https:\/\/carillon\.test\/app\/unsubscribe\/(.*)>$/.exec(
      headers['list-unsubscribe'] ?? '',
    )?.[1];
    expect(parseUnsubscribeToken(testKeyring, token ?? '')).toMatchObject({
      accountId: 7,
      brandId: 2,
      source: { messageId: 1_001 },
    });
  });

  it('is tracked, except the links to unsubscribe and to the preferences', async () => {
    const { mails } = await send([messageOf(1, {})]);
    const html = mails.get('reader1@example.com')?.html ?? '';
    const targets = [...html.matchAll(/https:\/\/t\.test\/[co]\/([\w~-]+)/g)].map(([, token = '']) =>
      trackingTokens.verify(token),
    );
    const common = { accountId: 7, messageId: 1_001, links: 2 };
    expect(targets).toEqual([
      { ...common, link: 1, url: 'https://shop.test/a?x=1&y=2' },
      { ...common, link: 2, url: 'https://shop.test/b' },
      { ...common, link: 0, url: '' },
    ]);
    expect(html).toContain(`<a href="${PUBLIC_URL}/unsubscribe/`);
    expect(html).toContain(`<a href="${PUBLIC_URL}/preferences/`);
  });

  it('has its own sender, reply address, campaign and tracking, whatever others of its batch have', async () => {
    const { tracking } = messageOf(0, {});
    const flow = { id: 9, event: null, contactId: 1, contact: {} } as unknown as BatchMessage['flow'];
    const batch = [
      messageOf(1, {}, { tracking }),
      messageOf(2, {}, { tracking: null }),
      messageOf(3, {}, { tracking }),
      messageOf(4, {}, { tracking, from: 'Other <other@acme.test>' }),
      messageOf(5, {}, { tracking, replyTo: null }),
      {
        ...messageOf(6, {}, { tracking }),
        campaign: { ...messageOf(6, {}).campaign, id: 5 },
      } as BatchMessage,
      messageOf(7, {}, { tracking }),
      { ...messageOf(8, {}, { tracking }), flow } as BatchMessage,
    ];
    const partsOf = (
      { from, replyTo, html }: Awaited<ReturnType<typeof PostalMime.parse>>,
      headers: object,
    ) => ({
      from: from?.address,
      replyTo: replyTo?.[0]?.address,
      isTracked: html?.includes('https://t.test/c/'),
      ...headers,
    });
    const { mails } = await send(batch);
    const found = [...mails.values()].map((mail) =>
      partsOf(mail, { feedback: headersOf(mail)['feedback-id'] }),
    );
    const usual = {
      from: 'news@acme.test',
      replyTo: 'help@acme.test',
      isTracked: true,
      feedback: '4:2:campaign:carillon',
    };
    expect(found).toEqual([
      usual,
      { ...usual, isTracked: false },
      usual,
      { ...usual, from: 'other@acme.test' },
      { ...usual, replyTo: undefined },
      { ...usual, feedback: '5:2:campaign:carillon' },
      usual,
      { ...usual, feedback: '9:2:flow:carillon' },
    ]);
  });

  it('has the link parameters of its campaign in its web links', async () => {
    const linkParameters = [['utm_source', 'mail']] as const;
    const { mails } = await send([messageOf(1, {}, { tracking: null })], {
      shared: () => ({ ...shared, linkParameters }),
    });
    const mail = mails.get('reader1@example.com');
    expect(mail?.html).toContain('"https://shop.test/a?x=1&amp;y=2&amp;utm_source=mail"');
    expect(mail?.html).toMatch(/unsubscribe\/[\w-]+"/);
    expect(mail?.text).toContain('https://shop.test/a?utm_source=mail\n');
    expect(mail?.text).not.toMatch(/unsubscribe\/\S*utm_source/);
  });

  it.each([
    ['with a content without tags', withHtml(HTML)],
    ['with links that have values', withHtml('<a href="https://shop.test/{{ contact.first_name }}">x</a>')],
    ['with raw HTML', withHtml('<p>{{ contact.first_name | raw }}</p><a href="https://a.test">x</a>')],
  ])('is the same mail from a skeleton and as a whole, %s', async (_name, changes) => {
    const messages = ['Ada', 'Ж = "x"', 'a\r\nb', ''].map((name, n) => messageOf(n, { first_name: name }));
    const fast = await send(messages, changes);
    const whole = await send(messages, { ...changes, engine: { ...engine, divide: () => null } });
    expect(fast.mails.size).toBe(4);
    for (const [to, mail] of fast.mails) {
      const other = whole.mails.get(to);
      const line = (text: string | undefined) => text?.replace(/\r\n/g, '\n').trimEnd();
      expect([to, mail.subject, line(mail.html), line(mail.text)]).toEqual([
        to,
        other?.subject,
        line(other?.html),
        line(other?.text),
      ]);
      const ofWhole = headersOf(other);
      expect({ ...headersOf(mail), 'content-type': '' }).toEqual({ ...ofWhole, 'content-type': '' });
    }
  });

  it('is rendered in a thread if its content has tags', async () => {
    const html = '<p>{% if contact.first_name %}Hi {{ contact.first_name }}{% else %}Hello{% endif %}</p>';
    const { mails } = await send([messageOf(1, { first_name: 'Ada' }), messageOf(2, {})], withHtml(html));
    expect(mails.get('reader1@example.com')?.html).toContain('<p>Hi Ada</p>');
    expect(mails.get('reader2@example.com')?.html).toContain('<p>Hello</p>');
  });
});

describe('a message that cannot be rendered', () => {
  it('is retried if it took too long, and so are the others of its batch', async () => {
    const html = '{% for a in (1..9999) %}{% for b in (1..9999) %}x{% endfor %}{% endfor %}';
    const batch = [{}, { attempt: 3 }, ...Array.from({ length: 8 }, () => ({ attempt: 3 }))];
    const { outcomes } = await send(
      batch.map((changes, n) => messageOf(n, {}, changes)),
      withHtml(html),
    );
    expect(outcomes[0]).toMatchObject({ kind: 'not_composed', final: false });
    expect(outcomes[1]).toMatchObject({ kind: 'not_composed', final: true });
    expect(outcomes.at(-1)).toEqual({ kind: 'not_tried' });
  });

  it('fails for good, and the others of its batch are sent', async () => {
    const html = '{% for n in (1..300) %}{{ contact.first_name }}{% endfor %}';
    const { outcomes } = await send(
      [
        messageOf(1, { first_name: 'Ada' }),
        messageOf(2, { first_name: 'x'.repeat(100_000) }, { attempt: 3 }),
      ],
      withHtml(html),
    );
    expect(outcomes).toMatchObject([{ kind: 'accepted' }, { kind: 'not_composed', final: true }]);
  });

  it('fails for good if its version does not exist', async () => {
    const { outcomes } = await send([messageOf(1, {})], {
      versions: () => Promise.reject(new VersionMissingError('there is no version 12')),
    });
    expect(outcomes).toMatchObject([{ kind: 'not_composed', final: true }]);
  });

  it('is retried if its version cannot be read now', async () => {
    const { outcomes } = await send([messageOf(1, {})], {
      versions: () => Promise.reject(new Error('connection terminated')),
    });
    expect(outcomes).toMatchObject([{ kind: 'not_composed', final: false }]);
  });
});

describe('an SMS without stored content', () => {
  const sms: VersionContent = {
    ...version,
    channel: 'sms',
    subject: null,
    html: null,
    text: 'Hi {{ contact.first_name }}',
  };
  const smsOf = (n: number, name: string) =>
    messageOf(n, { first_name: name }, { channel: 'sms', to: '+4915112345678', from: null, tracking: null });

  function openSms() {
    const sent: OutgoingSms[] = [];
    const provider: SmsProvider = {
      name: 'test',
      concurrency: 1,
      handOver(batch) {
        sent.push(...batch);
        return Promise.resolve(
          batch.map(() => ({ kind: 'accepted', providerMessageId: null, response: '', delivered: false })),
        );
      },
      close: () => Promise.resolve(),
    };
    const contents = sources({ versions: () => sms });
    return { sent, channel: createSmsChannel(provider, { referenceKey: Buffer.alloc(32, 2), contents }) };
  }

  it('is rendered, with its number of segments', async () => {
    const { sent, channel } = openSms();
    await channel.handOver([smsOf(1, 'Ada'), smsOf(2, 'Ж'.repeat(100))]);
    expect(sent).toMatchObject([
      { text: 'Hi Ada', segments: 1 },
      { text: `Hi ${'Ж'.repeat(100)}`, segments: 2 },
    ]);
  });

  it('fails for good if it takes more than ten segments', async () => {
    const { sent, channel } = openSms();
    const outcomes = await channel.handOver([smsOf(1, 'x'.repeat(2_000)), smsOf(2, 'Ada')]);
    expect(outcomes).toMatchObject([{ kind: 'not_composed', final: true }, { kind: 'accepted' }]);
    expect(sent).toHaveLength(1);
  });

  it('has its segments, or the opt-out of its recipient, even if its outcome comes after the stop', async () => {
    const later: HandOverOutcome[] = [
      { kind: 'accepted', providerMessageId: null, response: '', delivered: false },
      { kind: 'refused', code: 'rejected', response: '', optedOut: true },
    ];
    const provider: SmsProvider = {
      name: 'test',
      concurrency: 1,
      handOver: () => Promise.resolve(later.map((each) => ({ kind: 'open', later: Promise.resolve(each) }))),
      close: () => Promise.resolve(),
    };
    const optedOut: number[] = [];
    const channel = createSmsChannel(
      provider,
      { referenceKey: Buffer.alloc(32, 2), contents: sources({ versions: () => sms }) },
      { optOut: ({ messageId }) => optedOut.push(messageId) },
    );
    const results = await channel.handOver([smsOf(1, 'Ж'.repeat(100)), smsOf(2, 'Ada')]);
    const outcomes = results.flatMap((result) => (result.kind === 'open' ? [result.later] : []));
    expect(await Promise.all(outcomes)).toMatchObject([
      { kind: 'accepted', segments: 2 },
      { kind: 'refused' },
    ]);
    expect(optedOut).toEqual([smsOf(2, '').messageId]);
    channel.stop?.();
    expect(await channel.handOver([smsOf(3, 'Ada')])).toEqual([{ kind: 'not_tried' }]);
  });
});
