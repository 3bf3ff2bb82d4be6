// Two editors of one resource do not overwrite each other: each route that checks If-Match does so under a lock.
import type { IncomingMessage } from 'node:http';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { parseIfMatch } from '../../../src/platform/http/etag.ts';
import type { RouteDefinition } from '../../../src/platform/http/route.ts';
import { startTestApi, type TestApi, type TestResponse } from '../../support/api.ts';
import { runBehindLock } from '../../support/lock-order.ts';

let api: TestApi;
beforeAll(async () => {
  api = await startTestApi();
});
afterAll(() => api.close());

const etagOf = ({ headers }: TestResponse) => headers.get('etag') ?? '';
const get = (path: string) => api.request('GET', path);

interface Kind {
  /** The last part of the path of the list. */
  kind: string;
  table: string;
  method: string;
  /** The body of the POST; null: there is one already. */
  make: object | null;
  /** The changes of two editors. */
  edits: [object, object];
  /** What the resource shows after both. */
  both: object;
}

const filters = [{ name: 'email', predicate: 'eq', value: 'ada@example.com' }];
const otherFilters = [{ name: 'email', predicate: 'eq', value: 'bob@example.com' }];
const kinds: Kind[] = [
  {
    kind: 'campaigns',
    table: 'campaigns',
    method: 'PATCH',
    make: { name: 'Spring', channel: 'email' },
    edits: [{ name: 'A' }, { template_attributes: { subject: 'B' } }],
    both: { name: 'A', template: { subject: 'B' } },
  },
  {
    kind: 'templates',
    table: 'templates',
    method: 'PATCH',
    make: { channel: 'email', subject: 'Hi' },
    edits: [{ subject: 'A' }, { body: 'B' }],
    both: { subject: 'A', body: 'B' },
  },
  {
    kind: 'segments',
    // A change of a segment locks all segments of the brand.
    table: 'brands',
    method: 'PATCH',
    make: { name: 'Spring', filters },
    edits: [{ name: 'A' }, { filters: otherFilters }],
    both: { name: 'A', filters: otherFilters },
  },
  {
    kind: 'brand',
    table: 'brands',
    method: 'PUT',
    make: null,
    edits: [{ tone: 'A' }, { industry: 'B' }],
    both: { tone: 'A', industry: 'B' },
  },
  {
    kind: 'flows',
    table: 'flows',
    method: 'PATCH',
    make: { name: 'Spring', steps: [{ type: 'email', subject: 'Hi' }] },
    edits: [{ name: 'A' }, { steps: [{ type: 'email', id: 1, subject: 'B' }] }],
    both: { name: 'A', steps: [{ id: 1, subject: 'B' }] },
  },
];

/** Creates a resource. @returns its path */
async function create({ kind, make }: Kind): Promise<string> {
  const list = `/v1/my/${kind}`;
  if (!make) {
    await api.request('PUT', list, { body: { tone: null, industry: null } });
    return list;
  }
  const { body } = await api.request<{ id: number }>('POST', list, { body: make });
  return `${list}/${body.id}`;
}

const change = ({ method }: Kind, path: string, body: object, ifMatch: string): Promise<TestResponse> =>
  api.request(method, path, { body, headers: { 'If-Match': ifMatch } });

describe.each(kinds)('the ETag of $kind', (kind) => {
  const [first, second] = kind.edits;

  it('is the revision, which each change raises', async () => {
    const path = await create(kind);
    for (const edit of [first, second]) {
      const before = await get(path);
      expect(etagOf(before)).toBe(`"${Number(before.body.revision)}"`);
      const changed = await change(kind, path, edit, etagOf(before));
      expect(changed.status).toBe(200);
      expect(etagOf(changed)).not.toBe(etagOf(before));
      expect(etagOf(await get(path))).toBe(etagOf(changed));
    }
  });

  it('stays the same if a request changes nothing', async () => {
    const path = await create(kind);
    for (const edit of [first, second]) {
      const changed = await change(kind, path, edit, '*');
      const repeated = await change(kind, path, edit, '*');
      expect([repeated.status, etagOf(repeated)]).toEqual([200, etagOf(changed)]);
      expect(repeated.body.updated_at).toBe(changed.body.updated_at);
    }
  });

  it('lets one of two editors at once change the resource, and the other repeat the change', async () => {
    const path = await create(kind);
    const etag = etagOf(await get(path));
    const answers: { edit: object; answer: TestResponse }[] = [];
    const works = kind.edits.map((edit) => async () => {
      answers.push({ edit, answer: await change(kind, path, edit, etag) });
    });
    const lock = `select 1 from ${kind.table} where id = $1 for update`;
    const values = [kind.table === 'brands' ? api.brandId : Number(path.split('/').at(-1))];
    await runBehindLock(api.database.pool, { lock, values }, works);
    const done = answers.find(({ answer }) => answer.status === 200)?.answer;
    const refused = answers.find(({ answer }) => answer.status === 412);
    if (!done || !refused) throw new Error(JSON.stringify(answers));
    expect(refused.answer.body.code).toBe('precondition_failed');
    const now = await get(path);
    expect(now.body).toEqual(done.body);
    expect(etagOf(refused.answer)).toBe(etagOf(now));
    expect((await change(kind, path, refused.edit, etagOf(refused.answer))).status).toBe(200);
    expect((await get(path)).body).toMatchObject(kind.both);
  });
});

/** Bodies of requests that would succeed, by operation; empty for all others. */
const bodies: Record<string, object> = {
  changeCampaign: { name: 'Stale' },
  changeTemplate: { name: 'Stale' },
  changeSegment: { name: 'Stale' },
  changeFlow: { name: 'Stale' },
  putBrand: { tone: 'Stale' },
  putDraft: { content: { name: 'Stale' }, base: '"1"' },
};

