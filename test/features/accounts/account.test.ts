import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import {
  createAccount,
  setAccount,
  pauseSending,
  resumeSending,
} from '../../../src/features/accounts/service.ts';
import { inTransaction } from '../../../src/platform/db/queryable.ts';
import { createKeyring } from '../../../src/platform/secrets/keyring.ts';
import { createSignedIds } from '../../../src/platform/secrets/signed-id.ts';
import { startTestApi, TEST_SECRET, type TestApi } from '../../support/api.ts';

let api: TestApi;
beforeAll(async () => {
  api = await startTestApi({ env: { SANDBOX_MONTHLY_CAP: '100', ALLOWANCE_FREE: '1000' } });
});
afterAll(() => api.close());

const get = () => api.request('GET', '/v1/my/account');
const patch = (body: object) => api.request('PATCH', '/v1/my/account', { body });

/** A signed id of a new upload. */
async function upload(contentType: string, tenant: { accountId: number; brandId: number } = api) {
  const { rows } = await api.database.pool.query<{ id: number }>(
    `insert into uploads (account_id, brand_id, filename, content_type, size, storage_key)
     values ($1, $2, 'a', $3, 1, gen_random_uuid()) returning id`,
    [tenant.accountId, tenant.brandId, contentType],
  );
  const id = rows[0]?.id ?? 0;
  return createSignedIds(createKeyring(TEST_SECRET)).sign('upload', { accountId: tenant.accountId, id });
}

