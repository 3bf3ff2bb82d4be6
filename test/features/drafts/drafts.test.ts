// Drafts keep what editors have changed: two people never overwrite each other, and nothing live changes.
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startTestApi, type TestApi, type TestResponse } from '../../support/api.ts';
import { runBehindLock } from '../../support/lock-order.ts';

let api: TestApi;
beforeAll(async () => {
  api = await startTestApi();
});
afterAll(() => api.close());

const bodies = {
  templates: { channel: 'email', subject: 'Hi' },
  campaigns: { name: 'Spring', channel: 'email' },
  flows: { name: 'Welcome', steps: [{ type: 'email', subject: 'Hi' }] },
  segments: { name: 'Pro', filters: [] },
} as const;
type Kind = keyof typeof bodies;
const kinds = Object.keys(bodies) as Kind[];

interface Resource {
  id: number;
  path: string;
  draft: string;
  etag: string;
}

async function create(kind: Kind): Promise<Resource> {
  const made = await api.request<{ id: number }>('POST', `/v1/my/${kind}`, { body: bodies[kind] });
  const { id } = made.body;
  return {
    id,
    path: `/v1/my/${kind}/${id}`,
    draft: `/v1/my/drafts/${kind}/${id}`,
    etag: made.headers.get('etag') ?? '',
  };
}

const etagOf = ({ headers }: TestResponse) => headers.get('etag') ?? '';

interface Save {
  content?: unknown;
  base?: string;
  baseContent?: unknown;
  headers?: Record<string, string>;
  token?: string;
}

const put = (
  path: string,
  { content = { name: 'Draft' }, base = '"1"', baseContent, headers = {}, token }: Save = {},
) =>
  api.request('PUT', path, {
    body: { content, base, ...(baseContent === undefined ? {} : { base_content: baseContent }) },
    headers,
    ...(token === undefined ? {} : { token }),
  });

const first = { 'If-None-Match': '*' };

