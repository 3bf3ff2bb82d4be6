// A test goes only to users of the account, once, without webhooks; SMS are charged, and the sandbox counts emails.
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { inTransaction } from '../../../src/platform/db/queryable.ts';
import { startTestApi, type TestApi } from '../../support/api.ts';
import { emptyTables } from '../../support/database.ts';
import { eventually } from '../../support/eventually.ts';
import { waitForLocks } from '../../support/lock-order.ts';
import { credit, monthsOf, setPrice } from '../../support/money.ts';
import {
  receivedAtLeast,
  startSmtpServer,
  startTestSender,
  type TestSender,
  type TestSmtpServer,
} from '../../support/sending.ts';
import { emailsSent } from '../../support/usage.ts';

let api: TestApi;
let server: TestSmtpServer;
let sender: TestSender;
beforeAll(async () => {
  api = await startTestApi();
  server = await startSmtpServer();
  sender = await startTestSender({ url: String(api.config.DATABASE_URL), port: server.port });
});
afterAll(async () => {
  await sender.stop();
  await server.stop();
  await api.close();
});

const PATH = '/v1/my/templates';
const QA = ['qa1@acme.test', 'QA2@acme.test'];
const pool = () => api.database.pool;
const count = async (table: string) => {
  const { rows } = await pool().query<{ n: number }>(`select count(*)::int as n from ${table}`);
  return rows[0]?.n ?? 0;
};

beforeEach(async () => {
  server.received.length = 0;
  await emptyTables(
    pool(),
    'messages, message_contents, send_queue, test_messages, webhook_deliveries, idempotency_keys',
  );
  await api.request('PATCH', '/v1/my/account', { body: { test_email_recipients: QA } });
});

async function create(body: object = {}): Promise<number> {
  const content = {
    subject: 'Hi {{ contact.first_name }}',
    body: '<p>{{ coupon }}</p>',
    variables: { coupon: 'X1' },
  };
  const made = await api.request('POST', PATH, { body: { ...content, ...body } });
  expect(made.body).toMatchObject({ id: expect.any(Number) });
  return Number(made.body.id);
}

const send = (id: number, body: unknown = {}, rest: Parameters<TestApi['request']>[2] = {}) =>
  api.request('POST', `${PATH}/${id}/send_test`, { body, ...rest });