describe('GET /account', () => {
  it('has every field of the interface, of an account that has done nothing', async () => {
    const answer = await get();
    expect(answer.status).toBe(200);
    const none = { used: 0, allowance: 0, remaining: 0, overage_rate: 0 };
    expect(answer.body).toEqual({
      id: api.accountId,
      name: 'Acme',
      avatar: null,
      banner: null,
      comped: false,
      account_tier: 'free',
      onboarding_state: {},
      onboarding: {
        steps: {
          domain: { completed_at: null },
          brand: { completed_at: null },
          contacts: { completed_at: null },
          first_send: { completed_at: null },
        },
        progress: { completed: 0, total: 4 },
      },
      domain_verified: false,
      can_send: true,
      using_sandbox: true,
      sandbox_email: `sandbox-${api.accountId}@mail.test`,
      sandbox_monthly_cap: 100,
      sandbox_sends_remaining: 100,
      capabilities: {
        email: true,
        sms: true,
        campaigns: false,
        flows: false,
        validation: false,
        inboxes: false,
        webhooks: true,
        custom_domains: false,
        mcp: false,
      },
      spend_cap_monthly_cents: null,
      billing: {
        plan_name: 'free',
        wallet_balance_cents: 0,
        auto_topup: false,
        resources: {
          email: { used: 0, allowance: 1000, remaining: 1000, overage_rate: 0 },
          sms: none,
          ai: none,
        },
        lifetime: { email_sent: 0, sms_sent: 0, ai_used: 0 },
      },
      email_from_name: null,
      email_from_email: null,
      email_reply_to: null,
      test_email_recipients: [],
      created_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/),
      updated_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/),
      brand: expect.objectContaining({ id: api.brandId, account_id: api.accountId, complete: false }),
    });
  });

  it('tells what is used, of this account and this time alone', async () => {
    const { pool } = api.database;
    const used = (accountId: number, month: string, count: number) =>
      pool.query(
        `insert into sandbox_usage values ($1, (date_trunc('month', now() at time zone 'utc') + $2::interval)::date, $3)`,
        [accountId, month, count],
      );
    await used(api.accountId, '-1 month', 500);
    await used(api.accountId, '0', 30);
    await used(api.other.accountId, '0', 77);
    await pool.query(
      `insert into allowance_buckets values ($1, now() - interval '1 hour', 40), ($1, now() - interval '23 hours', 2),
         ($1, now() - interval '25 hours', 900), ($2, now() - interval '1 hour', 333)`,
      [api.accountId, api.other.accountId],
    );
    await pool.query('update account_counters set email_sent = 12, sms_sent = 3 where account_id = $1', [
      api.accountId,
    ]);
    const { body } = await get();
    expect(body.sandbox_sends_remaining).toBe(70);
    expect(body.billing?.resources?.email).toEqual({
      used: 42,
      allowance: 1000,
      remaining: 958,
      overage_rate: 0,
    });
    expect(body.billing?.lifetime).toEqual({ email_sent: 12, sms_sent: 3, ai_used: 0 });
  });

  it('follows what the operator sets', async () => {
    const { pool } = api.database;
    await setAccount(pool, api.accountId, {
      tier: 'trusted',
      sandboxMonthlyCap: 20,
      spendCapMonthlyCents: 5,
    });
    const { body } = await get();
    expect(body).toMatchObject({
      account_tier: 'trusted',
      sandbox_monthly_cap: 20,
      sandbox_sends_remaining: 0,
      can_send: false,
      spend_cap_monthly_cents: 5,
    });
    expect(body.billing?.resources?.email?.allowance).toBe(1_000_000);
    await setAccount(pool, api.accountId, { tier: 'free', sandboxMonthlyCap: 1000 });
    expect((await get()).body.can_send).toBe(true);
    await pauseSending(pool, api.accountId, 'too many complaints');
    expect((await get()).body.can_send).toBe(false);
    await resumeSending(pool, api.accountId);
  });

  it('has the onboarding steps that are done, with their times', async () => {
    const { pool } = api.database;
    await pool.query(
      `insert into messages (account_id, brand_id, channel, status, test, created_at) values
         ($1, $2, 'email', 'delivered', true, '2026-01-01T00:00:00Z'),
         ($1, $2, 'email', 'sent', false, '2026-02-01T00:00:00Z'),
         ($1, $2, 'email', 'sent', false, '2026-03-01T00:00:00Z')`,
      [api.accountId, api.brandId],
    );
    await api.request('PUT', '/v1/my/brand', { body: { brand_color: '#123456' } });
    const { body } = await get();
    const { onboarding } = body;
    expect(onboarding?.steps?.first_send).toEqual({ completed_at: '2026-02-01T00:00:00.000Z' });
    expect(onboarding?.progress).toEqual({ completed: 2, total: 4 });
    expect(Object.keys(body.onboarding_state ?? {})).toEqual(['brand', 'first_send']);
    await api.request('PUT', '/v1/my/brand', { body: { brand_color: null } });
    await api.request('PUT', '/v1/my/brand', { body: { brand_color: '#654321' } });
    expect((await get()).body.onboarding?.steps?.brand).toEqual(onboarding?.steps?.brand);
  });
});

it('notes at once that a brand is complete which is made so', async () => {
  const { pool } = api.database;
  const make = (name: string, brand: { brandColor?: string }) =>
    inTransaction(pool, (trx) =>
      createAccount(trx, { name, owner: { email: `${name}@acme.test`, password: 'correct horse' }, brand }),
    );
  const [complete, bare] = [await make('complete', { brandColor: '#123456' }), await make('bare', {})];
  const { rows } = await pool.query<{ noted: boolean }>(
    "select onboarding_state ? 'brand' as noted from accounts where id = any($1) order by id",
    [[complete.account.id, bare.account.id]],
  );
  expect(rows).toEqual([{ noted: true }, { noted: false }]);
});

