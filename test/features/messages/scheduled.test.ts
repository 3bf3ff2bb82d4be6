// A message with a time to send is accepted, paid for and shown at once, and waits in the queue until its time.
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { readSchedule } from '../../../src/features/messages/schedule.ts';
import { startTestApi, type TestApi } from '../../support/api.ts';
import { credit, monthsOf, setPrice } from '../../support/money.ts';
import type { QueuedAccount } from '../../support/queued.ts';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const DAY = 86_400 * SECOND;

let api: TestApi;
beforeAll(async () => {
  api = await startTestApi({ env: { SANDBOX_MONTHLY_CAP: '20' } });
});
afterAll(() => api.close());

const email = { channel: 'email', to: 'ada@example.com', subject: 'Tomorrow at nine', html: '<p>Hi</p>' };
const sms = { channel: 'sms', to: '+4915112345678', body: 'Tomorrow at nine' };
const pdf = { filename: 'a.pdf', content: Buffer.from('%PDF-1.4 of a test').toString('base64') };

const ahead = (ms: number) => new Date(Date.now() + ms).toISOString();

const post = (body: object, { key, token }: { key?: string; token?: string } = {}) =>
  api.request('POST', '/v1/my/messages', {
    ...(token === undefined ? {} : { token }),
    headers: key === undefined ? {} : { 'Idempotency-Key': key },
    body,
  });

const select = async (sql: string, ...values: unknown[]) =>
  (await api.database.pool.query<Record<string, unknown>>(sql, values)).rows;

const queueOf = (id: unknown) =>
  select(
    'select channel, due_at, queued_at from send_queue where message_id = any (array(select id from messages where id = $1 or letter_id = $1)) order by 1',
    id,
  );

it.each<[string, object, string, number]>([
  ['an email', email, 'email', 1],
  ['an SMS', sms, 'sms', 1],
  [
    'a letter',
    { ...email, to: ['ada@example.com', 'bob@example.com'], attachments: [pdf] },
    'email_whole',
    2,
  ],
])('waits until its time: %s', async (_name, body, queue, copies) => {
  const time = ahead(2 * DAY);
  // With another offset.
  const given = `${new Date(Date.parse(time) + 120 * MINUTE).toISOString().slice(0, -1)}+02:00`;
  const { status, body: sent } = await post({ ...body, scheduled_at: given });
  expect([status, sent.status, sent.scheduled_at]).toEqual([201, 'scheduled', time]);
  const due = { channel: queue, due_at: new Date(time), queued_at: new Date(time) };
  expect(await queueOf(sent.id)).toEqual(Array(copies).fill(due));
  const { body: shown } = await api.request('GET', `/v1/my/messages/${String(sent.id)}`);
  expect([shown.status, shown.scheduled_at]).toEqual(['scheduled', time]);
  if (copies > 1) expect(sent.recipients).toMatchObject([{ status: 'scheduled' }, { status: 'scheduled' }]);
});

it('is sent at once if its time has just passed, or if it has none', async () => {
  const [now, none] = [await post({ ...email, scheduled_at: ahead(-4 * MINUTE) }), await post(email)];
  expect([now.status, now.body.status, now.body.scheduled_at]).toEqual([201, 'queued', null]);
  expect([none.body.status, none.body.scheduled_at]).toEqual(['queued', null]);
  expect(await select('select scheduled_at from messages where id = $1', now.body.id)).toEqual([
    { scheduled_at: null },
  ]);
});

describe('a time', () => {
  const words = 'must be an ISO 8601 date-time with seconds and a zone, such as 2026-03-01T10:00:00Z';

  it.each<[string, () => string, string]>([
    ['beyond 30 days', () => ahead(30 * DAY + MINUTE), 'must be at most 30 days ahead'],
    ['in the past', () => ahead(-6 * MINUTE), 'is in the past; leave it out to send the message now'],
    ['without a zone', () => '2030-01-01T09:00:00', words],
    ['that is no time', () => 'tomorrow', words],
  ])('%s is refused', async (_name, given, message) => {
    for (const body of [email, sms]) {
      const refused = await post({ ...body, scheduled_at: given() });
      expect(refused.status).toBe(422);
      expect(refused.body.validation_errors?.scheduled_at).toContain(message);
    }
  });

  it('is bounded by the days for which contents are kept', () => {
    const errorsOf = (ms: number, days: number) => readSchedule(ahead(ms), days).errors.scheduled_at;
    expect(errorsOf(7 * DAY - MINUTE, 7)).toBeUndefined();
    expect(errorsOf(7 * DAY + MINUTE, 7)).toEqual(['must be at most 7 days ahead']);
    expect(errorsOf(30 * DAY + MINUTE, 400)).toEqual(['must be at most 30 days ahead']);
    expect(errorsOf(MINUTE, 0)).toEqual(['cannot be given here: this installation keeps no contents']);
  });
});

