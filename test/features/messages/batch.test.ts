// A batch says of each of its messages what became of it, is written once for each key, and costs by its size.
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { messagesUpkeep } from '../../../src/features/messages/upkeep.ts';
import { startTestApi, type TestApi, type TestBody } from '../../support/api.ts';
import { runTask } from '../../support/housekeeping.ts';
import { insertSendKey } from '../../support/send-keys.ts';

const DAY_MS = 86_400_000;

let api: TestApi;
beforeAll(async () => {
  api = await startTestApi({ env: { SANDBOX_MONTHLY_CAP: '4000' } });
});
afterAll(() => api.close());

const ada = { to: 'ada@example.com' };
const email = { channel: 'email', subject: 'Your receipt', body: 'Thank you.' };
const sms = { channel: 'sms', to: '+4915112345678', body: 'Thank you.' };
const pdf = { filename: 'a.pdf', content: Buffer.from('%PDF-1.4 of a batch').toString('base64') };

interface Sent {
  key?: string;
  token?: string;
  atomic?: boolean;
}

const post = (body: unknown, { key, token, atomic = false }: Sent = {}) =>
  api.request('POST', `/v1/my/messages/batch${atomic ? '?atomic=true' : ''}`, {
    ...(token === undefined ? {} : { token }),
    headers: key === undefined ? {} : { 'Idempotency-Key': key },
    body,
  });

const select = async (sql: string, ...values: unknown[]) =>
  (await api.database.pool.query<Record<string, unknown>>(sql, values)).rows;

/** Number of messages with this subject. */
const written = async (subject: string) => {
  const [row] = await select('select count(*)::int as count from messages where subject = $1', subject);
  return row?.count;
};

/** As if the process had ended before it kept the outcomes of a batch. */
const forget = (key: string) =>
  select(
    `with gone as (
       delete from idempotency_keys where endpoint = 'POST /v1/my/messages/batch' and key = $1 returning resource_id)
     delete from message_batches where id = any (array(select resource_id from gone))`,
    key,
  );

const resultsOf = (body: TestBody) => body.results as unknown as TestBody[];
const statusesOf = (body: TestBody) => resultsOf(body).map(({ status }) => status);
const idsOf = (body: TestBody) => resultsOf(body).map(({ message }) => message?.id);
const countsOf = ({ created, replayed, refused }: TestBody) => [created, replayed, refused];

it('creates messages of all kinds in their order, as GET shows them', async () => {
  const messages = [
    ada,
    { ...sms, subject: undefined },
    { to: ['ada@example.com', 'bob@example.com'], cc: 'eve@example.com', attachments: [pdf] },
    { ...ada, subject: 'Later', scheduled_at: new Date(Date.now() + 86_400_000).toISOString() },
    { ...ada, headers: { 'x-kind': 'own' }, tags: { order: '7' }, html: '<p>Own</p>' },
    { ...ada, to: 'bcc@example.com', bcc: 'zoe@example.com' },
  ];
  const given = { ...email, headers: { 'X-Kind': 'given', 'X-Other': 'given' }, tags: { shop: '1' } };
  const plain = messages.map((message) => ('channel' in message ? message : { ...given, ...message }));
  const { status, body } = await post({ messages: plain });
  expect([status, ...countsOf(body)]).toEqual([200, 6, 0, 0]);
  const shown = await Promise.all(
    idsOf(body).map((id) => api.request('GET', `/v1/my/messages/${String(id)}`)),
  );
  for (const [n, { body: message }] of shown.entries()) {
    const { html: _html, text: _text, events: _events, ...listed } = message;
    const { warnings: _warnings, ...answered } = resultsOf(body)[n]?.message ?? {};
    expect(answered).toEqual(listed);
  }
  expect(shown.map(({ body: { channel, status: state } }) => [channel, state])).toEqual([
    ['email', 'queued'],
    ['sms', 'queued'],
    ['email', 'queued'],
    ['email', 'scheduled'],
    ['email', 'queued'],
    ['email', 'queued'],
  ]);
  expect(shown[2]?.body.recipients).toHaveLength(3);
});

