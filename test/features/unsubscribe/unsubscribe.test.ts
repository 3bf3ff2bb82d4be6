// A one-click unsubscribe works for any genuine link, and a GET or a forged link changes nothing.
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { isOptedOut } from '../../../src/delivery/ledger/consent/opt-outs.ts';
import { unsubscribeLinks } from '../../../src/features/unsubscribe/service.ts';
import { createUnsubscribeRoutes } from '../../../src/features/unsubscribe/routes.ts';
import { createRateLimiter } from '../../../src/platform/http/rate-limiter.ts';
import { createKeyring } from '../../../src/platform/secrets/keyring.ts';
import { startTestApi, TEST_SECRET, type TestApi } from '../../support/api.ts';
import { queueEmails } from '../../support/queued.ts';

const FORMER_SECRET = 'the secret of last year that is long enough';
const keyring = createKeyring(TEST_SECRET, [FORMER_SECRET]);

let api: TestApi;
let messageId: number;
beforeAll(async () => {
  api = await startTestApi({ env: { APP_SECRET_PREVIOUS: FORMER_SECRET } });
});
afterAll(() => api.close());
beforeEach(async () => {
  await api.database.pool.query('truncate opt_outs cascade');
  const [id] = await queueEmails(api.database, api, 1, { prefix: 'ada' });
  messageId = id ?? 0;
});

const ADDRESS = 'ada0@example.com';

function linksOf(by = keyring, source: { messageId: number } | { contactId: number } = { messageId }) {
  const { accountId, brandId } = api;
  const links = unsubscribeLinks(by, api.baseUrl, { accountId, brandId, source, address: ADDRESS });
  if (!links) throw new Error('no links');
  return links;
}

const post = (url: string) =>
  fetch(url, {
    method: 'POST',
    body: 'List-Unsubscribe=One-Click',
    headers: { 'Content-Type': 'application/x-www-form-urlencoded' },
  });

const optedOut = (address = ADDRESS) =>
  isOptedOut(api.database.pool, keyring, { brandId: api.brandId, channel: 'email', address });

describe('the headers', () => {
  it('are those of RFC 8058, without the address', () => {
    const { url, headers } = linksOf();
    expect(headers).toEqual({
      'List-Unsubscribe': `<${url}>`,
      'List-Unsubscribe-Post': 'List-Unsubscribe=One-Click',
    });
    expect(url).not.toContain('ada');
    expect(url).toMatch(/^http[^ <>]+$/);
  });

  it('do not exist for a text that is not an address', () => {
    const { accountId, brandId } = api;
    const source = { contactId: 1 };
    expect(unsubscribeLinks(keyring, api.baseUrl, { accountId, brandId, source, address: 'no' })).toBeNull();
  });
});

describe('the contact', () => {
  const contact = async () => {
    const response = await api.request('POST', '/v1/my/contacts', {
      body: { channels_attributes: [{ kind: 'email', value: 'Ada0@example.com', subscribed: true }] },
    });
    return Number(response.body.id);
  };
  const channelOf = async (id: number) =>
    (await api.request('GET', `/v1/my/contacts/${id}`)).body.channels?.[0];

  it('that has the address is unsubscribed by a link of a message', async () => {
    const id = await contact();
    expect(await channelOf(id)).toMatchObject({ subscribed: true });
    await post(linksOf().url);
    expect(await channelOf(id)).toMatchObject({ subscribed: false, opt_out_at: expect.any(String) });
  });

  it('is unsubscribed by its own link, even one signed with an earlier secret', async () => {
    const id = await contact();
    await post(linksOf(createKeyring(FORMER_SECRET), { contactId: id }).url);
    expect(await channelOf(id)).toMatchObject({ subscribed: false });
  });

  it('stays subscribed with a new address if the link is for the former one, which is recorded', async () => {
    const id = await contact();
    const { url } = linksOf(keyring, { contactId: id });
    await api.request('PATCH', `/v1/my/contacts/${id}`, { body: { email: 'new@example.com' } });
    await post(url);
    expect(await channelOf(id)).toMatchObject({ value: 'new@example.com', subscribed: true });
    expect(await optedOut()).toBe(true);
    await api.request('DELETE', `/v1/my/contacts/${id}`);
  });
});