describe('POST /templates/{id}/send_test', () => {
  it('sends to the test recipients, marked as a test, without webhooks or counts', async () => {
    await pool().query(
      `insert into webhooks (account_id, brand_id, url, events, secret_sealed, secret_last4)
       values ($1, $2, 'https://hook.test/', '{email.sent,email.delivered}', 'x', 'abcd')`,
      [api.accountId, api.brandId],
    );
    const id = await create();
    const { status, body } = await send(id);
    expect(status).toBe(200);
    const messages = body.messages as unknown as { id: number; to: string }[];
    expect(messages.map(({ to }) => to).sort()).toEqual([...QA].sort());
    await receivedAtLeast(server, 2);
    expect(server.received[0]?.raw).toContain('Subject: [Test] Hi Ada');
    expect(server.received[0]?.raw).toContain('X1');
    await eventually(async () => {
      const { body: shown } = await api.request('GET', `/v1/my/messages/${messages[0]?.id ?? 0}`);
      expect(shown).toMatchObject({
        status: 'sent',
        test: true,
        template_id: id,
        subject: '[Test] Hi Ada',
        tracking: { opens: false, clicks: false },
      });
    });
    expect(await count('webhook_deliveries')).toBe(0);
    expect(await emailsSent(pool(), api.accountId)).toBe(0);
  });

  it('sends once to each address of a user, whatever its case', async () => {
    const { email } = await api.addUser('member');
    const { status, body } = await send(await create(), { to: [email.toUpperCase(), email, QA[0]] });
    expect(status).toBe(200);
    const messages = body.messages as unknown as { to: string }[];
    expect(messages.map(({ to }) => to)).toEqual([email, QA[0]]);
  });

  it('sends to the calling user by default', async () => {
    const user = await api.addUser('member');
    const { body } = await send(await create(), {}, { token: user.userJwt });
    expect(body.messages).toMatchObject([{ to: user.email }]);
  });

  it('reports every other address, and sends nothing', async () => {
    const { status, body } = await send(await create(), {
      to: [QA[0], 'ada@example.com', api.other.email, 'no address'],
    });
    expect(status).toBe(422);
    expect(Object.keys(body.validation_errors ?? {})).toEqual(['to.1', 'to.2', 'to.3']);
    expect(await count('messages')).toBe(0);
  });

  it.each([
    [{ to: [] }, 'to'],
    [{ to: 'qa1@acme.test' }, 'to'],
    [{ to: Array.from({ length: 21 }, () => 'qa1@acme.test') }, 'to'],
    [{ contact_id: 999_999_999 }, 'contact_id'],
    [{ varables: {} }, 'varables'],
  ])('refuses %j', async (body, field) => {
    const answer = await send(await create(), body);
    expect(answer.status).toBe(422);
    expect(answer.body.validation_errors).toHaveProperty(field);
  });

  it('fills the contents of a template, a campaign and a flow with the values of a contact', async () => {
    const grace = { email: 'grace@example.com', first_name: 'Grace' };
    const contact = await api.request('POST', '/v1/my/contacts', { body: grace });
    const content = { subject: 'Hi {{ contact.first_name }}', body: '<p>Hello</p>' };
    const draft = { name: 'Spring', template_attributes: content };
    const campaign = await api.request('POST', '/v1/my/campaigns', { body: draft });
    const steps = [{ type: 'email', ...content }];
    const flow = await api.request('POST', '/v1/my/flows', { body: { name: 'Welcome', steps } });
    const ofOwners = [campaign, flow].map(({ body }) => Number(body.templates?.[0]?.id));
    const ids = [await create(), ...ofOwners];
    for (const id of ids) {
      const { status, body } = await send(id, { contact_id: contact.body.id, to: [QA[0]] });
      expect([id, status]).toEqual([id, 200]);
      const shown = await api.request('GET', `/v1/my/messages/${Number(body.messages?.[0]?.id)}`);
      expect([id, shown.body.subject]).toEqual([id, '[Test] Hi Grace']);
    }
  });

  it('needs a recipient', async () => {
    await api.request('PATCH', '/v1/my/account', { body: { test_email_recipients: [] } });
    const { status, body } = await send(await create());
    expect(status).toBe(422);
    expect(body.validation_errors).toHaveProperty('to');
  });

  it('refuses a sender that is not verified', async () => {
    const { status, body } = await send(await create({ from_email: 'ada@not-ours.test' }));
    expect([status, body.code]).toEqual([422, 'sender_not_verified']);
    expect(body.validation_errors).toHaveProperty('from_email');
  });

  it('uses the name of the template’s sender', async () => {
    const id = await create({ from_name: 'Ada "The" Count' });
    const { body } = await send(id, { to: [QA[0]] });
    const [message] = body.messages as unknown as { id: number }[];
    const { body: shown } = await api.request('GET', `/v1/my/messages/${message?.id ?? 0}`);
    expect(shown.from).toBe(`"Ada \\"The\\" Count" <sandbox-${api.accountId}@mail.test>`);
  });

  it('refuses a template that cannot be sent', async () => {
    const { status, body } = await send(await create({ subject: null, body: null }));
    expect(status).toBe(422);
    expect(body.validation_errors).toHaveProperty('body');
  });

  it('sends an SMS only to numbers of users', async () => {
    const id = await create({ channel: 'sms', subject: undefined, body: 'Hi {{ coupon }}' });
    expect((await send(id, { to: ['+14155550123'] })).body.validation_errors).toHaveProperty(['to.0']);
    await pool().query(`update users set mobile = '+14155550123' where id = $1`, [api.userId]);
    const { status, body } = await send(id, { to: ['+14155550123'] });
    await pool().query(`update users set mobile = '' where id = $1`, [api.userId]);
    expect(status).toBe(200);
    expect(body.messages).toMatchObject([{ to: '+14155550123' }]);
  });

  it('uses one place of the sandbox cap for each email', async () => {
    const used = async () => {
      const { rows } = await pool().query<{ used: number }>(
        'select used from sandbox_usage where account_id = $1',
        [api.accountId],
      );
      return rows[0]?.used ?? 0;
    };
    await pool().query('delete from sandbox_usage');
    await pool().query('update accounts set sandbox_monthly_cap = 3 where id = $1', [api.accountId]);
    const id = await create();
    const answers = [await send(id, { to: [QA[0]] }, { token: api.testApiKey }), await send(id)];
    expect([answers.map(({ status }) => status), await used()]).toEqual([[200, 200], 2]);
    const refused = await send(id);
    await pool().query('update accounts set sandbox_monthly_cap = null where id = $1', [api.accountId]);
    expect([refused.status, refused.body.code]).toEqual([422, 'sandbox_limit_reached']);
    expect([await count('messages'), await used()]).toEqual([3, 2]);
  });

  it('does not leave the service with a test key', async () => {
    const { status, body } = await send(await create(), { to: [QA[0]] }, { token: api.testApiKey });
    expect(status).toBe(200);
    const [message] = body.messages as unknown as { id: number }[];
    const { body: shown } = await api.request('GET', `/v1/my/messages/${message?.id ?? 0}`);
    expect(shown).toMatchObject({ status: 'delivered', provider: 'test', test: true });
    expect(await count('send_queue')).toBe(0);
  });

  it('counts with the messages of test keys', async () => {
    await pool().query(
      `insert into test_messages (message_id, account_id) select n, $1 from generate_series(1, 1000) n`,
      [api.accountId],
    );
    expect((await send(await create())).status).toBe(429);
  });

  it('does not exceed the daily limit if requests arrive together', async () => {
    await pool().query(
      `insert into test_messages (message_id, account_id) select -n, $1 from generate_series(1, 997) n`,
      [api.accountId],
    );
    const id = await create();
    const sending = await inTransaction(pool(), async (trx) => {
      await trx.query('lock table messages in access exclusive mode');
      const started = Array.from({ length: 3 }, () => send(id));
      await waitForLocks(pool(), () => 3);
      return started;
    });
    const answers = await Promise.all(sending);
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 429, 429]);
    const refused = answers.find(({ status }) => status === 429);
    expect(refused?.body.code).toBe('rate_limited');
    expect(Number(refused?.headers.get('retry-after'))).toBeGreaterThan(0);
    expect(await count('messages')).toBe(2);
  });

  it('sends once for the same key', async () => {
    const id = await create();
    const headers = { 'Idempotency-Key': 'once' };
    const first = await send(id, {}, { headers });
    await api.request('PATCH', `${PATH}/${id}`, { body: { body: null } });
    const again = await send(id, {}, { headers });
    expect([again.status, again.body]).toEqual([200, first.body]);
    expect(again.headers.get('idempotent-replayed')).toBe('true');
    expect((await send(id, { to: [QA[0]] }, { headers })).status).toBe(409);
    expect(await count('messages')).toBe(2);
  });

  it('is replayed with its key even if it would be refused now', async () => {
    const id = await create();
    const headers = { 'Idempotency-Key': 'later' };
    const first = await send(id, {}, { headers });
    await api.request('DELETE', `${PATH}/${id}`);
    await api.request('PATCH', '/v1/my/account', { body: { test_email_recipients: [] } });
    await pool().query(
      `insert into test_messages (message_id, account_id) select n + 1e9, $1 from generate_series(1, 1000) n`,
      [api.accountId],
    );
    const again = await send(id, {}, { headers });
    expect([again.status, again.body]).toEqual([200, first.body]);
    const other = await send(id, { to: ['nobody'] }, { headers });
    expect([other.status, other.body.code]).toEqual([409, 'idempotency_conflict']);
  });

  it('sends once if the connection is lost before the commit and the client repeats the request', async () => {
    const id = await create();
    const headers = { 'Idempotency-Key': 'lost' };
    await inTransaction(pool(), async (trx) => {
      await trx.query('lock table message_contents in access exclusive mode');
      const sending = send(id, {}, { headers });
      await eventually(async () => {
        const { rowCount } = await pool().query(
          `select pg_terminate_backend(pid) from pg_stat_activity
           where datname = current_database() and wait_event_type = 'Lock' and pid <> pg_backend_pid()`,
        );
        expect(rowCount).toBe(1);
      });
      expect((await sending).status).toBe(503);
    });
    expect(await count('messages')).toBe(0);
    expect((await send(id, {}, { headers })).status).toBe(200);
    expect((await send(id, {}, { headers })).headers.get('idempotent-replayed')).toBe('true');
    await receivedAtLeast(server, 2);
    expect(await count('messages')).toBe(2);
  });
});