it('takes missing fields from `default`, and merges those with names', async () => {
  const { body } = await post({
    default: {
      ...{ ...email, headers: { 'X-Kind': 'given', 'X-Other': 'given' }, tags: { shop: '1', order: '0' } },
      ...{ tracking: { opens: true, clicks: false }, attachments: [pdf] },
    },
    messages: [
      ada,
      {
        ...ada,
        subject: 'Own',
        headers: { 'x-kind': 'own' },
        tags: { order: '7' },
        tracking: { clicks: true },
      },
    ],
  });
  expect(resultsOf(body).map(({ message }) => message)).toMatchObject([
    {
      subject: 'Your receipt',
      headers: { 'X-Kind': 'given', 'X-Other': 'given' },
      tags: { shop: '1', order: '0' },
      attachments: [{ filename: 'a.pdf' }],
    },
    {
      subject: 'Own',
      headers: { 'X-Other': 'given', 'x-kind': 'own' },
      tags: { shop: '1', order: '7' },
      attachments: [{ filename: 'a.pdf' }],
    },
  ]);
  expect(await select('select count(*)::int as count from attachment_files')).toEqual([{ count: 1 }]);
});

/** Messages that are refused, with the code and the fields of the refusal. */
const wrong: [string, object, string, string[]][] = [
  ['no object', 7 as unknown as object, 'validation_error', ['body']],
  ['no recipient', { ...email }, 'validation_error', ['to']],
  ['an unknown field', { ...email, ...ada, sbject: 'x' }, 'validation_error', ['sbject']],
  ['a key that is none', { ...email, ...ada, idempotency_key: '' }, 'validation_error', ['idempotency_key']],
  ['another’s sender', { ...email, ...ada, from: 'a@elsewhere.example' }, 'sender_not_verified', ['from']],
  ['a reserved tag', { ...email, ...ada, tags: { brand_id: '1' } }, 'reserved_tag', ['tags.brand_id']],
  [
    'no such template',
    { channel: 'email', ...ada, template_id: 1_000_000 },
    'validation_error',
    ['template_id'],
  ],
  [
    'a file of others',
    { ...email, ...ada, attachments: [{ attachment_id: 9 }] },
    'validation_error',
    ['attachments.0.attachment_id'],
  ],
  [
    'a far time',
    { ...email, ...ada, scheduled_at: '2099-01-01T00:00:00Z' },
    'validation_error',
    ['scheduled_at'],
  ],
];

describe('messages that are wrong', () => {
  it('are refused by themselves, each with its errors', async () => {
    const { status, body } = await post({
      messages: [...wrong.map(([, message]) => message), { ...email, ...ada }],
    });
    expect([status, ...countsOf(body)]).toEqual([200, 1, 0, wrong.length]);
    const found = resultsOf(body).slice(0, -1);
    const seen = found.map(({ error }) => [error?.code, Object.keys(error?.validation_errors ?? {})]);
    expect(seen).toEqual(wrong.map(([, , code, fields]) => [code, fields]));
    // What is kept of them for days names no address.
    expect(JSON.stringify(found)).not.toContain('@example.com');
  });

  it('refuse an atomic batch as a whole, and name all of them', async () => {
    const subject = 'Atomic and wrong';
    for (const [name, message, code, fields] of wrong) {
      const { status, body } = await post(
        { messages: [{ ...email, ...ada, subject }, message] },
        { atomic: true },
      );
      expect([name, status, body.code]).toEqual([name, 422, code]);
      expect(Object.keys(body.validation_errors ?? {})).toEqual(fields.map((field) => `messages.1.${field}`));
      expect(body.message).toMatch(/messages\.1/);
    }
    const { body } = await post(
      { messages: [{ ...email }, { ...email, ...ada }, sms, { ...sms, to: '7' }] },
      { atomic: true },
    );
    expect(Object.keys(body.validation_errors ?? {})).toEqual(['messages.0.to', 'messages.3.to']);
    expect(await written(subject)).toBe(0);
  });
});