describe('a POST', () => {
  it('unsubscribes the recipient of the message from the brand, and changes nothing a second time', async () => {
    const { url } = linksOf();
    const first = await post(url);
    expect([first.status, await first.text()]).toEqual([
      200,
      expect.stringContaining('You are unsubscribed'),
    ]);
    expect(await optedOut()).toBe(true);
    const rows = () => api.database.pool.query('select * from opt_outs').then((result) => result.rows);
    const before = await rows();
    expect(before).toMatchObject([{ source: 'one_click', message_id: messageId, ended_at: null }]);
    expect((await post(url)).status).toBe(200);
    expect(await rows()).toEqual(before);
  });

  it('works with any body, and with none', async () => {
    expect((await fetch(linksOf().url, { method: 'POST' })).status).toBe(200);
    expect(await optedOut()).toBe(true);
  });

  it('works after retention has removed the message', async () => {
    const { url } = linksOf();
    await api.database.pool.query('delete from messages where id = $1', [messageId]);
    const done = await post(url);
    expect([done.status, await optedOut()]).toEqual([200, true]);
    expect(await done.text()).not.toContain('example.com');
  });

  it('works with the link of a contact, and with one that a former secret signed', async () => {
    expect((await post(linksOf(createKeyring(FORMER_SECRET), { contactId: 7 }).url)).status).toBe(200);
    expect(await optedOut()).toBe(true);
  });

  it('works while sending of the account is paused', async () => {
    await api.database.pool.query('update accounts set sending_paused_at = now() where id = $1', [
      api.accountId,
    ]);
    expect((await post(linksOf().url)).status).toBe(200);
    await api.database.pool.query('update accounts set sending_paused_at = null where id = $1', [
      api.accountId,
    ]);
    expect(await optedOut()).toBe(true);
  });
});

describe.each(['GET', 'HEAD'])('a %s', (method) => {
  it('changes nothing', async () => {
    expect((await fetch(linksOf().url, { method })).status).toBe(200);
    expect((await api.database.pool.query('select 1 from opt_outs')).rowCount).toBe(0);
  });
});

describe('the page', () => {
  it('asks for confirmation, shows the brand and the masked address, and runs and loads nothing', async () => {
    await api.database.pool.query(
      `update brands set company_name = 'Ada & <Co>', brand_color = '#ffee00', bg_color = '#111111', text_color = '#222222'
       where id = $1`,
      [api.brandId],
    );
    const response = await fetch(linksOf().url);
    const html = await response.text();
    expect(html).toContain('Unsubscribe from Ada &amp; &lt;Co&gt;?');
    expect(html).toContain('a•••@example.com');
    expect(html).not.toContain('ada0');
    expect(html).toContain('<form method="post"><button type="submit">');
    expect(html).toContain('<html lang="en">');
    expect(html).not.toMatch(/<script|src=|<link|url\(/);
    expect(html).toContain('background: #ffee00; color: #000000');
    // The brand's own text color would be unreadable.
    expect(html).toContain('background: #111111; color: #ffffff');
    const headers = Object.fromEntries(response.headers);
    expect(headers).toMatchObject({ 'cache-control': 'no-store', 'referrer-policy': 'no-referrer' });
    expect(headers['content-security-policy']).toMatch(
      /^default-src 'none'; style-src 'sha256-[^']+'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'$/,
    );
  });
});

describe('a link that is not genuine', () => {
  const forged = () => {
    const { url } = linksOf();
    const at = url.lastIndexOf('-') - 1;
    return [
      `${url.slice(0, at)}${url[at] === 'A' ? 'B' : 'A'}${url.slice(at + 1)}`,
      `${url}x`,
      url.slice(0, -1),
      url.replace(/-m[0-9a-z]+-/, '-m1-'),
      linksOf(createKeyring('another installation, with its own secret')).url,
      `${api.baseUrl}/unsubscribe/x`,
      `${api.baseUrl}/unsubscribe/${'a-'.repeat(2_000)}`,
      `${api.baseUrl}/unsubscribe/%00%ff`,
    ];
  };

  it('is a plain 404 page for every method, and changes nothing', async () => {
    for (const url of forged()) {
      for (const response of [await fetch(url), await post(url)]) {
        const text = await response.text();
        expect([url, response.status]).toEqual([url, expect.any(Number)]);
        expect([400, 404]).toContain(response.status);
        expect(text).not.toContain('Acme');
      }
    }
    const page = await fetch(`${api.baseUrl}/unsubscribe/x`);
    expect([page.status, page.headers.get('content-type')]).toEqual([404, 'text/html; charset=utf-8']);
    expect((await api.database.pool.query('select 1 from opt_outs')).rowCount).toBe(0);
  });

  it('is detected before the limit of its network is counted, which may need the database', async () => {
    const asked: string[] = [];
    const { config, database } = api;
    const [route] = createUnsubscribeRoutes({
      config,
      database,
      keyring,
      rateLimiter: {
        ...createRateLimiter(() => 1),
        request: (caller) => {
          asked.push(caller);
          return {};
        },
      },
    });
    const ctx = { req: { headers: {}, socket: { remoteAddress: '192.0.2.1' } } };
    const handler = route?.handler as unknown as (input: object) => unknown;
    const call = (token: string) => handler({ ctx, params: { token } });
    expect(await call('x')).toMatchObject({ status: 404 });
    expect(asked).toEqual([]);
    expect(await call(linksOf().url.split('/').at(-1) ?? '')).toMatchObject({ status: 200 });
    expect(asked).toEqual(['unsubscribe from 192.0.2.1']);
  });

  it('is refused after sixty requests in a minute from one address, but a genuine one still works', async () => {
    const statuses = new Set<number>();
    for (let n = 0; n < 70; n++) statuses.add((await fetch(`${api.baseUrl}/unsubscribe/x${n}`)).status);
    expect([...statuses]).toEqual([404, 429]);
    expect((await post(linksOf().url)).status).toBe(200);
  });
});
