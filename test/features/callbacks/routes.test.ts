// The callback URL accepts only genuine provider callbacks, and answers every other request with the right status.
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import pino from 'pino';
import { changeProviderSettings, type NamedProvider } from '../../../src/delivery/wire/providers/named.ts';
import { createCallbackProviders } from '../../../src/features/callbacks/providers.ts';
import { createKeyring } from '../../../src/platform/secrets/keyring.ts';
import { startTestApi, TEST_SECRET, type TestApi } from '../../support/api.ts';
import { testReference } from '../../support/callbacks.ts';
import { queueEmails } from '../../support/queued.ts';
import {
  addTestProvider,
  callbackSettings,
  mailgunCallback,
  sendgridCallback,
  type SignedCallback,
} from '../../support/signed-callbacks.ts';

const TRUSTED = { TRUSTED_PROXIES: '127.0.0.1', PUBLIC_URL: 'https://mail.test' };

let api: TestApi;
let sendgrid: NamedProvider;
let mailgun: NamedProvider;
/** Each test has its own address, because wrong tokens are counted by address. */
let address: string;
let tests = 0;

beforeAll(async () => {
  api = await startTestApi({ env: TRUSTED });
  sendgrid = await addTestProvider(api.database.pool, 'grid', 'sendgrid');
  mailgun = await addTestProvider(api.database.pool, 'gun', 'mailgun');
});
afterAll(() => api.close());
beforeEach(() => {
  tests += 1;
  address = `192.0.2.${tests}`;
});

const query = <Row extends object>(text: string, values: unknown[] = []) =>
  api.database.pool.query<Row>(text, values).then((result) => result.rows);

/** A message that the provider has accepted. */
async function sent(provider: string): Promise<{ id: number; reference: string }> {
  const [id = 0] = await queueEmails(api.database, api, 1);
  await query(
    `update messages set status = 'sent', provider = $2, sent_at = now(), sent_attempt = 1 where id = $1`,
    [id, provider],
  );
  await query('delete from send_queue where message_id = $1', [id]);
  return { id, reference: testReference(api.accountId, id) };
}

const statusOf = async (id: number) =>
  (await query<{ status: string }>('select status from messages where id = $1', [id]))[0]?.status;

const pathOf = ({ kind, callbackToken }: Pick<NamedProvider, 'kind' | 'callbackToken'>) =>
  `/callbacks/${kind.name}/${callbackToken}`;

async function request(method: string, path: string, given: Partial<SignedCallback> = {}) {
  const answer = await fetch(`${api.baseUrl}${path}`, {
    method,
    headers: { ...given.headers, 'x-forwarded-for': address },
    ...(given.body === undefined ? {} : { body: given.body }),
  });
  return { status: answer.status, text: await answer.text(), headers: answer.headers };
}

describe('POST /callbacks/<kind>/<token>', () => {
  it('records the events of a genuine batch', async () => {
    const [first, second] = [await sent('grid'), await sent('grid')];
    const events = [
      { event: 'open', reference: first.reference },
      { event: 'delivered', reference: first.reference },
      { event: 'spamreport', reference: second.reference },
    ];
    const answer = await request('POST', pathOf(sendgrid), sendgridCallback(events));
    expect([answer.status, answer.text]).toEqual([200, '']);
    expect([await statusOf(first.id), await statusOf(second.id)]).toEqual(['delivered', 'complained']);
  });

  it('is 403 for a changed body, and changes nothing', async () => {
    const { id, reference } = await sent('grid');
    const { body, headers } = sendgridCallback([{ event: 'delivered', reference }]);
    const answer = await request('POST', pathOf(sendgrid), { body: `${body} `, headers });
    expect([answer.status, JSON.parse(answer.text)]).toEqual([
      403,
      expect.objectContaining({ code: 'forbidden' }),
    ]);
    expect(await statusOf(id)).toBe('sent');
  });

  it('is 403 if a single-use token comes with another body, and 200 for a retry', async () => {
    const [first, second] = [await sent('gun'), await sent('gun')];
    const token = 'c0ffee'.repeat(8);
    const genuine = mailgunCallback(token, 'delivered', first.reference);
    expect((await request('POST', pathOf(mailgun), genuine)).status).toBe(200);
    expect((await request('POST', pathOf(mailgun), genuine)).status).toBe(200);
    const stolen = mailgunCallback(token, 'delivered', second.reference);
    expect((await request('POST', pathOf(mailgun), stolen)).status).toBe(403);
    expect([await statusOf(first.id), await statusOf(second.id)]).toEqual(['delivered', 'sent']);
  });

  it('is 404 for an unknown token, the token of another kind, and a kind that does not exist', async () => {
    for (const path of [
      '/callbacks/sendgrid/unknown',
      `/callbacks/sendgrid/${mailgun.callbackToken}`,
      `/callbacks/nothing/${sendgrid.callbackToken}`,
      `/callbacks/sendgrid/${sendgrid.callbackToken}x`,
      `/callbacks/sendgrid/${'x'.repeat(5_000)}`,
      '/callbacks/sendgrid/%00',
    ]) {
      expect([path, (await request('POST', path, { body: '{}' })).status]).toEqual([path, 404]);
    }
  });

  it('is 429 after many unknown tokens from one address, but still accepts known ones from it', async () => {
    const { id, reference } = await sent('grid');
    let status = 404;
    for (let n = 0; n < 200 && status === 404; n++) {
      ({ status } = await request('POST', `/callbacks/sendgrid/${n}`, { body: '' }));
    }
    expect(status).toBe(429);
    const genuine = sendgridCallback([{ event: 'delivered', reference }]);
    expect((await request('POST', pathOf(sendgrid), genuine)).status).toBe(200);
    expect(await statusOf(id)).toBe('delivered');
    address = '192.0.2.250';
    expect((await request('POST', '/callbacks/sendgrid/unknown')).status).toBe(404);
  });

  it('is 413 for a body of more than 1 MB', async () => {
    expect((await request('POST', pathOf(sendgrid), { body: 'x'.repeat(1024 * 1024 + 1) })).status).toBe(413);
  });

  it('is not in the description of the API', async () => {
    expect((await api.request('GET', '/openapi.json', { token: null })).text).not.toContain('/callbacks');
  });
});