it.each<[string, unknown, string, string]>([
  ['no messages', { messages: [] }, 'messages', 'must not be empty'],
  ['too many', { messages: Array(1_001).fill({}) }, 'messages', 'must have at most 1000 items'],
  ['no list', { messages: {} }, 'messages', 'must be an array'],
  ['an unknown field', { messages: [ada], atomic: true }, 'atomic', 'is not a known field'],
  [
    'a common recipient',
    { default: { ...email, ...ada }, messages: [{}] },
    'default.to',
    'belongs to each message',
  ],
  [
    'a common key',
    { default: { idempotency_key: 'a' }, messages: [ada] },
    'default.idempotency_key',
    'belongs to each message',
  ],
  [
    'an unknown common field',
    { default: { sbject: 'a' }, messages: [ada] },
    'default.sbject',
    'is not a known field; did you mean subject?',
  ],
  ['a wrong common field', { default: { tags: 7 }, messages: [ada] }, 'default.tags', 'must be an object'],
  [
    'one key twice',
    {
      default: email,
      messages: [{ ...ada, idempotency_key: 'twice' }, ada, { ...ada, idempotency_key: 'twice' }],
    },
    'messages.2.idempotency_key',
    'is the key of messages.0, too',
  ],
])('refuses the whole: %s', async (_name, body, field, message) => {
  for (const atomic of [false, true]) {
    const refused = await post(body, { atomic });
    expect([refused.status, refused.body.validation_errors]).toEqual([422, { [field]: [message] }]);
  }
});

