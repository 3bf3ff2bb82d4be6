// The account endpoint returns the documented fields, and changes only valid fields that the client may write.
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { countAi } from '../../../src/delivery/ledger/money/usage.ts';
import {
  createAccount,
  setAccount,
  pauseSending,
  resumeSending,
} from '../../../src/features/accounts/service.ts';
import { UNLIMITED } from '../../../src/features/accounts/schema.ts';
import { inTransaction } from '../../../src/platform/db/queryable.ts';
import { startTestApi, type TestApi } from '../../support/api.ts';
import { addUpload } from '../../support/uploads.ts';

let api: TestApi;
beforeAll(async () => {
  api = await startTestApi({ env: { SANDBOX_MONTHLY_CAP: '100', ALLOWANCE_FREE: '1000' } });
});
afterAll(() => api.close());

const get = () => api.request('GET', '/v1/my/account');
const patch = (body: object) => api.request('PATCH', '/v1/my/account', { body });

describe('GET /v1/my/account', () => {
  it('returns every field of the interface for an account that has sent nothing', async () => {
    const answer = await get();
    expect(answer.status).toBe(200);
    const none = { used: 0, allowance: 0, remaining: UNLIMITED, limited: false, overage_rate: 0 };
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
        campaigns: true,
        flows: true,
        validation: true,
        inboxes: false,
        webhooks: true,
        custom_domains: true,
        mcp: true,
      },
      spend_cap_monthly_cents: null,
      billing: {
        plan_name: 'free',
        wallet_balance_cents: 0,
        auto_topup: false,
        resources: {
          email: { used: 0, allowance: 10_000, remaining: 10_000, limited: true, overage_rate: 0 },
          sms: none,
          ai: none,
        },
        lifetime: { email_sent: 0, sms_sent: 0, ai_used: 0 },
      },
      email_from_name: null,
      email_from_email: null,
      email_reply_to: null,
      test_email_recipients: [],
      submission: null,
      created_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/),
      updated_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/),
      brand: expect.objectContaining({ id: api.brandId, account_id: api.accountId, complete: false }),
    });
  });

  it('counts only the usage of this account and this period', async () => {
    const { pool } = api.database;
    const used = (accountId: number, month: string, count: number) =>
      pool.query(
        `insert into sandbox_usage values ($1, (date_trunc('month', now() at time zone 'utc') + $2::interval)::date, $3)`,
        [accountId, month, count],
      );
    await used(api.accountId, '-1 month', 500);
    await used(api.accountId, '0', 30);
    await used(api.other.accountId, '0', 77);
    const month = (interval: string) =>
      `(date_trunc('month', now() at time zone 'utc') + interval '${interval}')::date`;
    await pool.query(
      `insert into account_usage (account_id, month, email_used) values
         ($1, ${month('0')}, 40), ($1, ${month('-1 month')}, 900), ($2, ${month('0')}, 333)`,
      [api.accountId, api.other.accountId],
    );
    await pool.query(
      `insert into usage_changes (account_id, month, email_used, sms_used, email_sent, sms_sent) values
         ($1, ${month('0')}, 2, 5, 1, 2), ($1, ${month('-1 month')}, -1, 0, 1, 0), ($2, ${month('0')}, 7, 7, 7, 7)`,
      [api.accountId, api.other.accountId],
    );
    await countAi(pool, api.accountId);
    await pool.query('update account_counters set email_sent = 12, sms_sent = 3 where account_id = $1', [
      api.accountId,
    ]);
    const { body } = await get();
    expect(body.sandbox_sends_remaining).toBe(70);
    expect(body.billing?.resources?.email).toEqual({
      used: 42,
      allowance: 10_000,
      remaining: 9958,
      limited: true,
      overage_rate: 0,
    });
    expect(body.billing?.resources?.sms).toMatchObject({ used: 5, allowance: 0, limited: false });
    expect(body.billing?.resources?.ai).toMatchObject({ used: 1, allowance: 0, remaining: UNLIMITED });
    expect(body.billing?.lifetime).toEqual({ email_sent: 14, sms_sent: 5, ai_used: 1 });
  });

  it('shows the prices of its tier for usage beyond the allowance', async () => {
    const { pool } = api.database;
    await pool.query(
      `insert into prices (tier, kind, country, millicents) values ('free', 'email', null, 250),
         ('free', 'sms', 'DE', 7500), ('free', 'sms', 'US', 900), ('paid', 'email', null, 1)`,
    );
    await pool.query('update accounts set monthly_email_allowance = 10 where id = $1', [api.accountId]);
    const rates = async () => {
      const { email, sms, ai } = (await get()).body.billing?.resources ?? {};
      return [email?.allowance, email?.overage_rate, sms?.overage_rate, ai?.overage_rate];
    };
    expect(await rates()).toEqual([10, 0.25, 7.5, 0]);
    await setAccount(pool, api.accountId, { comped: true });
    expect(await rates()).toEqual([10, 0, 0, 0]);
    await setAccount(pool, api.accountId, { comped: false });
    await pool.query('delete from prices');
    await pool.query('update accounts set monthly_email_allowance = null where id = $1', [api.accountId]);
  });

  it('shows the settings of the operator', async () => {
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

  it('shows completed onboarding steps with their times', async () => {
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

it('completes the onboarding step if a brand is complete from the start', async () => {
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

describe('PATCH /v1/my/account', () => {
  beforeEach(async () => {
    await patch({ name: 'Acme', email_from_email: null, email_reply_to: null, test_email_recipients: [] });
  });

  it('names every invalid field, and changes nothing', async () => {
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
      email_reply_to: ['must be an address without a name'],
      'test_email_recipients.1': ['is not an email address'],
      avatar: ['must be a string'],
      reply: ['is not a known field'],
    });
    expect((await get()).body).toEqual(before);
  });

  it('accepts at most five test recipients', async () => {
    const recipients = Array.from({ length: 6 }, (_, index) => `r${index}@acme.test`);
    const answer = await patch({ test_email_recipients: recipients });
    expect([answer.status, answer.body.validation_errors]).toEqual([
      422,
      { test_email_recipients: ['must have at most 5 items'] },
    ]);
    expect((await patch({ test_email_recipients: recipients.slice(1) })).status).toBe(200);
  });

  it('changes only the given fields, and clears a field with null', async () => {
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

  it('accepts only a verified sender, which is the sandbox address until a domain is verified', async () => {
    for (const address of ['boss@acme.test', `sandbox-${api.other.accountId}@mail.test`]) {
      const answer = await patch({ email_from_email: address });
      expect([answer.status, answer.body.code]).toEqual([422, 'sender_not_verified']);
      expect(Object.keys(answer.body.validation_errors ?? {})).toEqual(['email_from_email']);
    }
    const own = `sandbox-${api.accountId}@mail.test`;
    expect((await patch({ email_from_email: own })).body.email_from_email).toBe(own);
  });

  it('ignores read-only fields, so that a client may send back an edited GET response', async () => {
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

  it('accepts only images that the account uploaded', async () => {
    const image = await addUpload(api, 'image/png');
    const good = await patch({ avatar: image, banner: image });
    expect([good.status, good.body.avatar, good.body.banner]).toEqual([200, image, image]);
    const bad = {
      made_up: 'x',
      forged: image.replace(
        /-(\w)([\w-]{21})$/,
        (_all, first, rest) => `-${first === 'A' ? 'B' : 'A'}${rest}`,
      ),
      no_image: await addUpload(api, 'application/pdf'),
      others: await addUpload(api, 'image/png', api.other),
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
