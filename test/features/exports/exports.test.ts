// An export file has each matching row exactly once, even if its process is killed midway.
import { spawn } from 'node:child_process';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import pino from 'pino';
import { createExportWriter } from '../../../src/features/exports/service.ts';
import { upkeep } from '../../../src/features/upkeep.ts';
import { openDatabase } from '../../../src/platform/db/database.ts';
import { createHomeStore } from '../../../src/platform/storage/local-disk.ts';
import { startTestApi, type TestApi, type TestBody, type TestTenant } from '../../support/api.ts';
import { eventually } from '../../support/eventually.ts';

const DAY_MS = 86_400_000;
const PATH = '/v1/my/exports';
const turn = { progress: () => undefined, stopping: new AbortController().signal };

let home: string;
let api: TestApi;

const query = (text: string, values: unknown[] = []) => api.database.pool.query(text, values);

type WriterOptions = Partial<Parameters<typeof createExportWriter>[0]>;

function writer(options: WriterOptions = {}) {
  const { pool } = api.database;
  return createExportWriter({ pool, store: createHomeStore(home), quotaBytes: 1e9, ...options });
}

async function create(body: unknown, tenant: TestTenant = api): Promise<TestBody> {
  const { status, body: made } = await api.request('POST', PATH, { body, token: tenant.apiKey });
  expect([status, made]).toEqual([201, expect.objectContaining({ status: 'queued' })]);
  return made;
}

/** Writes an export as its workflow does. */
async function run(id: unknown, options: WriterOptions = {}) {
  const steps = writer(options);
  await steps.begin(Number(id), new Date());
  await steps.plan(Number(id), new Date(), turn);
  return steps.write(Number(id), new Date(), turn);
}

const get = async (id: unknown) => (await api.request('GET', `${PATH}/${String(id)}`)).body;
const file = (id: unknown, token = api.apiKey) => api.request('GET', `${PATH}/${String(id)}/file`, { token });

async function exported(body: unknown): Promise<string[]> {
  const { id } = await create(body);
  await run(id);
  return (await file(id)).text.split('\r\n').slice(0, -1);
}

async function suppress(emails: string[], tenant: TestTenant = api, diagnostic: string | null = null) {
  await query(
    `insert into suppressions (account_id, address_key, email, reason, diagnostic)
     select $1, email, email, 'manual', $3 from unnest($2::text[]) as e (email)`,
    [tenant.accountId, emails, diagnostic],
  );
}

async function insertMessage(
  fields: { status?: string; to?: string; tenant?: TestTenant } = {},
): Promise<number> {
  const { status = 'sent', to = 'ada@example.com', tenant = api } = fields;
  const { rows } = await api.database.pool.query<{ id: number }>(
    `insert into messages (account_id, brand_id, channel, status, to_address, to_key, subject, tags)
     values ($1, $2, 'email', $3, $4, $4, '=cmd', '{"order": "7"}') returning id`,
    [tenant.accountId, tenant.brandId, status, to],
  );
  return rows[0]?.id ?? 0;
}

async function storedFiles(): Promise<string[]> {
  const all = await readdir(join(home, 'blobs'), { recursive: true, withFileTypes: true }).catch(() => []);
  return all.filter((entry) => entry.isFile()).map(({ name }) => name);
}

async function housekeep(name: string, asOf: Date): Promise<number> {
  const task = upkeep.tasks.find((each) => each.name === name);
  if (!task) throw new Error(`no task ${name}`);
  const { config, database } = api;
  return task.run({ config, database, log: pino({ level: 'silent' }), ...upkeep }, asOf, () => undefined);
}

async function addContact(body: unknown): Promise<number> {
  const { status, body: made } = await api.request('POST', '/v1/my/contacts', { body });
  expect(status).toBe(201);
  return Number(made.id);
}

beforeAll(async () => {
  home = await mkdtemp(join(tmpdir(), 'carillon-home-'));
  api = await startTestApi({ env: { CARILLON_HOME: home, EXPORT_QUOTA_MB: '100' } });
}, 60_000);
beforeEach(async () => {
  await query('truncate suppressions, messages, exports, export_parts, outbox cascade');
  await rm(join(home, 'blobs'), { recursive: true, force: true });
});
afterAll(async () => {
  await api.close();
  await rm(home, { recursive: true, force: true });
});