describe('POST /templates/send_test', () => {
  const sendContent = (body: object, rest: Parameters<TestApi['request']>[2] = {}) =>
    api.request('POST', `${PATH}/send_test`, { body, ...rest });
  const content = {
    subject: 'Hi {{ contact.first_name }}',
    design: { sections: [{ type: 'text', props: { html: '<p>Take {{ coupon }}</p>' } }] },
    variables: { coupon: 'X7' },
    footer: 'marketing',
    to: [QA[0]],
  };

  it('sends a content that is not saved, with its footer, and stores no template', async () => {
    await api.request('PUT', '/v1/my/brand', { body: { physical_address: '1 Long Street, Leeds' } });
    const templates = await count('templates');
    const { status, body } = await sendContent({ ...content, from_name: 'Ada' });
    expect(status).toBe(200);
    await receivedAtLeast(server, 1);
    const mail = server.received[0]?.raw ?? '';
    expect(mail).toContain('Subject: [Test] Hi Ada');
    expect(mail).toContain('From: Ada <');
    expect(mail).toContain('Take X7');
    expect(mail).toContain('1 Long Street');
    const shown = await api.request('GET', `/v1/my/messages/${Number(body.messages?.[0]?.id)}`);
    expect(shown.body).toMatchObject({ test: true, template_id: null, subject: '[Test] Hi Ada' });
    expect(await count('templates')).toBe(templates);
  });

  it('takes the values of a contact of the brand only', async () => {
    const made = await api.request('POST', '/v1/my/contacts', {
      body: { email: 'hedy@example.com', first_name: 'Hedy' },
    });
    const { body } = await sendContent({ ...content, contact_id: made.body.id });
    const shown = await api.request('GET', `/v1/my/messages/${Number(body.messages?.[0]?.id)}`);
    expect(shown.body.subject).toBe('[Test] Hi Hedy');
    const other = await sendContent(
      { ...content, contact_id: made.body.id, to: undefined },
      { token: api.other.apiKey },
    );
    expect(other.body.validation_errors).toHaveProperty('contact_id');
  });

  it('reports what prevents it from being sent, and sends nothing', async () => {
    const bad = [
      [
        { design: { sections: [{ type: 'text', props: { html: '{{ oops' } }] } },
        'design.sections.0.props.html',
      ],
      [{ design: null }, 'body'],
      [{ to: ['ada@example.com'] }, 'to.0'],
      [{ from_email: 'ada@not-ours.test' }, 'from_email'],
      [{ channel: 'sms' }, 'subject'],
    ] as const;
    for (const [change, field] of bad) {
      const { status, body } = await sendContent({ ...content, ...change });
      expect([status, Object.keys(body.validation_errors ?? {})]).toEqual([
        422,
        expect.arrayContaining([field]),
      ]);
    }
    expect(await count('messages')).toBe(0);
  });

  it('sends once for the same key', async () => {
    const headers = { 'Idempotency-Key': 'content' };
    const both = { ...content, to: QA };
    const first = await sendContent(both, { headers });
    const again = await sendContent(both, { headers });
    expect([again.status, again.body]).toEqual([200, first.body]);
    expect(again.headers.get('idempotent-replayed')).toBe('true');
    expect((await sendContent({ ...both, subject: 'Other' }, { headers })).status).toBe(409);
    expect(await count('messages')).toBe(2);
  });

  it('does not leave the service with a test key', async () => {
    const { status, body } = await sendContent(content, { token: api.testApiKey });
    expect(status).toBe(200);
    const shown = await api.request('GET', `/v1/my/messages/${Number(body.messages?.[0]?.id)}`);
    expect(shown.body).toMatchObject({ status: 'delivered', provider: 'test', test: true });
  });
});

