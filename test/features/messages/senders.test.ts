// A message leaves only from a verified address of the brand, otherwise from the limited sandbox.
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { createSenderIdentities } from '../../../src/delivery/terms/sender-identity.ts';
import { startTestApi, type TestApi, type TestTenant } from '../../support/api.ts';
import { insertVerifiedDomain } from '../../support/domains.ts';
import { allowInboxes, insertInbox } from '../../support/inboxes.ts';
import { eventually } from '../../support/eventually.ts';

let api: TestApi;
let domainId: number;

beforeAll(async () => {
  api = await startTestApi({ env: { SANDBOX_MONTHLY_CAP: '2' } });
  domainId = await insertVerifiedDomain(api.database, api, 'acme.example');
  await insertVerifiedDomain(api.database, api.other, 'other.example');
  await api.database.pool.query(
    `insert into domains (account_id, brand_id, name, return_path_host, tracking_host)
     values ($1, $2, 'pending.example', 'r', 't')`,
    [api.accountId, api.brandId],
  );
});
afterAll(() => api.close());
beforeEach(() => api.database.pool.query('delete from sandbox_usage'));

const send = (from?: string, further: object = {}) =>
  api.request('POST', '/v1/my/messages', {
    body: { channel: 'email', to: 'ada@example.com', subject: 'Hi', body: 'Hi', from, ...further },
  });

const queued = async (id: unknown) =>
  (
    await api.database.pool.query<{ domain_id: number | null; provider_id: number | null }>(
      'select domain_id, provider_id from send_queue where message_id = $1',
      [id],
    )
  ).rows[0];

const patch = (body: object) => api.request('PATCH', '/v1/my/account', { body });

/** With empty caches. */
const defaultSender = async ({ accountId, brandId }: TestTenant) =>
  (await createSenderIdentities(api.database.pool, 'mail.test').ofBrand({ accountId, brandId }))
    .defaultAddress;

describe('an address at a verified domain', () => {
  it.each(['ada@acme.example', 'Ada Lovelace <Ada@ACME.example>', '"any body"@acme.example'])(
    'is a sender of the brand: %s',
    async (from) => {
      const { status, body } = await send(from);
      expect([status, body.from]).toEqual([201, from]);
      expect(await queued(body.id)).toEqual({ domain_id: domainId, provider_id: 0 });
    },
  );

  it('is a sender in `from_email`, too', async () => {
    const { status, body } = await send(undefined, { from_email: 'ada@acme.example' });
    expect(status).toBe(201);
    expect(await queued(body.id)).toMatchObject({ domain_id: domainId });
  });

  it.each([
    'ada@sub.acme.example',
    'ada@example',
    'ada@pending.example',
    'ada@other.example',
    'sandbox-999@mail.test',
    'ada@mail.test',
  ])('is not %s', async (from) => {
    const { status, body } = await send(from);
    expect([status, body.code]).toEqual([
      422,
      from === 'ada@example' ? 'validation_error' : 'sender_not_verified',
    ]);
  });

  it('sends through the provider of its domain', async () => {
    const { rows } = await api.database.pool.query<{ id: number }>(
      `insert into providers (name, kind, channel, settings_sealed, callback_token_sealed, callback_digest)
       values ('eu', 'ses', 'email', '', '', 'a') returning id`,
    );
    const id = await insertVerifiedDomain(api.database, api.other, 'eu.example', {
      providerId: rows[0]?.id,
    });
    const { body } = await api.request('POST', '/v1/my/messages', {
      token: api.other.testApiKey,
      body: { channel: 'email', to: 'ada@example.com', subject: 'Hi', body: 'Hi', from: 'ada@eu.example' },
    });
    expect(body.status).toBe('delivered');
    const live = createSenderIdentities(api.database.pool, 'mail.test');
    const senders = await live.ofBrand(api.other);
    expect(senders.resolve({ key: 'ada@eu.example', domain: 'eu.example' })).toEqual({
      domainId: id,
      providerId: rows[0]?.id,
    });
  });
});

