// A message keeps the tracking it was accepted with, byte for byte, even if it is sent again.
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { createSendingDomains } from '../../../src/delivery/content/dkim/domain-signers.ts';
import PostalMime from 'postal-mime';
import { createLinkTracker } from '../../../src/features/tracking/links.ts';
import { answerProbe, probeTrackingHosts } from '../../../src/features/tracking/probe.ts';
import { createTrackingTokens } from '../../../src/features/tracking/tokens.ts';
import { createResolver } from '../../../src/platform/dns/resolver.ts';
import { createEgress, type Egress } from '../../../src/platform/egress/client.ts';
import { createKeyring } from '../../../src/platform/secrets/keyring.ts';
import { TEST_SECRET, type TestApi, startTestApi } from '../../support/api.ts';
import { insertVerifiedDomain } from '../../support/domains.ts';
import { startDnsServer, type TestDnsServer } from '../../support/dns/server.ts';
import { eventually } from '../../support/eventually.ts';
import { type Receiver, startReceiver, testCa } from '../../support/https-receiver.ts';
import {
  type ReceivedMail,
  startSmtpServer,
  startTestSender,
  testEmailChannel,
  type TestSmtpServer,
} from '../../support/sending.ts';
import { testKeyring } from '../../support/webhooks.ts';

const PUBLIC_URL = 'https://carillon.test';
const HTML =
  '<p>Your <a href="https://shop.test/o?id=1&amp;x=%20#top">order</a>, <a href="mailto:a@b.test">mail</a>, ' +
  `<a href="${PUBLIC_URL}/unsubscribe/x">unsubscribe</a>, <a href="https://shop.test/u">leave</a></p>`;

let api: TestApi;
let server: TestSmtpServer;
let tried: ReceivedMail[];

beforeAll(async () => {
  api = await startTestApi({ env: { PUBLIC_URL: `${PUBLIC_URL}/` } });
  server = await startSmtpServer();
  await insertVerifiedDomain(api.database, api, 'acme.test');
});
afterAll(async () => {
  await server.stop();
  await api.close();
});
beforeEach(async () => {
  tried = [];
  server.answers.body = (mail) => {
    tried.push(mail);
    return null;
  };
  const { pool } = api.database;
  await pool.query('update brands set track_opens = true, track_clicks = true');
  await pool.query('update domains set tracking_ok_at = null, tracking_probe_at = null');
});

/** Sends the queued messages, as a sender does that has these secrets for links. */
async function sendAll(expected: number, keyring = testKeyring): Promise<void> {
  const links = createLinkTracker(createTrackingTokens(keyring));
  const domains = createSendingDomains(api.database.pool, testKeyring);
  const channel = testEmailChannel({ port: server.port, links, domains });
  const sender = await startTestSender({ url: api.database.url, port: server.port, channel });
  try {
    await eventually(() => expect(tried).toHaveLength(expected));
    await eventually(async () => {
      const { rows } = await api.database.pool.query('select 1 from handovers');
      expect(rows).toEqual([]);
    });
  } finally {
    await sender.stop();
  }
}

async function accept(changes: Record<string, unknown> = {}) {
  const { status, body } = await api.request('POST', '/v1/my/messages', {
    body: {
      channel: 'email',
      from: 'shop@acme.test',
      to: 'ann@example.com',
      subject: 'Hi',
      html: HTML,
      ...changes,
    },
  });
  expect(status).toBe(201);
  return body;
}

async function pinnedOf(id: unknown): Promise<Record<string, unknown> | null> {
  const { rows } = await api.database.pool.query<{ tracking: Record<string, unknown> | null }>(
    'select tracking from messages where id = $1',
    [id],
  );
  return rows[0]?.tracking ?? null;
}

async function htmlOf(mail: ReceivedMail | undefined): Promise<string> {
  return ((await PostalMime.parse(mail?.raw ?? '')).html ?? '').trimEnd();
}

const off = { opens: false, clicks: false };

