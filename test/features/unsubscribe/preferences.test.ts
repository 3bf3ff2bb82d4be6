// The preference page only removes lists or unsubscribes, only for a genuine link, and never exposes the address.
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { isOptedOut } from '../../../src/delivery/ledger/consent/opt-outs.ts';
import { preferenceUrl, unsubscribeLinks } from '../../../src/features/unsubscribe/service.ts';
import { createKeyring } from '../../../src/platform/secrets/keyring.ts';
import { startTestApi, TEST_SECRET, type TestApi } from '../../support/api.ts';

const FORMER_SECRET = 'the secret of last year that is long enough';
const keyring = createKeyring(TEST_SECRET, [FORMER_SECRET]);
const ADDRESS = 'ada@example.com';

let api: TestApi;
beforeAll(async () => {
  api = await startTestApi({ env: { APP_SECRET_PREVIOUS: FORMER_SECRET } });
});
afterAll(() => api.close());

let contactId: number;
let news: number;
let offers: number;

const query = async (text: string, values: unknown[] = []) =>
  (await api.database.pool.query<{ id: number }>(text, values)).rows;
const inserted = async (text: string, values: unknown[]) => (await query(text, values))[0]?.id ?? 0;

const addList = (name: string, description: string | null = null) =>
  inserted(
    'insert into lists (account_id, brand_id, name, description) values ($1, $2, $3, $4) returning id',
    [...[api.accountId, api.brandId, name, description]],
  );
const join = (listId: number) =>
  query('insert into list_members (list_id, contact_id) values ($1, $2)', [listId, contactId]);

beforeEach(async () => {
  await query('truncate opt_outs, lists, contacts cascade');
  contactId = await inserted(
    `insert into contacts (account_id, brand_id, email, email_key, email_subscribed, email_created_at)
     values ($1, $2, $3, $3, true, now()) returning id`,
    [api.accountId, api.brandId, ADDRESS],
  );
  news = await addList('News & <updates>', 'Each month');
  offers = await addList('Offers');
  await join(news);
  await join(offers);
});

function urlBy(by = keyring): string {
  const { accountId, brandId } = api;
  const url = preferenceUrl(by, api.baseUrl, { accountId, brandId, contactId, address: ADDRESS });
  if (url === null) throw new Error('no address');
  return url;
}

const get = async (url = urlBy()) => (await fetch(url)).text();

async function post(fields: [string, string | number][], url = urlBy()): Promise<[number, string]> {
  const body = new URLSearchParams(fields.map(([name, value]): [string, string] => [name, String(value)]));
  const response = await fetch(url, { method: 'POST', body });
  return [response.status, await response.text()];
}

const memberships = async () =>
  (await query('select list_id as id from list_members order by list_id')).map(({ id }) => id);

const optedOut = () =>
  isOptedOut(api.database.pool, keyring, { brandId: api.brandId, channel: 'email', address: ADDRESS });