describe('PATCH /account', () => {
  beforeEach(async () => {
    await patch({ name: 'Acme', email_from_email: null, email_reply_to: null, test_email_recipients: [] });
  });

  it('names every bad field and changes nothing', async () => {
    const before = (await get()).body;
    const answer = await patch({
      name: 'New\r\nBcc: x@y.test',
      email_from_name: 'x'.repeat(201),
      email_from_email: 'nobody',
      email_reply_to: 'Reply <reply@acme.test>',
      test_email_recipients: ['a@b.test', 'b', 'c@d.test'],
      avatar: 1,
      reply: 'x',
    });
    expect(answer.status).toBe(422);
    expect(answer.body.validation_errors).toEqual({
      name: ['must not contain line breaks or control characters'],
      email_from_name: ['must have at most 200 characters'],
      email_from_email: ['is not an email address'],
      email_reply_to: ['must be an address alone, without a name'],
      'test_email_recipients.1': ['is not an email address'],
      avatar: ['must be a string'],
      reply: ['is not a known field'],
    });
    expect((await get()).body).toEqual(before);
  });

  it('takes at most five test recipients', async () => {
    const recipients = Array.from({ length: 6 }, (_, index) => `r${index}@acme.test`);
    const answer = await patch({ test_email_recipients: recipients });
    expect([answer.status, answer.body.validation_errors]).toEqual([
      422,
      { test_email_recipients: ['must have at most 5 items'] },
    ]);
    expect((await patch({ test_email_recipients: recipients.slice(1) })).status).toBe(200);
  });

  it('changes what is given and nothing else; null empties', async () => {
    const answer = await patch({
      name: 'Acme Ltd',
      email_from_name: 'Acme “Shop”',
      email_reply_to: 'help@bücher.example',
      test_email_recipients: ['a@b.test', 'a@b.test'],
    });
    expect(answer.status).toBe(200);
    expect(answer.body).toMatchObject({
      name: 'Acme Ltd',
      email_from_name: 'Acme “Shop”',
      email_reply_to: 'help@xn--bcher-kva.example',
      test_email_recipients: ['a@b.test'],
      account_tier: 'free',
    });
    const emptied = await patch({ email_from_name: null });
    expect(emptied.body).toMatchObject({ name: 'Acme Ltd', email_from_name: null });
  });

  it('sends from a verified sender only: until a domain is verified, the sandbox’s', async () => {
    for (const address of ['boss@acme.test', `sandbox-${api.other.accountId}@mail.test`]) {
      const answer = await patch({ email_from_email: address });
      expect([answer.status, answer.body.code]).toEqual([422, 'sender_not_verified']);
      expect(Object.keys(answer.body.validation_errors ?? {})).toEqual(['email_from_email']);
    }
    const own = `sandbox-${api.accountId}@mail.test`;
    expect((await patch({ email_from_email: own })).body.email_from_email).toBe(own);
  });

  it('ignores what is only for reading, so that GET, edit, PATCH works', async () => {
    const { body } = await get();
    const answer = await patch({ ...body, id: 1, comped: true, account_tier: 'trusted', name: 'Edited' });
    expect(answer.status).toBe(200);
    expect(answer.body).toMatchObject({
      id: api.accountId,
      comped: false,
      account_tier: 'free',
      name: 'Edited',
    });
  });

  it('takes images that the account uploaded, and nothing else', async () => {
    const image = await upload('image/png');
    const good = await patch({ avatar: image, banner: image });
    expect([good.status, good.body.avatar, good.body.banner]).toEqual([200, image, image]);
    const bad = {
      made_up: 'x',
      forged: image.replace(
        /-(\w)([\w-]{21})$/,
        (_all, first, rest) => `-${first === 'A' ? 'B' : 'A'}${rest}`,
      ),
      no_image: await upload('application/pdf'),
      others: await upload('image/png', api.other),
    };
    for (const [what, avatar] of Object.entries(bad)) {
      const answer = await patch({ avatar });
      expect([what, answer.status, answer.body.validation_errors]).toEqual([
        what,
        422,
        { avatar: ['must be the signed_id of an uploaded image'] },
      ]);
    }
    expect((await patch({ avatar: null })).body).toMatchObject({ avatar: null, banner: image });
  });
});