describe('a draft', () => {
  it.each(kinds)('of %s is stored as it was sent, and changes nothing live', async (kind) => {
    const resource = await create(kind);
    const before = (await api.request('GET', resource.path)).body;
    const none = await api.request('GET', resource.draft);
    expect([none.status, none.body, etagOf(none)]).toEqual([200, null, '']);
    const content = {
      name: '',
      steps: [{ ref: 'a', type: 'no such type' }],
      '10': null,
      '9': { b: 1, a: 0.1 },
    };
    const saved = await put(resource.draft, { content, base: resource.etag, headers: first });
    expect(saved.status).toBe(200);
    expect(saved.body).toMatchObject({ kind, resource_id: resource.id, content, base: resource.etag });
    expect(saved.body.updated_by).toBeNull();
    const read = await api.request('GET', resource.draft);
    expect(read.body).toEqual(saved.body);
    expect(etagOf(read)).toBe(`"${Number(saved.body.revision)}"`);
    expect((await api.request('GET', resource.path)).body).toEqual(before);
  });

  it('names the user who saved it last', async () => {
    const { draft } = await create('segments');
    const ben = await api.addUser('member');
    const saved = await put(draft, { token: api.userJwt });
    expect(saved.body.updated_by).toEqual({ id: api.userId, name: 'Olive Owner' });
    const changed = await put(draft, {
      content: { name: 'Ben’s' },
      headers: { 'If-Match': etagOf(saved) },
      token: ben.userJwt,
    });
    expect(changed.body.updated_by).toEqual({ id: ben.userId, name: ben.email });
    const byKey = await put(draft, { content: { name: 'Key' }, headers: { 'If-Match': etagOf(changed) } });
    expect(byKey.body.updated_by).toBeNull();
  });

  it('keeps what was live when it began, until it begins elsewhere', async () => {
    const { draft } = await create('segments');
    expect((await put(draft)).body.base_content).toBeNull();
    const headers = { 'If-Match': '*' };
    const save = async (given: Save) => (await put(draft, { ...given, headers })).body.base_content;
    expect(await save({ baseContent: { name: 'Live' } })).toEqual({ name: 'Live' });
    expect(await save({ content: { name: 'More' } })).toEqual({ name: 'Live' });
    expect(await save({ baseContent: null })).toBeNull();
    expect(await save({ base: '"2"', baseContent: { name: 'Newer' } })).toEqual({ name: 'Newer' });
    expect((await api.request('GET', draft)).body.base_content).toEqual({ name: 'Newer' });
    expect(await save({ base: '"3"' })).toBeNull();
    expect((await put(draft, { baseContent: 'text', headers })).status).toBe(422);
  });

  it.each(kinds)(
    'says which user has changed its resource of %s last, unless a program did',
    async (kind) => {
      const { path, draft } = await create(kind);
      const changedBy = async () => (await api.request('GET', draft)).body.resource_changed_by;
      await put(draft);
      expect(await changedBy()).toBeNull();
      const change = { ...bodies[kind], name: 'By Olive' };
      expect((await api.request('PATCH', path, { body: change, token: api.userJwt })).status).toBe(200);
      expect(await changedBy()).toEqual({ id: api.userId, name: 'Olive Owner' });
      // A program changes it later, which the audit log does not say.
      await api.database.pool.query(
        `update audit_entries set created_at = created_at - interval '10 minutes' where action like 'change%'`,
      );
      expect(await changedBy()).toBeNull();
    },
  );

  it('is listed without its content, by kind', async () => {
    const flow = await create('flows');
    const template = await create('templates');
    for (const { draft } of [flow, template]) await put(draft);
    const all = await api.request('GET', '/v1/my/drafts?limit=2');
    expect(all.list.map((each) => [each.kind, each.resource_id])).toEqual([
      ['templates', template.id],
      ['flows', flow.id],
    ]);
    expect(Object.keys(all.list[0] ?? {})).not.toContain('content');
    const { list } = await api.request('GET', '/v1/my/drafts?kind=flows&limit=1');
    expect(list.map((each) => each.resource_id)).toEqual([flow.id]);
  });

  it('needs a resource of the brand, and is not for test keys', async () => {
    const { draft } = await create('segments');
    const { body } = await api.request<{ id: number }>('POST', '/v1/my/segments', {
      body: bodies.segments,
      token: api.other.apiKey,
    });
    for (const path of [
      `/v1/my/drafts/segments/${body.id}`,
      '/v1/my/drafts/segments/999999',
      '/v1/my/drafts/lists/1',
    ]) {
      expect([path, (await put(path)).status]).toEqual([path, 404]);
    }
    const refused = await put(draft, { token: api.testApiKey });
    expect([refused.status, refused.body.code]).toEqual([403, 'test_key']);
    expect((await put(draft, { token: 'crl_wrong' })).status).toBe(401);
  });

  it('of another brand cannot be read, replaced or deleted', async () => {
    const { draft } = await create('segments');
    const saved = await put(draft);
    const token = api.other.apiKey;
    const headers = { 'If-Match': etagOf(saved) };
    expect((await api.request('GET', draft, { token })).status).toBe(404);
    expect((await put(draft, { token, headers })).status).toBe(404);
    expect((await api.request('DELETE', draft, { token, headers })).status).toBe(404);
    expect((await api.request('GET', '/v1/my/drafts', { token })).list).toEqual([]);
    expect((await api.request('GET', draft)).body).toEqual(saved.body);
  });

  it('has a size like other requests, and an object as content', async () => {
    const { draft } = await create('templates');
    const large = await put(draft, { content: { body: 'x'.repeat(4_900_000) } });
    expect(large.status).toBe(200);
    const headers = { 'If-Match': etagOf(large) };
    expect((await put(draft, { content: { body: 'x'.repeat(5_300_000) }, headers })).status).toBe(413);
    for (const content of [null, [], 'text', 1, { body: 'a\u0000' }]) {
      expect((await put(draft, { content, headers })).status).toBe(422);
    }
    expect((await put(draft, { base: '', headers })).status).toBe(422);
    expect((await put(draft, { headers: { 'If-None-Match': '"1"' } })).status).toBe(422);
    expect(etagOf(await api.request('GET', draft))).toBe(etagOf(large));
  });
});