describe('POST /v1/my/exports', () => {
  it('creates an export, and requests its workflow in the same transaction', async () => {
    const made = await create({ resource: 'suppressions', filters: { reason: 'manual', active: true } });
    expect(made).toEqual({
      id: expect.any(Number),
      resource: 'suppressions',
      status: 'queued',
      total_rows: null,
      processed_rows: 0,
      url: null,
      filters: { reason: 'manual', active: true },
      created_at: expect.any(String),
      started_at: null,
      finished_at: null,
      expires_at: null,
      error: null,
    });
    const { rows } = await query('select workflow_id, input from outbox');
    const id = Number(made.id);
    expect(rows).toEqual([{ workflow_id: `export/${id}`, input: [{ schema: 1, exportId: id }] }]);
  });

  it.each([
    [{}, 'resource'],
    [{ resource: 'secrets' }, 'resource'],
    [{ resource: 'messages', filters: { state: 'sent' } }, 'filters.state'],
    [{ resource: 'messages', filters: { status: 'gone' } }, 'filters.status'],
    [{ resource: 'messages', filters: { page: 2 } }, 'filters.page'],
    [{ resource: 'messages', filters: { status: ['sent'] } }, 'filters.status'],
    [{ resource: 'suppressions', filters: { active: 'yes' } }, 'filters.active'],
    [{ resource: 'suppressions', filters: 'all' }, 'filters'],
    [{ resource: 'suppressions', format: 'xml' }, 'format'],
  ])('refuses %j', async (body, field) => {
    const { status, body: refused } = await api.request('POST', PATH, { body });
    expect([status, Object.keys(refused.validation_errors ?? {})]).toEqual([422, [field]]);
    expect((await query('select 1 from exports')).rowCount).toBe(0);
  });

  it('returns the same export for a repeated Idempotency-Key', async () => {
    const headers = { 'Idempotency-Key': 'once' };
    const send = () => api.request('POST', PATH, { body: { resource: 'messages' }, headers });
    const [first, second] = [await send(), await send()];
    expect([second.status, second.headers.get('idempotent-replayed')]).toEqual([201, 'true']);
    expect(second.body.id).toBe(first.body.id);
  });

  it('refuses an eleventh unfinished export of an account, even if many requests arrive at once', async () => {
    const sent = Array.from({ length: 14 }, () =>
      api.request('POST', PATH, { body: { resource: 'messages' } }),
    );
    const statuses = (await Promise.all(sent)).map(({ status }) => status);
    expect(statuses.filter((status) => status === 201)).toHaveLength(10);
    expect(statuses.filter((status) => status === 409)).toHaveLength(4);
    await create({ resource: 'messages' }, api.other);
  });

  it('refuses an export if the files of the account have reached their quota', async () => {
    const { id } = await create({ resource: 'messages' });
    await query(
      `insert into export_parts (account_id, export_id, number, storage_key, size, rows)
       values ($1, $2, 1, 'x', 100 * 1024 * 1024, 1)`,
      [api.accountId, Number(id)],
    );
    const { status, body } = await api.request('POST', PATH, { body: { resource: 'messages' } });
    expect([status, body.validation_errors]).toEqual([422, { resource: [expect.stringMatching(/100 MB/)] }]);
  });
});

