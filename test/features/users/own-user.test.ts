// A logged-in user changes their own names and mobile number, to which test SMS then go.
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startTestApi, type TestApi } from '../../support/api.ts';

const PATH = '/v1/my/user';

let api: TestApi;
beforeAll(async () => {
  api = await startTestApi({ env: { TEMPORAL_UI_PUBLIC_URL: 'https://temporal.acme.test/' } });
});
afterAll(() => api.close());

const get = (token = api.userJwt) => api.request('GET', PATH, { token });
const patch = (body: unknown, token = api.userJwt) => api.request('PATCH', PATH, { token, body });

describe('/user', () => {
  it('is for logged-in users only', async () => {
    expect((await api.request('GET', PATH, { token: null })).status).toBe(401);
    for (const answer of [await get(api.apiKey), await patch({ first_name: 'Key' }, api.apiKey)]) {
      expect([answer.status, answer.body.code]).toEqual([403, 'forbidden']);
    }
  });

  it('shows the user as the login response does', async () => {
    expect((await get()).body).toMatchObject({
      ...{ id: api.userId, first_name: 'Olive', last_name: 'Owner', email: api.email },
      ...{ mobile: '', country_code: '', admin: false },
    });
  });

  it('changes the given fields, clears with null, and accepts its own response', async () => {
    const changed = await patch({ mobile: '030 123456', country_code: 'de', last_name: null });
    expect(changed.status).toBe(200);
    expect(changed.body).toMatchObject({
      ...{ first_name: 'Olive', last_name: '', mobile: '+4930123456', country_code: 'DE' },
    });
    const again = await patch(changed.body);
    expect([again.status, again.body]).toEqual([200, { ...changed.body, updated_at: again.body.updated_at }]);
    expect((await get()).body).toEqual({
      ...again.body,
      temporal_ui_url: null,
      temporal_namespace: null,
      mailbox_url: null,
    });
    expect((await patch({ mobile: null, country_code: null })).body).toMatchObject({
      mobile: '',
      country_code: '',
    });
  });

  it('shows the address of the engine’s pages to operators only', async () => {
    const { userJwt, userId } = await api.addUser('owner');
    expect((await get(userJwt)).body.temporal_ui_url).toBeNull();
    await api.database.pool.query('update users set admin = true where id = $1', [userId]);
    expect((await get(userJwt)).body).toMatchObject({
      temporal_ui_url: 'https://temporal.acme.test',
      temporal_namespace: 'default',
    });
  });

  it('shows the address of the mailbox to operators only, while it runs for development', async () => {
    const dev = await startTestApi({
      env: { CARILLON_DEV: 'true', MAILBOX_PORT: '8999', MAILBOX_TOKEN: 't'.repeat(32) },
    });
    try {
      const mailbox = async () =>
        (await dev.request('GET', '/v1/my/user', { token: dev.userJwt })).body.mailbox_url;
      expect(await mailbox()).toBeNull();
      await dev.database.pool.query('update users set admin = true where id = $1', [dev.userId]);
      expect(await mailbox()).toBe(`http://127.0.0.1:8999/?token=${'t'.repeat(32)}`);
    } finally {
      await dev.close();
    }
  });

  it('changes no other user', async () => {
    const { userJwt } = await api.addUser('member');
    await patch({ first_name: 'Mem' }, userJwt);
    expect([(await get(userJwt)).body.first_name, (await get()).body.first_name]).toEqual(['Mem', 'Olive']);
  });

  it.each([
    ['a national number without a country', { mobile: '030 123456' }, 'mobile'],
    ['a number that does not exist', { mobile: '+1415' }, 'mobile'],
    ['a country of three letters', { country_code: 'GER' }, 'country_code'],
    ['a name of two lines', { first_name: 'a\nb' }, 'first_name'],
    ['an unknown field', { mobil: '+14155550123' }, 'mobil'],
  ])('refuses %s', async (_what, body, field) => {
    const { status, body: answer } = await patch(body);
    expect([status, Object.keys(answer.validation_errors ?? {})]).toEqual([422, [field]]);
  });

  it('lets a test SMS of a template go to the number', async () => {
    const made = await api.request('POST', '/v1/my/templates', { body: { channel: 'sms', body: 'Hi' } });
    const send = () =>
      api.request('POST', `/v1/my/templates/${Number(made.body.id)}/send_test`, { token: api.userJwt });
    expect((await send()).status).toBe(422);
    await patch({ mobile: '+14155550123' });
    const sent = await send();
    expect([sent.status, sent.body.messages]).toEqual([
      200,
      [{ id: expect.any(Number), to: '+14155550123' }],
    ]);
  });
});