describe('with keys', () => {
  const subject = 'With keys';
  const given = { ...email, subject };

  it('shares the keys of messages with POST /messages', async () => {
    const body = { ...given, ...ada, tags: { of: 'a message' } };
    const single = await api.request('POST', '/v1/my/messages', {
      headers: { 'Idempotency-Key': 'shared' },
      body,
    });
    const messages = [
      { ...ada, tags: { of: 'a message' }, idempotency_key: 'shared' },
      { ...ada, idempotency_key: 'of a batch' },
      ada,
    ];
    const { body: batch } = await post({ default: given, messages });
    expect(statusesOf(batch)).toEqual(['replayed', 'created', 'created']);
    expect(idsOf(batch)[0]).toBe(single.body.id);
    expect(resultsOf(batch)[1]?.message?.idempotency_key).toBe('of a batch');
    const again = await api.request('POST', '/v1/my/messages', {
      headers: { 'Idempotency-Key': 'of a batch' },
      body: { ...given, ...ada },
    });
    expect([again.headers.get('idempotent-replayed'), again.body.id]).toEqual(['true', idsOf(batch)[1]]);
    const { body: other } = await post({
      default: given,
      messages: [{ ...ada, body: 'Other', idempotency_key: 'shared' }],
    });
    expect(resultsOf(other)[0]?.error?.code).toBe('idempotency_conflict');
  });

  it('repeats its answer, refusals included, with the messages as they are now', async () => {
    const one = 'Repeated';
    const batch = {
      default: { ...email, subject: one },
      messages: [
        ada,
        { to: 'nobody' },
        { to: ['a@example.com', 'b@example.com'] },
        { ...sms, subject: undefined },
      ],
    };
    const messages = batch.messages.map((message) =>
      'channel' in message ? { to: 'c@example.com' } : message,
    );
    const first = await post({ ...batch, messages }, { key: 'repeat' });
    expect(statusesOf(first.body)).toEqual(['created', 'refused', 'created', 'created']);
    expect(resultsOf(first.body)[0]?.message?.idempotency_key).toBeNull();
    await select(`update messages set status = 'sent' where id = $1`, idsOf(first.body)[0]);
    await select('delete from messages where id = $1', idsOf(first.body)[3]);
    const again = await post({ ...batch, messages }, { key: 'repeat' });
    expect([again.status, again.headers.get('idempotent-replayed')]).toEqual([200, 'true']);
    expect(statusesOf(again.body)).toEqual(statusesOf(first.body));
    expect(resultsOf(again.body)[0]?.message?.status).toBe('sent');
    expect(resultsOf(again.body).slice(1, 3)).toEqual(resultsOf(first.body).slice(1, 3));
    expect(resultsOf(again.body)[3]?.message).toBeNull();
    expect(await written(one)).toBe(3);
    for (const conflict of [
      await post({ ...batch, messages }, { key: 'repeat', atomic: true }),
      await post({ ...batch, messages: messages.slice(1) }, { key: 'repeat' }),
      await post({ messages: 7 }, { key: 'repeat' }),
    ])
      expect([conflict.status, conflict.body.code]).toEqual([409, 'idempotency_conflict']);
  });

  it('has a key of its own, apart from those of messages', async () => {
    const batch = { default: given, messages: [{ ...ada, idempotency_key: 'same' }, ada] };
    const { body } = await post(batch, { key: 'same' });
    expect(countsOf(body)).toEqual([2, 0, 0]);
  });

  it.each([false, true])(
    'writes each message once if two batches come at once, atomic: %s',
    async (atomic) => {
      const one = `At once ${String(atomic)}`;
      const messages = Array.from({ length: 30 }, (_, n) =>
        n % 10 === 3 ? { to: [`a${n}@example.com`, `b${n}@example.com`] } : { to: `a${n}@example.com` },
      );
      const batch = { default: { ...email, subject: one }, messages };
      const answers = await Promise.all([1, 2, 3].map(() => post(batch, { key: one, atomic })));
      expect(answers.map(({ status }) => status)).toEqual([200, 200, 200]);
      const [first, ...others] = answers.map(({ body }) => idsOf(body));
      for (const other of others) expect(other).toEqual(first);
      expect(new Set(first).size).toBe(30);
      expect(await written(one)).toBe(33);
    },
  );

  it.each([false, true])('finds what was written before a crash, atomic: %s', async (atomic) => {
    const one = `Crashed ${String(atomic)}`;
    const batch = {
      default: { ...email, subject: one },
      messages: [
        ada,
        { to: ['a@example.com', 'b@example.com'] },
        { to: 'nobody@example.com', idempotency_key: one },
      ],
    };
    const { body: first } = await post(batch, { key: one, atomic });
    await forget(one);
    const again = await post(batch, { key: one, atomic });
    expect([again.headers.get('idempotent-replayed'), idsOf(again.body)]).toEqual([null, idsOf(first)]);
    // Its own key may be that of another request.
    expect(statusesOf(again.body)).toEqual(['created', 'created', 'replayed']);
    expect(await written(one)).toBe(4);
  });
});