describe('the file of an export', () => {
  it('has the matching suppressions, oldest first, and none of other accounts', async () => {
    await suppress(['b@example.com', 'a@example.com'], api, '=danger, "quoted"');
    await suppress(['theirs@example.com'], api.other);
    const [header, ...lines] = await exported({ resource: 'suppressions', filters: { active: 'true' } });
    expect(header).toBe('id,email,phone,reason,source_provider,diagnostic,active,expires_at,created_at');
    expect(lines).toEqual([
      expect.stringMatching(/^\d+,b@example\.com,,manual,,"'=danger, ""quoted""",true,,2/),
      expect.stringMatching(/^\d+,a@example\.com,/),
    ]);
    const none = await exported({ resource: 'suppressions', filters: { email: 'nobody@example.com' } });
    expect(none).toEqual([header]);
  });

  it.each([
    [{}, 4],
    [{ status: 'failed' }, 1],
    [{ to: 'Ada@Example.com' }, 3],
    [{ status: 'sent', to: 'ada@example.com' }, 2],
    [{ created_after: '2999-01-01T00:00:00Z' }, 0],
    [{ channel: 'sms' }, 0],
  ])('has the messages that match %j', async (filters, count) => {
    await insertMessage();
    await insertMessage({ status: 'failed' });
    await insertMessage({ to: 'bob@example.com' });
    const last = await insertMessage();
    await insertMessage({ tenant: api.other });
    const [header = '', ...lines] = await exported({ resource: 'messages', filters });
    expect(lines).toHaveLength(count);
    expect(header.split(',').slice(0, 4)).toEqual(['id', 'channel', 'status', 'to']);
    if (count < 4) return;
    expect(lines.at(-1)).toMatch(
      new RegExp(`^${last},email,sent,ada@example\\.com,,,'=cmd,,,,,"\\{""order"":""7""\\}",,`),
    );
  });

  it('has no rows that were added after the start', async () => {
    await suppress(['a@example.com']);
    const { id } = await create({ resource: 'suppressions' });
    await writer().begin(Number(id), new Date());
    await writer().plan(Number(id), new Date(), turn);
    await suppress(['late@example.com']);
    await run(id);
    expect((await file(id)).text).not.toContain('late@');
    expect(await get(id)).toMatchObject({ status: 'completed', total_rows: 1, processed_rows: 1 });
  });

  it('is sent as an attachment with its length, from all its parts', async () => {
    await suppress(Array.from({ length: 2_000 }, (_, index) => `user-${index}@example.com`));
    const { id } = await create({ resource: 'suppressions' });
    const end = await run(id, { partBytes: 10_000 });
    expect(end).toEqual({ state: 'final', status: 'completed', processedRows: 2_000, totalRows: 2_000 });
    const shown = await get(id);
    expect(shown).toMatchObject({
      status: 'completed',
      total_rows: 2_000,
      processed_rows: 2_000,
      error: null,
    });
    expect(shown.url).toBe(`${api.baseUrl}${PATH}/${Number(id)}/file`);
    const { status, headers, text } = await file(id);
    expect([status, headers.get('content-type'), headers.get('content-disposition')]).toEqual([
      200,
      'text/csv; charset=utf-8; header=present',
      `attachment; filename="suppressions-${Number(id)}.csv"`,
    ]);
    expect(headers.get('content-length')).toBe(String(Buffer.byteLength(text)));
    expect(text.split('\r\n')).toHaveLength(2_002);
    expect((await storedFiles()).length).toBeGreaterThan(5);
  });

  it('is 404 without a complete export, and for the key of another brand', async () => {
    const { id } = await create({ resource: 'suppressions' });
    expect((await file(id)).status).toBe(404);
    await run(id);
    expect((await file(id)).status).toBe(200);
    expect((await file(id, api.other.apiKey)).status).toBe(404);
    expect((await file(id, '')).status).toBe(401);
  });

  it('is 404 after seven days, when housekeeping removes it, but the export stays in the list', async () => {
    await suppress(['a@example.com']);
    const { id } = await create({ resource: 'suppressions' });
    await run(id);
    expect(await housekeep('expired_exports', new Date(Date.now() + 6.9 * DAY_MS))).toBe(0);
    expect((await file(id)).status).toBe(200);
    await query('update exports set expires_at = now() where id = $1', [Number(id)]);
    expect((await file(id)).status).toBe(404);
    expect(await housekeep('expired_exports', new Date())).toBe(1);
    expect(await storedFiles()).toEqual([]);
    expect(await get(id)).toMatchObject({ status: 'completed', url: null, processed_rows: 1 });
    expect(await housekeep('old_exports', new Date(Date.now() + 89 * DAY_MS))).toBe(0);
    expect(await housekeep('old_exports', new Date(Date.now() + 91 * DAY_MS))).toBe(1);
  });

  it('is not kept if it would exceed the quota of the account', async () => {
    await suppress(Array.from({ length: 1_000 }, (_, index) => `user-${index}@example.com`));
    const { id } = await create({ resource: 'suppressions' });
    await run(id, { partBytes: 10_000, quotaBytes: 25_000 });
    expect(await get(id)).toMatchObject({ status: 'failed', error: 'quota_exceeded', url: null });
    expect((await file(id)).status).toBe(404);
    await housekeep('expired_exports', new Date(Date.now() + 1_000));
    expect(await storedFiles()).toEqual([]);
  });
});