/** Creates what a route changes. @returns its path, and that of the route */
async function createFor(route: RouteDefinition): Promise<{ shown: string; path: string }> {
  const [, , , name, , action] = route.path.split('/');
  if (name === 'drafts') {
    const resource = await create(kinds.find(({ kind }) => kind === 'segments') as Kind);
    const shown = resource.replace('/my/', '/my/drafts/');
    await api.request('PUT', shown, { body: { content: {}, base: '"1"' } });
    return { shown, path: shown };
  }
  const kind = kinds.find((each) => name === each.kind);
  if (!kind) throw new Error(`${route.operationId} has no line in this test`);
  const shown = await create(kind);
  return { shown, path: action === undefined ? shown : `${shown}/${action}` };
}

it('refuses a stale If-Match on each route that checks it, and changes nothing', async () => {
  const checked = api.routes.filter((route) => route.etag === 'checked');
  expect(checked.map(({ operationId }) => operationId)).toEqual(expect.arrayContaining(Object.keys(bodies)));
  for (const route of checked) {
    const { shown, path } = await createFor(route);
    const before = await get(shown);
    const body = route.method === 'DELETE' ? undefined : (bodies[route.operationId] ?? {});
    const headers = { 'If-Match': '"0", W/"1"' };
    const refused = await api.request(route.method, path, { ...(body && { body }), headers });
    expect([route.operationId, refused.status, etagOf(refused)]).toEqual([
      route.operationId,
      412,
      etagOf(before),
    ]);
    expect((await get(shown)).body).toEqual(before.body);
  }
});

it('shows the ETag of what a POST has created, also in a replay', async () => {
  for (const { kind, make } of kinds) {
    if (!make) continue;
    const post = () =>
      api.request('POST', `/v1/my/${kind}`, { body: make, headers: { 'Idempotency-Key': `etag ${kind}` } });
    const [created, replayed] = [await post(), await post()];
    expect(etagOf(created)).toBe(`"${Number(created.body.revision)}"`);
    expect([etagOf(replayed), replayed.headers.get('idempotent-replayed')]).toEqual([
      etagOf(created),
      'true',
    ]);
  }
});

describe('the content of a campaign', () => {
  it('raises the revision of the campaign when its template changes', async () => {
    const campaign = await create(kinds[0] as Kind);
    const before = await get(campaign);
    const template = `/v1/my/templates/${Number(before.body.template?.id)}`;
    for (const body of [{ subject: 'Changed' }, { name: 'Only the name' }]) {
      const etag = etagOf(await get(campaign));
      expect((await api.request('PATCH', template, { body })).status).toBe(200);
      expect(etagOf(await get(campaign))).not.toBe(etag);
    }
    expect((await change(kinds[0] as Kind, campaign, { name: 'Late' }, etagOf(before))).status).toBe(412);
  });

  it('is changed at once without a deadlock, through the template and the campaign', async () => {
    const campaign = await create(kinds[0] as Kind);
    const template = `/v1/my/templates/${Number((await get(campaign)).body.template?.id)}`;
    const answers: number[] = [];
    const send = (path: string, body: object) => async () => {
      answers.push((await api.request('PATCH', path, { body })).status);
    };
    const id = Number(campaign.split('/').at(-1));
    await runBehindLock(
      api.database.pool,
      { lock: 'select 1 from campaigns where id = $1 for update', values: [id] },
      [
        send(template, { preheader: 'One' }),
        send(template, { subject: 'Two' }),
        send(campaign, { template_attributes: { body: 'Three' } }),
      ],
    );
    expect(answers).toEqual([200, 200, 200]);
  });
});

it('of a flow changes with the content of a step, whatever the request that changes it', async () => {
  const kind = kinds.find(({ table }) => table === 'flows') as Kind;
  const flow = await create(kind);
  const before = await get(flow);
  const { templates } = before.body as unknown as { templates: { id: number }[] };
  const path = `/v1/my/templates/${templates[0]?.id}`;
  for (const body of [{ subject: 'Changed' }, { name: 'Only the name' }]) {
    const etag = etagOf(await get(flow));
    expect((await api.request('PATCH', path, { body })).status).toBe(200);
    expect(etagOf(await get(flow))).not.toBe(etag);
  }
  expect((await change(kind, flow, { name: 'Late' }, etagOf(before))).status).toBe(412);
});

describe('If-Match', () => {
  const parse = (given: string) =>
    parseIfMatch(
      { etag: 'checked' } as RouteDefinition,
      { headers: { 'if-match': given } } as IncomingMessage,
    );

  it.each([
    ['*', '*'],
    [' * ', '*'],
    ['"7"', ['"7"']],
    ['"7", W/"8" ,"a,b"', ['"7"', 'W/"8"', '"a,b"']],
    ['""', ['""']],
    ['"7",', ['"7"']],
  ])('reads %s', (given, value) => {
    expect(parse(given)).toEqual({ ok: true, value });
  });

  it.each(['', '7', '"7', '"7" "8"', '*, "7"', 'w/"7"', '"7",'.repeat(200)])('refuses %s', (given) => {
    expect(parse(given)).toMatchObject({ ok: false, errors: { 'If-Match': [expect.any(String)] } });
  });

  it('reports a malformed header together with the body', async () => {
    const { status, body } = await change(kinds[3] as Kind, '/v1/my/brand', { tone: 1 }, '7');
    expect([status, Object.keys(body.validation_errors ?? {}).sort()]).toEqual([422, ['If-Match', 'tone']]);
  });
});