describe('the sandbox', () => {
  it('counts only messages from its own address', async () => {
    const sandbox = `sandbox-${api.accountId}@mail.test`;
    for (let n = 0; n < 3; n += 1) expect((await send('ada@acme.example')).status).toBe(201);
    expect((await send(sandbox)).status).toBe(201);
    const { body } = await api.request('GET', '/v1/my/account');
    expect([body.sandbox_monthly_cap, body.sandbox_sends_remaining]).toEqual([2, 1]);
    expect((await send(sandbox)).status).toBe(201);
    expect((await send(sandbox)).body.code).toBe('sandbox_limit_reached');
    expect((await send('ada@acme.example')).status).toBe(201);
  });

  it('is shown as a limit only while emails without a sender come from it', async () => {
    const set = (columns: string) =>
      api.database.pool.query(`update accounts set ${columns} where id = $1`, [api.accountId]);
    const status = async () => {
      const { state, reason } = (await api.request('GET', '/v1/my/delivery/status')).body;
      return { state, reason };
    };
    await set('sandbox_monthly_cap = 0');
    expect(await status()).toEqual({ state: 'limited', reason: 'sandbox_limit_reached' });
    await set(`email_from_email = 'news@acme.example'`);
    expect(await status()).toEqual({ state: 'open', reason: null });
    await set('sandbox_monthly_cap = null, email_from_email = null');
  });
});

describe('a message without a sender', () => {
  it('comes from the account’s address if that is verified for the brand', async () => {
    expect(await defaultSender(api)).toBe(`sandbox-${api.accountId}@mail.test`);
    expect((await patch({ email_from_email: 'news@acme.example', email_from_name: 'Acme' })).status).toBe(
      200,
    );
    expect(await defaultSender(api)).toBe('news@acme.example');
    // The cache is at most a second old.
    await new Promise((resolve) => setTimeout(resolve, 1_100));
    const { body } = await send();
    expect(body.from).toBe('"Acme" <news@acme.example>');
    expect(await queued(body.id)).toMatchObject({ domain_id: domainId });
    expect((await api.request('GET', '/v1/my/delivery/status')).body).toMatchObject({
      exact_sender: { email: 'news@acme.example', verified: true },
      // The sandbox does not limit this sender.
      commercial: { sandbox_monthly_cap: null, sandbox_sends_remaining: null, sandbox_resets_at: null },
    });
  });

  it('comes from the sandbox once the domain is no longer verified', async () => {
    const set = (status: string) =>
      api.database.pool.query('update domains set status = $2 where id = $1', [domainId, status]);
    await set('failed');
    expect(await defaultSender(api)).toBe(`sandbox-${api.accountId}@mail.test`);
    await set('verified');
    expect(await defaultSender(api)).toBe('news@acme.example');
  });
});

describe('a request that is repeated with its key', () => {
  const post = (key: string, body: object, token = api.apiKey) =>
    api.request('POST', '/v1/my/messages', { body, token, headers: { 'Idempotency-Key': key } });
  const email = {
    channel: 'email',
    to: 'ada@example.com',
    from: 'ada@brief.example',
    subject: 'Hi',
    body: 'Hi',
  };

  it.each(['live', 'test'])(
    'returns its message although its sender is no longer verified: with a %s key',
    async (kind) => {
      const token = kind === 'live' ? api.apiKey : api.testApiKey;
      const id = await insertVerifiedDomain(api.database, api, 'brief.example');
      await eventually(async () => expect((await post(`first ${kind}`, email, token)).status).toBe(201));
      const first = await post(`first ${kind}`, email, token);
      await api.database.pool.query('delete from domains where id = $1', [id]);
      // The cache of senders is at most a second old.
      await eventually(async () => expect((await send(email.from)).body.code).toBe('sender_not_verified'));
      const again = await post(`first ${kind}`, email, token);
      expect([again.status, again.body]).toEqual([201, first.body]);
      expect(again.headers.get('idempotent-replayed')).toBe('true');
      for (const other of [
        { ...email, subject: 'Ho' },
        { ...email, subject: undefined },
        { ...email, to: 'nobody', tags: { carillon: '1' } },
      ]) {
        const { status, body } = await post(`first ${kind}`, other, token);
        expect([status, body.code]).toEqual([409, 'idempotency_conflict']);
      }
    },
  );
});