describe('the file of contacts', () => {
  beforeEach(() => query('truncate contacts, lists, segments cascade'));

  it('has the columns of an import, the lists, and a column for each key of data', async () => {
    const list = await api.request('POST', '/v1/my/lists', { body: { name: 'VIP' } });
    const id = await addContact({
      email: 'Ada@Example.com',
      phone: '+4917012345678',
      first_name: '=Ada',
      data: { plan: 'pro', age: 36, tags: ['a', 'b'] },
      list_ids: [Number(list.body.id)],
    });
    await addContact({ phone: '+4917012345679', data: { plan: 'free' } });
    const [header, first = '', second = ''] = await exported({ resource: 'contacts' });
    expect(header).toBe(
      'id,uuid,email,phone,first_name,last_name,country_code,source,subscribed_email,subscribed_phone,list_ids,' +
        'created_at,data.age,data.plan,data.tags,other_data',
    );
    const uuid = '[0-9a-f-]{36}';
    expect(first).toMatch(
      new RegExp(
        `^${id},${uuid},Ada@example\\.com,\\+4917012345678,'=Ada,,,,true,true,${Number(list.body.id)},2[^,]+,36,pro,"\\[""a"",""b""\\]",$`,
        'i',
      ),
    );
    expect(second).toMatch(/,,\+4917012345679,,,,,,true,,2[^,]+,,free,,$/);
  });

  it('has only the members of a list or of a segment', async () => {
    const list = await api.request('POST', '/v1/my/lists', { body: { name: 'VIP' } });
    const segment = await api.request('POST', '/v1/my/segments', {
      body: { name: 'Pro', filters: [{ name: 'data.plan', predicate: 'eq', value: 'pro' }] },
    });
    const [list_id, segment_id] = [Number(list.body.id), Number(segment.body.id)];
    await addContact({ email: 'a@example.com', list_ids: [list_id] });
    await addContact({ email: 'b@example.com', data: { plan: 'pro' } });
    await addContact({ email: 'c@example.com', list_ids: [list_id], data: { plan: 'pro' } });
    const emails = async (filters: unknown) =>
      (await exported({ resource: 'contacts', filters })).slice(1).map((line) => line.split(',')[2]);
    expect(await emails({ list_id })).toEqual(['a@example.com', 'c@example.com']);
    expect(await emails({ segment_id })).toEqual(['b@example.com', 'c@example.com']);
    expect(await emails({ list_id, segment_id })).toEqual(['c@example.com']);
    expect(await emails({ subscribed: true, email: 'B@example.com' })).toEqual(['b@example.com']);
  });

  it('cannot use a list or segment of another brand, and fails if its segment is deleted', async () => {
    const made = async (path: string, token: string, body: unknown) =>
      Number((await api.request('POST', path, { body, token })).body.id);
    const theirs = await made('/v1/my/lists', api.other.apiKey, { name: 'VIP' });
    const segments = [
      await made('/v1/my/segments', api.other.apiKey, { name: 'All', filters: [] }),
      await made('/v1/my/segments', api.apiKey, { name: 'All', filters: [] }),
    ];
    for (const filters of [{ list_id: theirs }, { segment_id: segments[0] }]) {
      const { status, body } = await api.request('POST', PATH, { body: { resource: 'contacts', filters } });
      const field = `filters.${Object.keys(filters)[0]}`;
      expect([status, Object.keys(body.validation_errors ?? {})]).toEqual([422, [field]]);
    }
    await addContact({ email: 'a@example.com' });
    const { id } = await create({ resource: 'contacts', filters: { segment_id: segments[1] } });
    await query('delete from segments');
    await run(id);
    expect(await get(id)).toMatchObject({ status: 'failed', error: 'invalid_filters' });
  });

  it('has at most 50 columns for data, and the other keys as JSON', async () => {
    const data = Object.fromEntries(Array.from({ length: 60 }, (_, index) => [`k${index}`, index]));
    await addContact({ email: 'a@example.com', data });
    await addContact({ email: 'b@example.com', data: { k59: 'often' } });
    const [header = '', first = ''] = await exported({ resource: 'contacts' });
    expect(header.split(',').filter((name) => name.startsWith('data.'))).toHaveLength(50);
    expect(header).toMatch(/,data\.k59,other_data$/);
    expect(first).toMatch(/,59,"\{(?:""k\d+"":\d+,?){10}\}"$/);
  });
});