it('shows a send-only key nothing of what others did with a key', async () => {
  const one = 'Send-only';
  const batch = {
    default: { ...email, subject: one },
    messages: [{ ...ada, idempotency_key: one }, ada, { to: ['a@example.com', 'b@example.com'] }],
  };
  const { key: sender, id } = await insertSendKey(api.database.pool, api);
  const { key: other } = await insertSendKey(api.database.pool, api);
  const { body: first } = await post(batch, { key: one, token: sender });
  expect(countsOf(first)).toEqual([3, 0, 0]);
  expect(await select('select distinct send_key_id::int from messages where subject = $1', one)).toEqual([
    { send_key_id: id },
  ]);
  const again = await post(batch, { key: one, token: sender });
  expect([again.headers.get('idempotent-replayed'), idsOf(again.body)]).toEqual(['true', idsOf(first)]);
  // An admin may read them anyway.
  expect(idsOf((await post(batch, { key: one })).body)).toEqual(idsOf(first));
  const foreign = {
    code: 'idempotency_conflict',
    message: 'this idempotency key was used with another API key',
  };
  const refused = await post(batch, { key: one, token: other });
  expect([refused.status, refused.body]).toEqual([409, expect.objectContaining(foreign)]);
  // Without the outcomes, it knows them by the keys of the messages.
  await forget(one);
  for (const messages of [batch.messages, batch.messages.map(() => ({ ...ada, idempotency_key: one }))]) {
    const { body } = await post({ ...batch, messages: messages.slice(0, 1) }, { token: other });
    expect(resultsOf(body)).toMatchObject([{ status: 'refused', error: foreign }]);
  }
  const { body: unkept } = await post(batch, { key: one, token: other });
  expect(resultsOf(unkept)).toMatchObject(Array(3).fill({ status: 'refused', error: foreign }));
  expect(await written(one)).toBe(4);
});

it('is kept as long as its key, which is longer if one of its messages waits', async () => {
  const task = messagesUpkeep.tasks?.find(({ name }) => name === 'message_batches');
  if (!task) throw new Error('no task');
  const kept = () =>
    select(`select key from idempotency_keys k join message_batches b on b.id = k.resource_id
      where endpoint = 'POST /v1/my/messages/batch' and key like 'kept %' order by key`);
  const later = new Date(Date.now() + 3 * DAY_MS).toISOString();
  const never = { ...email, ...ada, scheduled_at: '9999-12-31T00:00:00Z' };
  const { body } = await post({ messages: [{ ...email, ...ada }, never] }, { key: 'kept now' });
  expect(countsOf(body)).toEqual([1, 0, 1]);
  await post({ messages: [{ ...email, ...ada, scheduled_at: later }, sms] }, { key: 'kept until later' });
  const after = (days: number) => new Date(Date.now() + days * DAY_MS);
  await runTask(api.database, task, after(6.9));
  expect(await kept()).toEqual([{ key: 'kept now' }, { key: 'kept until later' }]);
  const hidden = () =>
    select(`select created_at > now() + interval '32 days' as late from idempotency_keys
      where endpoint like '%/batch message' and resource_id in (select id from messages where scheduled_at is not null)
        and created_at > now() + interval '1 day'`);
  expect(await hidden()).toEqual([{ late: true }]);
  await runTask(api.database, task, after(39.9));
  expect(await kept()).toEqual([{ key: 'kept until later' }]);
  await runTask(api.database, task, after(40.1));
  expect(await kept()).toEqual([]);
});

it('forgets the Message-IDs of clients with the contents', async () => {
  const task = messagesUpkeep.tasks?.find(({ name }) => name === 'message_aliases');
  if (!task) throw new Error('no task');
  await select(
    `insert into message_aliases (brand_id, digest, message_id, created_at)
     select $1, substr(sha256(days::text::bytea), 1, 16), days, now() - make_interval(days => days)
     from unnest(array[29, 31]) as days`,
    api.brandId,
  );
  await runTask(api.database, task, new Date());
  expect(await select('select message_id::int as id from message_aliases')).toEqual([{ id: 29 }]);
});

it('lets others through while a thousand messages are read', async () => {
  const html = `<p>${'Thank you very much. '.repeat(150)}</p>`;
  const messages = Array.from({ length: 1_000 }, (_, n) => ({ ...email, to: `a${n}@example.com`, html }));
  await post({ messages: messages.slice(0, 10) });
  const delay = monitorEventLoopDelay({ resolution: 5 });
  delay.enable();
  const { body } = await post({ messages }, { key: 'a thousand' });
  delay.disable();
  expect(body.created).toBe(1_000);
  // The process of the test makes and reads the request and the response, too.
  expect(delay.percentile(90) / 1e6).toBeLessThan(50);
});