describe('the account', () => {
  it('accepts only a verified address as its sender', async () => {
    for (const address of ['ada@pending.example', 'ada@other.example', 'ada@sub.acme.example']) {
      const { status, body } = await patch({ email_from_email: address });
      expect([status, body.code]).toEqual([422, 'sender_not_verified']);
    }
    expect((await patch({ email_from_email: 'ada@acme.example' })).status).toBe(200);
  });

  it('checks it against the domains of the current brand', async () => {
    const { pool } = api.database;
    const { rows } = await pool.query<{ id: number }>(
      'insert into brands (account_id) values ($1) returning id',
      [api.accountId],
    );
    const brandId = rows[0]?.id ?? 0;
    const asked = { token: api.userJwt, headers: { 'X-Brand-Id': String(brandId) } };
    const account = await api.request('GET', '/v1/my/account', asked);
    expect(account.body).toMatchObject({
      ...{ domain_verified: false, using_sandbox: true, sandbox_email: `sandbox-${api.accountId}@mail.test` },
      email_from_email: 'ada@acme.example',
    });
    const patchHere = (body: unknown) => api.request('PATCH', '/v1/my/account', { ...asked, body });
    // A client may send the account back as it received it.
    expect((await patchHere(account.body)).status).toBe(200);
    const refused = await patchHere({ email_from_email: 'bob@acme.example' });
    expect([refused.status, refused.body.code]).toEqual([422, 'sender_not_verified']);
    await insertVerifiedDomain(api.database, { ...api, brandId }, 'second.example');
    expect((await api.request('GET', '/v1/my/account', asked)).body.using_sandbox).toBe(false);
    expect((await patch({ email_from_email: 'bob@second.example' })).status).toBe(422);
  });

  it('shows that it has a verified domain', async () => {
    expect((await api.request('GET', '/v1/my/account')).body).toMatchObject({
      domain_verified: true,
      using_sandbox: false,
      sandbox_email: null,
      can_send: true,
    });
    await api.database.pool.query(`update domains set status = 'failed' where id = $1`, [domainId]);
    const { body } = await api.request('GET', '/v1/my/account');
    expect(body).toMatchObject({
      domain_verified: false,
      using_sandbox: true,
      sandbox_email: `sandbox-${api.accountId}@mail.test`,
    });
    await api.database.pool.query(`update domains set status = 'verified' where id = $1`, [domainId]);
  });
});

describe('the built-in inbox', () => {
  const inbox = () => `inbox-${api.brandId}@mail.test`;
  const set = (columns: string) => api.database.pool.query(`update inboxes set ${columns}`);
  /** With empty caches. */
  const identity = async (tenant: TestTenant = api) =>
    (await createSenderIdentities(api.database.pool, 'mail.test').ofBrand(tenant)).resolve({
      key: inbox(),
      domain: 'mail.test',
    });

  beforeAll(async () => {
    await allowInboxes(api.database, api.accountId);
    await allowInboxes(api.database, api.other.accountId);
    await insertInbox(api.database, api, inbox(), { builtIn: true });
  });
  afterEach(async () => {
    await allowInboxes(api.database, api.accountId);
    await set('enabled = true, removed_at = null');
  });
  afterAll(() => api.database.pool.query('delete from inboxes'));

  it('is a sender of its brand alone, within the cap of the sandbox', async () => {
    const sent = await eventually(async () => {
      const { status, body } = await send(`Acme <${inbox()}>`);
      expect(status).toBe(201);
      return body;
    });
    expect(await queued(sent.id)).toEqual({ domain_id: null, provider_id: 0 });
    expect((await send(inbox().toUpperCase())).status).toBe(201);
    expect((await send(inbox())).body.code).toBe('sandbox_limit_reached');
    expect(await identity(api.other)).toBeNull();
  });

  it('may be the default sender of the account', async () => {
    expect((await patch({ email_from_email: inbox() })).status).toBe(200);
    expect(await defaultSender(api)).toBe(inbox());
    expect((await patch({ email_from_email: null })).status).toBe(200);
    await set('enabled = false');
    expect((await patch({ email_from_email: inbox() })).body.code).toBe('sender_not_verified');
  });

  it('is no sender while it is disabled, once it is removed, or without the capability', async () => {
    expect(await identity()).toBe('sandbox');
    await set('enabled = false');
    expect(await identity()).toBeNull();
    await set('enabled = true, removed_at = now()');
    expect(await identity()).toBeNull();
    await set('removed_at = null');
    await allowInboxes(api.database, api.accountId, false);
    expect(await identity()).toBeNull();
  });

  it('is no sender of another brand of the account', async () => {
    const { rows } = await api.database.pool.query<{ id: number }>(
      'insert into brands (account_id) values ($1) returning id',
      [api.accountId],
    );
    const brandId = rows[0]?.id ?? 0;
    const senders = await createSenderIdentities(api.database.pool, 'mail.test').ofBrand({
      accountId: api.accountId,
      brandId,
    });
    for (const key of [inbox(), `inbox-${brandId}@mail.test`]) {
      expect(senders.resolve({ key, domain: 'mail.test' })).toBeNull();
    }
  });

  it('is no sender if the brand has only other inboxes', async () => {
    await set(`domain_name = 'mail.test'`);
    expect(await identity()).toBeNull();
    await set('domain_name = null');
  });
});