describe('two editors of a draft', () => {
  it('do not overwrite each other', async () => {
    const { draft } = await create('templates');
    const ann = await put(draft, { headers: first });
    const late = await put(draft, { content: { name: 'Ben’s' }, headers: first });
    expect([late.status, late.body.code, etagOf(late)]).toEqual([412, 'precondition_failed', etagOf(ann)]);
    expect((await put(draft, { content: { name: 'Ben’s' } })).status).toBe(412);
    const ben = await put(draft, { content: { name: 'Ben’s' }, headers: { 'If-Match': etagOf(ann) } });
    expect(ben.status).toBe(200);
    const stale = await put(draft, { content: { name: 'Ann’s' }, headers: { 'If-Match': etagOf(ann) } });
    expect([stale.status, etagOf(stale)]).toEqual([412, etagOf(ben)]);
    const remove = await api.request('DELETE', draft, { headers: { 'If-Match': etagOf(ann) } });
    expect(remove.status).toBe(412);
    expect((await api.request('GET', draft)).body.content).toEqual({ name: 'Ben’s' });
  });

  it('who save the first one at once get one draft', async () => {
    const { id, draft } = await create('templates');
    const answers: TestResponse[] = [];
    const works = ['Ann', 'Ben'].map((name) => async () => {
      answers.push(await put(draft, { content: { name }, headers: first }));
    });
    const lock = 'select 1 from templates where id = $1 for update';
    await runBehindLock(api.database.pool, { lock, values: [id] }, works);
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 412]);
    const kept = answers.find(({ status }) => status === 200);
    expect((await api.request('GET', draft)).body).toEqual(kept?.body);
    expect(answers.find(({ status }) => status === 412)?.headers.get('etag')).toBe(kept?.headers.get('etag'));
  });

  it('do not overwrite a draft that was deleted and begun again', async () => {
    const { draft } = await create('templates');
    const old = await put(draft);
    expect((await api.request('DELETE', draft, { headers: { 'If-Match': etagOf(old) } })).status).toBe(200);
    expect((await put(draft, { headers: { 'If-Match': etagOf(old) } })).status).toBe(412);
    const next = await put(draft, { headers: first });
    expect(etagOf(next)).not.toBe(etagOf(old));
    expect((await put(draft, { content: {}, headers: { 'If-Match': etagOf(old) } })).status).toBe(412);
  });
});

describe('a draft ends', () => {
  it.each(kinds)('when its resource of %s is deleted or archived', async (kind) => {
    const resource = await create(kind);
    await put(resource.draft);
    expect((await api.request('DELETE', resource.path)).status).toBe(200);
    expect((await api.request('GET', resource.draft)).status).toBe(404);
    expect((await put(resource.draft)).status).toBe(404);
    const { list } = await api.request('GET', `/v1/my/drafts?kind=${kind}&limit=200`);
    expect(list.map((each) => each.resource_id)).not.toContain(resource.id);
  });

  it.each(['campaigns', 'flows'] as const)('when the %s whose content it changes go', async (kind) => {
    const resource = await create(kind);
    const { body } = await api.request('GET', resource.path);
    const templates = (body.templates as unknown as { id: number }[] | undefined) ?? [body.template];
    const draft = `/v1/my/drafts/templates/${Number(templates[0]?.id)}`;
    expect((await put(draft)).status).toBe(200);
    await put(resource.draft);
    expect((await api.request('DELETE', resource.draft)).status).toBe(200);
    expect((await api.request('GET', draft)).status).toBe(200);
    expect((await api.request('DELETE', resource.path)).status).toBe(200);
    const { list } = await api.request('GET', '/v1/my/drafts?kind=templates&limit=200');
    expect(list.map((each) => each.resource_id)).not.toContain(templates[0]?.id);
  });

  it('when it is deleted, which returns it', async () => {
    const { draft } = await create('flows');
    const saved = await put(draft);
    const deleted = await api.request('DELETE', draft);
    expect([deleted.status, deleted.body]).toEqual([200, saved.body]);
    expect((await api.request('DELETE', draft)).status).toBe(404);
  });
});

it('saving drafts is not in the audit log', async () => {
  const { draft } = await create('segments');
  await put(draft, { token: api.userJwt });
  await api.request('DELETE', draft, { token: api.userJwt });
  const { list } = await api.request('GET', '/v1/my/audit?limit=200', { token: api.userJwt });
  expect(list.filter(({ action }) => String(action).includes('raft'))).toEqual([]);
});