describe('keys of data', () => {
  beforeEach(() => query('truncate contacts cascade'));

  it('have no column if they are long, and their values are in other_data', async () => {
    const [short, long] = ['k'.repeat(195), 'k'.repeat(196)];
    await addContact({ email: 'a@example.com', data: { [short]: 1, [long]: 2, ' spaced ': 3 } });
    const [header = '', first = ''] = await exported({ resource: 'contacts' });
    expect(header.split(',').slice(12)).toEqual([`data.${short}`, 'other_data']);
    expect(first.endsWith(`,1,"{"" spaced "":3,""${long}"":2}"`)).toBe(true);
  });

  it('are limited to the most frequent ones while rows are counted', async () => {
    await query(
      `insert into contacts (account_id, brand_id, email, email_key, data)
       select $1, $2, n || '@example.com', n || '@example.com',
         (select jsonb_object_agg('k' || n || '_' || k, 1) from generate_series(1, 40) k) || '{"plan": "pro"}'
       from generate_series(1, 60) n`,
      [api.accountId, api.brandId],
    );
    const { id } = await create({ resource: 'contacts' });
    await writer().begin(Number(id), new Date());
    const steps = writer({ scanRows: 10, turnMs: 0 });
    for (let turns = 1; turns <= 5; turns += 1) await steps.plan(Number(id), new Date(), turn);
    const counted = await api.database.pool.query<{ keys: number; bytes: number }>(
      `select jsonb_array_length(counted -> 'keys') as keys, octet_length(counted::text) as bytes from exports`,
    );
    expect(counted.rows[0]?.keys).toBe(1_000);
    await run(id);
    const [header = ''] = (await file(id)).text.split('\r\n');
    expect(header.split(',').filter((name) => name === 'data.plan')).toHaveLength(1);
  });
});

describe('a turn of an export', () => {
  const seed = (count: number) =>
    suppress(Array.from({ length: count }, (_, index) => `user-${index}@example.com`));

  async function begun(): Promise<number> {
    const { id } = await create({ resource: 'suppressions' });
    await writer().begin(Number(id), new Date());
    return Number(id);
  }

  it('counts a few pages, and the next turn continues there', async () => {
    await seed(35);
    const id = await begun();
    const states: string[] = [];
    for (let turns = 1; turns <= 4; turns += 1) {
      const { state } = await writer({ scanRows: 10, turnMs: 0 }).plan(id, new Date(), turn);
      states.push(state);
    }
    expect(states).toEqual(['counting', 'counting', 'counting', 'writing']);
    expect(await get(id)).toMatchObject({ total_rows: 35, processed_rows: 0 });
  });

  it('writes the rows that it has read, and the next turn continues there', async () => {
    await seed(35);
    const id = await begun();
    await writer().plan(id, new Date(), turn);
    const short = writer({ scanRows: 10, turnMs: 0 });
    expect(await short.write(id, new Date(), turn)).toMatchObject({ state: 'writing', processedRows: 10 });
    await run(id);
    expect((await file(id)).text.split('\r\n')).toHaveLength(37);
  });

  it('records its progress even if no row matches', async () => {
    await seed(35);
    const { id: made } = await create({ resource: 'suppressions', filters: { reason: 'complaint' } });
    const id = Number(made);
    await writer().begin(id, new Date());
    await writer().plan(id, new Date(), turn);
    const states: string[] = [];
    for (let turns = 1; turns <= 4; turns += 1) {
      states.push((await writer({ scanRows: 10, turnMs: 0 }).write(id, new Date(), turn)).state);
    }
    expect(states).toEqual(['writing', 'writing', 'writing', 'final']);
    expect((await file(id)).text.split('\r\n')).toHaveLength(2);
    expect(await storedFiles()).toHaveLength(1);
  });

  it('ends when the process stops', async () => {
    await seed(35);
    const id = await begun();
    const stopped = { ...turn, stopping: AbortSignal.abort() };
    expect((await writer({ scanRows: 10 }).plan(id, new Date(), stopped)).state).toBe('counting');
  });

  it('ends an export whose statements time out again and again', async () => {
    await seed(1);
    const id = await begun();
    const { DATABASE_URL: url } = api.config;
    const slow = openDatabase({
      ...{ url: String(url), poolMax: 2, applicationName: 'slow', statementTimeoutMs: 400 },
    });
    const client = await api.database.pool.connect();
    try {
      await client.query('begin');
      await client.query('lock table suppressions');
      const steps = writer({ pool: slow.pool, turnMs: 0 });
      const states: string[] = [];
      for (let turns = 1; turns <= 5; turns += 1) states.push((await steps.plan(id, new Date(), turn)).state);
      expect(states).toEqual(['counting', 'counting', 'counting', 'counting', 'final']);
    } finally {
      await client.query('rollback');
      client.release();
      await slow.close();
    }
    expect(await get(id)).toMatchObject({ status: 'failed', error: 'too_slow', url: null });
  }, 60_000);
});