describe('the preference page', () => {
  it('shows the brand, the masked address and a checked box for each list, and loads nothing', async () => {
    await query(`update brands set company_name = 'Ada & Co', brand_color = '#ffee00' where id = $1`, [
      api.brandId,
    ]);
    const response = await fetch(urlBy());
    const html = await response.text();
    expect(html).toContain('Your newsletters from Ada &amp; Co');
    expect(html).toContain('a•••@example.com');
    expect(html).not.toContain(ADDRESS);
    const box = (id: number) => `<label><input type="checkbox" name="list" value="${id}" checked>`;
    expect(html).toContain(`${box(news)}News &amp; &lt;updates&gt;<small>Each month</small></label>`);
    expect(html).toContain(`${box(offers)}Offers</label>`);
    expect(html).toMatch(/<html lang="en">[^]*<fieldset>\s*<legend>Lists you are subscribed to<\/legend>/);
    expect(html).toContain('background: #ffee00; color: #000000');
    expect(html).not.toMatch(/<script|src=|<link|url\(/);
    const headers = Object.fromEntries(response.headers);
    expect(headers).toMatchObject({ 'cache-control': 'no-store', 'referrer-policy': 'no-referrer' });
    expect(headers['content-security-policy']).toContain(`form-action 'self'`);
  });

  it('changes nothing if it is fetched, or posted to without a button', async () => {
    await get();
    await fetch(urlBy(), { method: 'HEAD' });
    const [status] = await post([['List-Unsubscribe', 'One-Click']]);
    expect((await fetch(urlBy(), { method: 'POST' })).status).toBe(200);
    expect([status, await memberships(), await optedOut()]).toEqual([200, [news, offers], false]);
  });

  it('shows neither deleted lists nor those of other contacts', async () => {
    await query('update lists set removed_at = now() where id = $1', [offers]);
    await addList('Secret');
    expect(await get()).not.toMatch(/Offers|Secret/);
  });

  it('shows visible lists only', async () => {
    await query('update lists set visible = false where id = $1', [offers]);
    const html = await get();
    expect(html).toContain('News &amp;');
    expect(html).not.toContain('Offers');
  });

  it('does not exist for a text that is not an address', () => {
    const { accountId, brandId } = api;
    expect(preferenceUrl(keyring, api.baseUrl, { accountId, brandId, contactId, address: 'no' })).toBeNull();
  });
});

describe('saving', () => {
  it('leaves the lists that were unchecked, and no list that the page did not show', async () => {
    const later = await addList('Later');
    await join(later);
    const [status, html] = await post([
      ['shown', news],
      ['shown', offers],
      ['list', offers],
      ['action', 'save'],
    ]);
    expect([status, await memberships(), await optedOut()]).toEqual([200, [offers, later], false]);
    expect(html).toContain('<p role="status">Your changes have been saved.</p>');
    expect(html).not.toContain('News &amp;');
  });

  it('cannot add lists, and ignores unknown lists', async () => {
    const other = await addList('Other');
    const [status] = await post([
      ['shown', 'x'],
      ['shown', -1],
      ['shown', 1e300],
      ['list', other],
      ['action', 'save'],
    ]);
    expect([status, await memberships()]).toEqual([200, [news, offers]]);
  });

  it('refuses a body that is too large', async () => {
    const [status] = await post([['action', 'x'.repeat(20_000)]]);
    expect(status).toBe(413);
  });
});

describe('unsubscribing from everything', () => {
  const unsubscribe = (url?: string) => post([['action', 'unsubscribe']], url);
  const subscribed = () => query('select email_subscribed as subscribed from contacts');

  it('changes the contact and the opt-outs of the brand, and keeps the lists', async () => {
    const [status, html] = await unsubscribe();
    expect([status, await optedOut(), await subscribed()]).toEqual([200, true, [{ subscribed: false }]]);
    expect(html).toContain('You are unsubscribed');
    expect(await memberships()).toEqual([news, offers]);
    const page = await get();
    expect(page).toContain('is not subscribed to any newsletter');
    expect(page).not.toContain('value="unsubscribe"');
  });

  it('works with a link that a former secret signed, and for an account that may not send', async () => {
    await query('update accounts set sending_paused_at = now() where id = $1', [api.accountId]);
    const [status] = await unsubscribe(urlBy(createKeyring(FORMER_SECRET)));
    await query('update accounts set sending_paused_at = null where id = $1', [api.accountId]);
    expect([status, await optedOut()]).toEqual([200, true]);
  });

  it('works after the contact was deleted, without revealing anything about it', async () => {
    const url = urlBy();
    await query('delete from contacts');
    expect(await get(url)).not.toMatch(/example\.com|Offers/);
    expect([(await unsubscribe(url))[0], await optedOut()]).toEqual([200, true]);
  });

  it('with the link of a former address affects neither the new address nor the lists', async () => {
    const url = urlBy();
    await query(`update contacts set email = 'new@example.com', email_key = 'new@example.com'`);
    expect(await get(url)).not.toMatch(/example\.com|Offers/);
    await post(
      [
        ['shown', news],
        ['action', 'save'],
      ],
      url,
    );
    await unsubscribe(url);
    expect([await memberships(), await optedOut(), await subscribed()]).toEqual([
      [news, offers],
      true,
      [{ subscribed: true }],
    ]);
  });
});

describe('a link that is not genuine', () => {
  it('is 404, and so is one of another purpose', async () => {
    const { accountId, brandId } = api;
    const oneClick = unsubscribeLinks(keyring, api.baseUrl, {
      ...{ accountId, brandId, source: { contactId }, address: ADDRESS },
    })?.url;
    const token = oneClick?.split('/').at(-1) ?? '';
    const urls = [
      `${api.baseUrl}/preferences/${token}`,
      urlBy().replace('/preferences/', '/unsubscribe/'),
      urlBy(createKeyring('another installation, with its own secret')),
      urlBy().replace(/-c[0-9a-z]+-/, '-c1-'),
      `${urlBy()}x`,
      `${api.baseUrl}/preferences/x`,
    ];
    for (const url of urls) {
      const [status, html] = await post([['action', 'unsubscribe']], url);
      expect([status, html.includes('Offers')]).toEqual([404, false]);
    }
    expect([await optedOut(), await memberships()]).toEqual([false, [news, offers]]);
  });
});