describe('the tracking of a message', () => {
  it('is decided when it is accepted: links and a pixel under PUBLIC_URL, the rest untouched', async () => {
    const { id, tracking } = await accept({ headers: { 'List-Unsubscribe': '<https://shop.test/u>' } });
    expect(tracking).toEqual({ opens: true, clicks: true });
    const key = testKeyring.subkey('tracking').id;
    expect(await pinnedOf(id)).toEqual({ opens: true, clicks: true, host: PUBLIC_URL, key });
    await sendAll(1);
    const html = await htmlOf(tried[0]);
    const token = /href="https:\/\/carillon\.test\/c\/([\w-]+)"/.exec(html)?.[1] ?? '';
    const pixel = /<img src="https:\/\/carillon\.test\/o\/([\w-]+)"[^>]*>/.exec(html) ?? [];
    const tokens = createTrackingTokens(testKeyring);
    const { accountId } = api;
    expect(tokens.verify(token)).toEqual({
      accountId,
      messageId: id,
      link: 1,
      links: 1,
      url: 'https://shop.test/o?id=1&x=%20#top',
    });
    expect(tokens.verify(pixel[1] ?? '')).toEqual({ accountId, messageId: id, link: 0, links: 1, url: '' });
    const restored = html
      .replace(`${PUBLIC_URL}/c/${token}`, 'https://shop.test/o?id=1&amp;x=%20#top')
      .replace(pixel[0] ?? '', '');
    expect(restored).toBe(HTML);
    // The text alternative has the client's own links.
    expect((await PostalMime.parse(tried[0]?.raw ?? '')).text).toContain(
      'https://shop.test/o?id=1&x=%20#top',
    );

    const { body } = await api.request('GET', `/v1/my/messages/${String(id)}`);
    expect([body.tracking, body.html]).toEqual([{ opens: true, clicks: true }, HTML]);
  });

  it.each([
    ['the message', {}, { tracking: off }, off],
    ['the message, for clicks', {}, { tracking: { clicks: false } }, { opens: true, clicks: false }],
    ['the brand', { track_opens: false, track_clicks: false }, {}, off],
    [
      'the brand, whatever the message says',
      { track_opens: false },
      { tracking: { opens: true } },
      { opens: false, clicks: true },
    ],
  ])('is off if it is off for %s', async (_whose, brand, message, expected) => {
    for (const [column, value] of Object.entries(brand)) {
      await api.database.pool.query(`update brands set ${column} = $1`, [value]);
    }
    const { id, tracking } = await accept(message);
    expect(tracking).toEqual(expected);
    await sendAll(1);
    const html = await htmlOf(tried[0]);
    expect([html.includes('/o/'), html.includes('/c/')]).toEqual([expected.opens, expected.clicks]);
    if (!expected.opens && !expected.clicks) expect(html).toBe(HTML);
    expect(await pinnedOf(id)).toMatchObject(expected);
  });

  it('has no click links from the sandbox address', async () => {
    const { tracking } = await accept({ from: `sandbox-${api.accountId}@mail.test` });
    expect(tracking).toEqual({ opens: true, clicks: false });
    await sendAll(1);
    expect(await htmlOf(tried[0])).not.toContain('/c/');
  });

  it('is off for a message without HTML', async () => {
    expect((await accept({ html: undefined, body: 'https://a.test/' })).tracking).toEqual(off);
    await sendAll(1);
    expect(tried[0]?.raw).toContain('https://a.test/');
  });
});

describe('a repeated hand-over', () => {
  it('is the same byte for byte, whatever has changed since the message was accepted', async () => {
    const { id } = await accept();
    server.answers.body = (mail) => {
      tried.push(mail);
      return '451 4.3.0 Try again later';
    };
    await sendAll(1);
    const { pool } = api.database;
    await pool.query('update brands set track_opens = false, track_clicks = false');
    await pool.query('update domains set tracking_ok_at = now()');
    await pool.query('update send_queue set due_at = now() where message_id = $1', [id]);
    server.answers.body = (mail) => {
      tried.push(mail);
      return null;
    };
    await sendAll(2, createKeyring('the secret of the next year: thirty-two characters', [TEST_SECRET]));
    expect(tried[1]?.raw).toBe(tried[0]?.raw);
    expect(await htmlOf(tried[1])).toContain('/c/');
  });

  it('is not tracked if the secret of its links was removed', async () => {
    await accept();
    await sendAll(1, createKeyring('the secret of the next year: thirty-two characters'));
    expect(await htmlOf(tried[0])).toBe(HTML);
  });
});