describe('PUT /brand', () => {
  const put = (body: object) => api.request('PUT', '/v1/my/brand', { body });

  it('names every bad field and changes nothing', async () => {
    const before = (await api.request('GET', '/v1/my/brand')).body;
    const answer = await put({
      brand_color: 'red',
      text_color: '#12345',
      bg_color: '#1234567',
      company_name: 'A\r\nB',
      font_body: 7,
      example_copy: ['x', 1],
      links: [{ url: 'javascript:alert(1)' }, { icon: 'x' }, { url: 'https://a.test', href: 'y' }],
      default_header: [],
      default_theme: { big: 'x'.repeat(33_000) },
      track_opens: 'yes',
      logo: 'nonsense',
      brand_colour: '#000000',
    });
    expect(answer.status).toBe(422);
    expect(answer.body.validation_errors).toEqual({
      brand_color: ['must be # and six hexadecimal digits'],
      text_color: ['must be # and six hexadecimal digits'],
      bg_color: ['must be # and six hexadecimal digits'],
      company_name: ['must not contain line breaks or control characters'],
      font_body: ['must be a string'],
      'example_copy.1': ['must be a string'],
      'links.0.url': ['must be a web, mailto or tel link'],
      'links.1.url': ['is required'],
      'links.2.href': ['is not a known field'],
      default_header: ['must be an object'],
      default_theme: ['must have at most 32 KB'],
      track_opens: ['must be true or false'],
      brand_colour: ['is not a known field; did you mean brand_color?'],
    });
    const logo = await put({ logo: 'javascript:alert(1)' });
    expect([logo.status, logo.body.validation_errors]).toEqual([
      422,
      { logo: ['must be a URL or the signed_id of an uploaded image'] },
    ]);
    expect((await api.request('GET', '/v1/my/brand')).body).toEqual(before);
  });

  it('keeps every field, leaves out what is left out, and tells when it is complete', async () => {
    const fields = {
      brand_color: '#AABBCC',
      text_color: '#000000',
      bg_color: '#ffffff',
      font_heading: 'Georgia',
      font_body: 'Inter',
      style_notes: 'Short.\nFriendly.',
      tone: 'warm',
      company_description: 'Sells anvils',
      industry: 'Hardware',
      physical_address: '1 Road\nTown',
      company_name: 'Acme',
      example_copy: ['Hello'],
      links: [{ url: 'https://acme.test', icon: 'globe', title: 'Site' }],
      default_header: { logo: true },
      default_footer: { note: 'x' },
      default_theme: { radius: 4 },
      logo: 'https://acme.test/logo.png',
      track_opens: false,
      track_clicks: false,
    };
    const made = await put(fields);
    expect(made.status).toBe(200);
    expect(made.body).toEqual({
      ...fields,
      id: api.brandId,
      account_id: api.accountId,
      source_url: null,
      last_scraped_at: null,
      complete: true,
      created_at: expect.any(String),
      updated_at: expect.any(String),
    });
    const partly = await put({ company_name: null });
    expect(partly.body).toMatchObject({ ...fields, company_name: null, complete: false });
    expect((await put({ ...(await api.request('GET', '/v1/my/brand')).body })).status).toBe(200);
  });

  it('keeps objects as they are, whatever words are in them', async () => {
    const marked = { isRawInstance: true, client: {}, isObjectionQueryBuilderBase: true, $ref: '#/x' };
    const given = {
      default_header: marked,
      default_theme: { nested: [marked] },
      links: [],
      example_copy: [],
    };
    const answer = await put(given);
    expect(answer.status).toBe(200);
    expect(answer.body).toMatchObject(given);
  });

  it('shows an uploaded logo by its address, and takes that back', async () => {
    const image = await upload('image/png');
    const { body } = await put({ logo: image });
    expect(body.logo).toBe(`${api.baseUrl}/uploads/${image}`);
    await put({ logo: body.logo });
    const { rows } = await api.database.pool.query<{ logo: string }>(
      'select logo from brands where id = $1',
      [api.brandId],
    );
    expect(rows[0]?.logo).toMatch(/^upload:\d+$/);
    const foreign = await put({ logo: await upload('image/png', api.other) });
    expect(foreign.status).toBe(422);
  });

  it('of the account that is shown is the caller’s', async () => {
    const brand = await api.request('GET', '/v1/my/brand', { token: api.other.apiKey });
    expect([brand.body.id, brand.body.company_name]).toEqual([api.other.brandId, 'Other Company']);
  });
});