describe('an export under way', () => {
  it('waits while the account has two others under way', async () => {
    const ids: number[] = [];
    for (let made = 0; made < 3; made += 1) ids.push(Number((await create({ resource: 'messages' })).id));
    const states = await Promise.all(ids.map((id) => writer().begin(id, new Date())));
    expect(states.map(({ state }) => state).toSorted()).toEqual(['counting', 'counting', 'waiting']);
    const [done] = ids.filter((_, index) => states[index]?.state === 'counting');
    await run(done);
    const waiting = ids[states.findIndex(({ state }) => state === 'waiting')] ?? 0;
    expect((await writer().begin(waiting, new Date())).state).toBe('counting');
  });

  it('ends after a day', async () => {
    const { id } = await create({ resource: 'messages' });
    await writer().begin(Number(id), new Date());
    const { state } = await writer().plan(Number(id), new Date(Date.now() + 1.1 * DAY_MS), turn);
    expect(state).toBe('final');
    expect(await get(id)).toMatchObject({ status: 'failed', error: 'timed_out' });
  });

  it('can be canceled once, and writes no more', async () => {
    await suppress(['a@example.com']);
    const { id } = await create({ resource: 'suppressions' });
    await writer().begin(Number(id), new Date());
    const cancel = () => api.request('POST', `${PATH}/${Number(id)}/cancel`);
    const canceled = await cancel();
    expect([canceled.status, canceled.body.status]).toEqual([200, 'canceled']);
    expect((await cancel()).body.code).toBe('invalid_transition');
    await run(id);
    expect(await get(id)).toMatchObject({ status: 'canceled', url: null });
    expect(await storedFiles()).toEqual([]);
    const { rows } = await query(`select signal_name from outbox where kind = 'signal'`);
    expect(rows).toEqual([{ signal_name: 'wake' }]);
  });

  it('has each row once if its process is killed in the middle and another continues', async () => {
    const emails = Array.from({ length: 8_000 }, (_, index) => `user-${index}@example.com`);
    await suppress(emails);
    const { id } = await create({ resource: 'suppressions' });
    const script = join(import.meta.dirname, '../../support/export-writer.ts');
    for (const parts of [3, 9]) {
      const args = ['--no-warnings', script, String(api.config.DATABASE_URL), home, String(id)];
      const child = spawn(process.execPath, args, { stdio: 'inherit' });
      const ended = new Promise((resolve) => child.once('exit', resolve));
      await eventually(async () => {
        const { rows } = await query('select 1 from export_parts');
        expect(rows.length).toBeGreaterThanOrEqual(parts);
      }, 60_000);
      child.kill('SIGKILL');
      await ended;
      expect(await get(id)).toMatchObject({ status: 'processing' });
    }
    await run(id, { partBytes: 20_000 });
    const lines = (await file(id)).text.split('\r\n').slice(1, -1);
    expect(lines.map((line) => line.split(',')[1])).toEqual(emails);
    expect(await get(id)).toMatchObject({ status: 'completed', total_rows: 8_000, processed_rows: 8_000 });
  }, 60_000);

  it('has each row once if two processes write it at the same time', async () => {
    const emails = Array.from({ length: 3_000 }, (_, index) => `user-${index}@example.com`);
    await suppress(emails);
    const { id } = await create({ resource: 'suppressions' });
    await Promise.all([run(id, { partBytes: 10_000 }), run(id, { partBytes: 15_000 })]);
    const lines = (await file(id)).text.split('\r\n').slice(1, -1);
    expect(lines.map((line) => line.split(',')[1])).toEqual(emails);
    const { rows } = await query('select 1 from export_parts');
    expect(await storedFiles()).toHaveLength(rows.length);
  });
});

describe('GET /v1/my/exports', () => {
  it('lists the exports of the brand, newest first, by resource and status', async () => {
    const first = await create({ resource: 'messages' });
    const second = await create({ resource: 'suppressions' });
    await create({ resource: 'messages' }, api.other);
    await run(first.id);
    const ids = async (search: string) =>
      (await api.request('GET', `${PATH}${search}`)).list.map(({ id }) => id);
    expect(await ids('')).toEqual([second.id, first.id]);
    expect(await ids('?resource=messages')).toEqual([first.id]);
    expect(await ids('?status=queued')).toEqual([second.id]);
    expect(await ids('?limit=1&page=2')).toEqual([first.id]);
  });
});