describe('the tracking host of a domain', () => {
  let proxy: Receiver;
  let egress: Egress;
  let dns: TestDnsServer;
  let now = new Date('2026-05-01T12:00:00Z');

  beforeAll(async () => {
    dns = await startDnsServer({ 'receiver.test': { A: ['127.0.0.1'] } });
  });
  afterAll(() => dns.close());
  beforeEach(async () => {
    // A web server of the customer that forwards requests to Carillon, as their CNAME record does.
    proxy = await startReceiver({
      async answer({ url }, response) {
        const answer = await fetch(`${api.baseUrl}${url}`);
        response.writeHead(answer.status).end(await answer.text());
      },
    });
    await setHost(`receiver.test:${proxy.port}`, 'true');
    egress = createEgress({
      resolver: createResolver([dns.address]),
      allow: ['127.0.0.1'],
      userAgent: 'Test/1',
      ca: [testCa],
    });
    now = new Date('2026-05-01T12:00:00Z');
  });
  afterEach(async () => {
    await egress.close();
    await proxy.close();
  });

  async function setHost(host: string, valid: string): Promise<void> {
    await api.database.pool.query(
      `update domains set tracking_host = $1, checks = jsonb_build_object('tracking', jsonb_build_object('valid', $2::text))`,
      [host, valid],
    );
  }

  /** Probes after this many minutes. @returns the number of probed hosts, and the host of a new message */
  async function probeAfter(minutes: number) {
    now = new Date(now.getTime() + minutes * 60_000);
    const probed = await probeTrackingHosts({ pool: api.database.pool, egress, keyring: testKeyring }, now);
    const { id } = await accept();
    const { host, own } = (await pinnedOf(id)) ?? {};
    await api.database.pool.query('delete from send_queue');
    return { probed, host, own };
  }

  it('is used when our probe succeeds, and not after it fails', async () => {
    const host = `https://receiver.test:${proxy.port}`;
    expect(await probeAfter(0)).toEqual({ probed: 1, host, own: PUBLIC_URL });
    expect(await probeAfter(5)).toEqual({ probed: 0, host, own: PUBLIC_URL });
    const { answer } = proxy;
    proxy.answer = (_request, response) => void response.end('a page of someone else');
    expect(await probeAfter(10)).toEqual({ probed: 1, host: PUBLIC_URL, own: undefined });
    proxy.answer = answer;
    expect(await probeAfter(10)).toEqual({ probed: 1, host, own: PUBLIC_URL });
  });

  it('is not used with the response of another installation, or with that to another probe', async () => {
    const foreign = createKeyring('x'.repeat(32));
    proxy.answer = ({ url }, response) =>
      void response.end(answerProbe(foreign, url.split('/').at(-1) ?? ''));
    expect(await probeAfter(0)).toMatchObject({ probed: 1, host: PUBLIC_URL });
    proxy.answer = (_request, response) => void response.end(answerProbe(testKeyring, 'A'.repeat(22)));
    expect(await probeAfter(10)).toMatchObject({ probed: 1, host: PUBLIC_URL });
  });

  it('is not used with an invalid certificate', async () => {
    const stranger = await startReceiver({ selfSigned: true, answer: proxy.answer });
    await setHost(`receiver.test:${stranger.port}`, 'true');
    expect(await probeAfter(0)).toMatchObject({ probed: 1, host: PUBLIC_URL });
    await stranger.close();
  });

  it('is not probed while its record is wrong', async () => {
    await setHost(`receiver.test:${proxy.port}`, 'false');
    expect(await probeAfter(0)).toMatchObject({ probed: 0, host: PUBLIC_URL });
    expect(proxy.requests).toEqual([]);
  });
});