describe('a test by SMS', () => {
  const NUMBERS = ['+14155550123', '+4930901820'];
  const account = () => ({ accountId: api.accountId, brandId: api.brandId });
  const text = () => create({ channel: 'sms', subject: undefined, body: 'Hi {{ coupon }}' });
  const spent = async () => (await monthsOf(api.database, account())).spent;

  beforeEach(async () => {
    await pool().query('delete from prices; delete from account_months');
    await setPrice(api.database, 700, { tier: 'free', country: 'US' });
    await pool().query('update users set mobile = $2 where id = $1', [api.userId, NUMBERS[0]]);
    const { userId } = await api.addUser('member');
    await pool().query('update users set mobile = $2 where id = $1', [userId, NUMBERS[1]]);
  });
  afterAll(() => pool().query(`delete from prices; update users set mobile = ''`));

  it('is charged like any other SMS, but not with a test key', async () => {
    const id = await text();
    const refused = await send(id, { to: [NUMBERS[0]] });
    expect([refused.status, refused.body.code]).toEqual([422, 'insufficient_funds']);
    expect(await count('messages')).toBe(0);
    await credit(api.database, account(), 700);
    expect((await send(id, { to: [NUMBERS[0]] }, { token: api.testApiKey })).status).toBe(200);
    expect(await spent()).toBe(0);
    expect((await send(id, { to: [NUMBERS[0]] })).status).toBe(200);
    expect(await spent()).toBe(700);
    expect((await send(id, { to: [NUMBERS[0]] })).body.code).toBe('insufficient_funds');
    const { rows } = await pool().query(
      'select price_millicents, price_units from send_queue where price_month is not null',
    );
    expect(rows).toEqual([{ price_millicents: 700, price_units: 1 }]);
  });

  it('is refused beyond the spend cap, and to a country without a price', async () => {
    const id = await text();
    await credit(api.database, account(), 10_000);
    const abroad = await send(id, { to: NUMBERS });
    expect([abroad.status, Object.keys(abroad.body.validation_errors ?? {})]).toEqual([422, ['to']]);
    await pool().query('update accounts set spend_cap_monthly_cents = 0 where id = $1', [api.accountId]);
    const capped = await send(id, { to: [NUMBERS[0]] });
    await pool().query('update accounts set spend_cap_monthly_cents = null where id = $1', [api.accountId]);
    expect([capped.status, capped.body.code]).toEqual([422, 'spend_cap_reached']);
    expect([await count('messages'), await spent()]).toEqual([0, 0]);
  });
});