describe('GET and HEAD /callbacks/<kind>/<token>', () => {
  it('show that the URL exists', async () => {
    expect((await request('GET', pathOf(sendgrid))).status).toBe(200);
    expect((await request('HEAD', pathOf(sendgrid))).status).toBe(200);
    expect((await request('GET', '/callbacks/sendgrid/unknown')).status).toBe(404);
    expect((await request('HEAD', '/callbacks/sendgrid/unknown')).status).toBe(404);
  });

  it('read a query as a callback, except for HEAD', async () => {
    expect((await request('GET', `${pathOf(sendgrid)}?a=1&a=2`)).status).toBe(403);
    expect((await request('HEAD', `${pathOf(sendgrid)}?a=1`)).status).toBe(200);
  });
});

describe('the providers of callbacks', () => {
  const keyring = createKeyring(TEST_SECRET);
  const log = pino({ level: 'silent' });
  let nowMs = 0;
  let reads = 0;
  const db: typeof api.database.pool = new Proxy({} as never, {
    get: () => (text: string) => {
      reads += 1;
      return api.database.pool.query(text);
    },
  });
  const providers = () => createCallbackProviders(db, keyring, log, () => nowMs);

  it('are read once in two seconds, however many callbacks come', async () => {
    const found = providers();
    reads = 0;
    for (let n = 0; n < 50; n++) await found.find('sendgrid', sendgrid.callbackToken);
    for (let n = 0; n < 50; n++) await found.find('sendgrid', `unknown ${n}`);
    await Promise.all(Array.from({ length: 20 }, () => found.find('sendgrid', 'unknown')));
    expect(reads).toBe(1);
  });

  it('are found soon after they are added, and not after they are removed', async () => {
    const found = providers();
    await found.find('sendgrid', 'unknown');
    const added = await addTestProvider(api.database.pool, 'young', 'sendgrid');
    nowMs += 500;
    expect(await found.find('sendgrid', added.callbackToken)).toMatchObject({ name: 'young' });
    await query('update providers set removed_at = now() where id = $1', [added.id]);
    nowMs += 2_000;
    expect(await found.find('sendgrid', added.callbackToken)).toBeNull();
  });

  it('use their new settings', async () => {
    const found = providers();
    await found.find('mailgun', mailgun.callbackToken);
    const changed = { ...callbackSettings.mailgun, region: 'eu' };
    await changeProviderSettings(api.database.pool, keyring, mailgun, changed);
    nowMs += 2_000;
    expect(await found.find('mailgun', mailgun.callbackToken)).toMatchObject({ settings: { region: 'eu' } });
  });

  it('are unavailable, not unknown, if their settings cannot be read', async () => {
    const other = createCallbackProviders(
      api.database.pool,
      createKeyring('another secret that is long enough'),
      log,
    );
    await expect(other.find('sendgrid', sendgrid.callbackToken)).rejects.toMatchObject({
      code: 'unavailable',
    });
    expect(await other.find('sendgrid', 'unknown')).toBeNull();
  });
});