describe('its idempotency key', () => {
  const keyOf = (key: string) => select('select created_at from idempotency_keys where key = $1', key);
  const final = (time: string) => [{ created_at: new Date(Date.parse(time) + 3 * DAY) }];

  it('replays it after its time has passed', async () => {
    const body = { ...email, scheduled_at: ahead(MINUTE) };
    const first = await post(body, { key: 'passed' });
    const now = Date.now();
    const clock = jest.spyOn(Date, 'now').mockImplementation(() => now + 20 * MINUTE);
    const again = await post(body, { key: 'passed' });
    const another = await post({ ...body, subject: 'Another' }, { key: 'passed' });
    clock.mockRestore();
    expect([again.status, again.body.id]).toEqual([201, first.body.id]);
    expect(again.body.scheduled_at).toBe(body.scheduled_at);
    expect(another.status).toBe(409);
  });

  it('is kept until a week after it is final', async () => {
    const time = ahead(20 * DAY);
    const files = { ...email, attachments: [pdf] };
    for (const [key, body] of Object.entries({ plain: email, text: sms, files })) {
      await post({ ...body, scheduled_at: time }, { key });
      expect(await keyOf(key)).toEqual(final(time));
    }
    // A key that has expired is taken again.
    const old = await post(email, { key: 'old' });
    await select(`update idempotency_keys set created_at = now() - interval '8 days' where key = 'old'`);
    const taken = await post({ ...email, scheduled_at: time }, { key: 'old' });
    expect([taken.status, taken.body.id === old.body.id]).toEqual([201, false]);
    expect(await keyOf('old')).toEqual(final(time));
  });
});

it('keeps its files until its contents are gone', async () => {
  const time = ahead(20 * DAY);
  const content = Buffer.from('%PDF-1.4 that is kept').toString('base64');
  const send = (scheduled_at?: string) =>
    post({ ...email, attachments: [{ ...pdf, content }], scheduled_at });
  const keptDays = async () => {
    const [file] = await select(
      `select extract(day from f.kept_until - date_trunc('day', now()))::int as days
       from attachment_files f join message_attachments a using (account_id, sha256)
       where a.message_id = (select max(message_id) from message_attachments)`,
    );
    return file?.days;
  };
  await send();
  expect(await keptDays()).toBe(30 + 15);
  await send(time);
  expect(await keptDays()).toBe(30 + 15 + 20 + 3);
});

describe('what it costs', () => {
  let payer: QueuedAccount;
  let token: string;
  const scheduled = (body: object) => post({ ...body, scheduled_at: ahead(DAY) }, { token });

  beforeAll(async () => {
    await setPrice(api.database, 100, { tier: 'paid' });
    await select(
      `update accounts set tier = 'paid', monthly_email_allowance = 0 where id = $1`,
      api.other.accountId,
    );
    payer = { accountId: api.other.accountId, brandId: api.other.brandId };
    token = api.other.apiKey;
  });

  it('is reserved when it is accepted', async () => {
    await credit(api.database, payer, 150);
    expect((await scheduled(email)).status).toBe(201);
    expect((await scheduled(email)).body.code).toBe('insufficient_funds');
    const [{ price } = {}] = await select(
      'select price_millicents as price from send_queue where account_id = $1',
      payer.accountId,
    );
    expect([price, (await monthsOf(api.database, payer))?.spent]).toEqual([100, 100]);
  });

  it('counts in the sandbox when it is accepted', async () => {
    const used = async () =>
      (await select('select used from sandbox_usage where account_id = $1', api.accountId))[0]
        ?.used as number;
    const before = await used();
    await post({ ...email, scheduled_at: ahead(DAY) });
    expect(await used()).toBe(before + 1);
    await select('update sandbox_usage set used = 20 where account_id = $1', api.accountId);
    const refused = await post({ ...email, scheduled_at: ahead(DAY) });
    expect(refused.body.code).toBe('sandbox_limit_reached');
    await select('update sandbox_usage set used = $2 where account_id = $1', api.accountId, before);
  });
});

it('of a test key waits for its outcome, in no queue, and costs nothing', async () => {
  const time = ahead(DAY);
  const testKey = { token: api.other.testApiKey };
  const sandbox = () => select('select used from sandbox_usage where account_id = $1', api.other.accountId);
  const before = [await monthsOf(api.database, api.other), await sandbox()];
  for (const body of [email, { ...email, to: ['ada@example.com', 'bounced@example.com'] }, sms]) {
    const { status, body: sent } = await post({ ...body, scheduled_at: time }, testKey);
    expect([status, sent.status, sent.provider, sent.scheduled_at]).toEqual([201, 'scheduled', 'test', time]);
    expect(await queueOf(sent.id)).toEqual([]);
    const ends = await select('select ends_at from test_messages where message_id = $1', sent.id);
    expect(ends).toEqual([{ ends_at: new Date(time) }]);
    expect(await select('select from message_events where message_id = $1', sent.id)).toEqual([]);
  }
  expect([await monthsOf(api.database, api.other), await sandbox()]).toEqual(before);
  const { body: done } = await post(email, testKey);
  expect([done.status, done.scheduled_at]).toEqual(['delivered', null]);
});
