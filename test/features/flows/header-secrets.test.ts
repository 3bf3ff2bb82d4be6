// Values of headers of webhook steps are stored sealed, shown masked everywhere, and sent to the host they were given for.
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import pino from 'pino';
import { showFlowForOperator } from '../../../src/features/flows/index.ts';
import { advanceRun } from '../../../src/features/flows/run/advance.ts';
import { createCallTurns } from '../../../src/features/flows/run/call-turns.ts';
import { createFlowDraftForm } from '../../../src/features/flows/draft-form.ts';
import { openHeaders, sealHeaders } from '../../../src/features/flows/header-secrets.ts';
import { sealPlainHeaders } from '../../../src/features/flows/seal-plain.ts';
import type { WebhookStep } from '../../../src/features/flows/steps/webhook.ts';
import { callWebhook } from '../../../src/features/flows/run/calls.ts';
import { createFlowVersionReader } from '../../../src/features/flows/versions.ts';
import { upkeep } from '../../../src/features/upkeep.ts';
import { loadConfig } from '../../../src/config.ts';
import { createResolver } from '../../../src/platform/dns/resolver.ts';
import { createEgress, type Egress } from '../../../src/platform/egress/client.ts';
import { createKeyring, type Keyring } from '../../../src/platform/secrets/keyring.ts';
import { startTestApi, TEST_SECRET, type TestApi, type TestResponse } from '../../support/api.ts';
import { insertContacts } from '../../support/contacts.ts';
import { insertRun, sendsNothing } from '../../support/flow-runs.ts';
import {
  actOnFlow,
  changeFlow,
  createFlow,
  flowOf,
  FLOWS,
  proPlan,
  showFlow,
} from '../../support/flow-requests.ts';
import { type Receiver, startReceiver, testCa } from '../../support/https-receiver.ts';

let api: TestApi;
let receiver: Receiver;
let egress: Egress;
const keyring = createKeyring(TEST_SECRET);
const pool = () => api.database.pool;

beforeAll(async () => {
  api = await startTestApi({ env: { PUBLIC_URL: 'https://mail.acme.test' } });
  receiver = await startReceiver();
  egress = createEgress({
    ...{ resolver: createResolver([]), userAgent: 'test', allow: ['127.0.0.0/8'], ca: [testCa] },
  });
}, 240_000);
afterAll(async () => {
  await egress.close();
  await receiver.close();
  await api.close();
});
beforeEach(() => {
  receiver.requests = [];
});

const SECRET = 'Bearer sk_live_Yq3v8Zt1Lw6Rb0Xc5Nd2';
type Headers = Record<string, string>;
interface ShownStep {
  id: number;
  url: string;
  headers: Headers;
}
const stepsOf = (body: unknown) => (body as { steps: ShownStep[] }).steps;
const firstOf = (body: unknown) => stepsOf(body)[0] as ShownStep;
const hook = (headers: Headers = { Authorization: SECRET }, url = receiver.url('/hook', '127.0.0.1')) => ({
  type: 'webhook',
  url,
  headers,
});

/** Everything that the database has of flows and drafts. */
async function storedText(): Promise<string> {
  const { rows } = await pool().query<{ text: string }>(
    `select string_agg(text, ' ') as text from (
       select f::text as text from flows f union all select v::text from flow_versions v
       union all select d::text from drafts d union all select s::text from flow_header_secrets s
       union all select t::text from templates t union all select o::text from outbox o
       union all select e::text from events e) everything`,
  );
  return rows[0]?.text ?? '';
}

const showsNothing = (text: string) => expect(text).not.toMatch(/Yq3v8Zt1Lw6|hunter2/);

/** Brings a run of an active flow to its webhook step and makes the request. @returns the headers that were sent */
async function sentHeaders(flowId: number): Promise<Record<string, unknown>> {
  const { rows } = await pool().query<{ version_id: number; step_id: number }>(
    `select f.version_id, (f.steps -> 0 ->> 'id')::int as step_id from flows f where f.id = $1`,
    [flowId],
  );
  const { version_id: versionId, step_id: stepId } = rows[0] as { version_id: number; step_id: number };
  const [contactId = 0] = await insertContacts(pool(), api, 1, `flow${flowId}n${receiver.requests.length}`);
  const versions = createFlowVersionReader(pool());
  const asOf = new Date();
  const run = await insertRun(pool(), api, { id: flowId, versionId, goal: null }, contactId, { asOf });
  const log = pino({ level: 'silent' });
  await advanceRun(
    {
      ...{ pool: pool(), versions, consumers: [], send: sendsNothing, log },
      waker: { wake: () => undefined },
    },
    run,
    asOf,
  );
  const turns = createCallTurns();
  await callWebhook({ ...{ pool: pool(), versions, egress, keyring, turns } }, run, stepId, asOf);
  return receiver.requests.at(-1)?.headers ?? {};
}

async function activate(id: number): Promise<void> {
  const { status, text } = await actOnFlow(api, id, 'activate');
  if (status !== 200) throw new Error(text);
}

const runTask = (name: string, asOf = new Date()) => {
  const task = upkeep.tasks.find((each) => each.name === name);
  if (!task) throw new Error(`no task ${name}`);
  const config = loadConfig({ APP_SECRET: TEST_SECRET });
  const deps = { config, database: api.database, log: pino({ level: 'silent' }), ...upkeep };
  return task.run(deps, asOf, () => undefined);
};

describe('headers of webhook steps', () => {
  it('are masked in every response, and sealed in the database', async () => {
    const created = await createFlow(api, {
      trigger: { event: 'signed_up' },
      steps: [
        { type: 'condition', filters: [proPlan], yes: [hook()] },
        hook({ 'X-Pin': 'hunter2', Accept: 'application/json' }),
      ],
    });
    expect([created.status, created.text]).toEqual([201, expect.stringContaining('••••5Nd2#')]);
    const id = Number(created.body.id);
    expect(stepsOf(created.body)[1]?.headers).toEqual({
      // Four characters of a short secret would be most of it.
      'X-Pin': expect.stringMatching(/^••••#[a-z2-7]{16}$/),
      Accept: 'application/json',
    });
    await activate(id);
    const member = await api.addUser('member');
    const responses = [
      created,
      await showFlow(api, id),
      await api.request('GET', `${FLOWS}/${id}`, { token: member.userJwt }),
      await api.request('GET', `${FLOWS}?name=Welcome`),
      await api.request('GET', `${FLOWS}/${id}/versions/1`),
      await api.request('POST', `${FLOWS}/${id}/duplicate`, { body: {} }),
      await api.request('GET', `${FLOWS}/${id}/report`),
    ];
    for (const { text } of responses) showsNothing(text);
    showsNothing(JSON.stringify(await showFlowForOperator(pool(), id)));
    showsNothing(await storedText());
  });

  it('never show the end of Basic credentials', async () => {
    const Authorization = `Basic ${Buffer.from('carillon:correct-horse-hunter2').toString('base64')}`;
    const id = await flowOf(api, { steps: [hook({ Authorization })] });
    expect(firstOf((await showFlow(api, id)).body).headers['Authorization']).toMatch(/^••••#/);
  });

  it('keep the stored value if the mask is sent back, and are sent as they were given', async () => {
    const id = await flowOf(api, { steps: [hook()] });
    await activate(id);
    const shown = await showFlow(api, id);
    const changed = await changeFlow(api, id, { steps: stepsOf(shown.body), name: 'Renamed' });
    expect([changed.status, firstOf(changed.body).headers]).toEqual([200, firstOf(shown.body).headers]);
    expect((await sentHeaders(id))['authorization']).toBe(SECRET);
    const versions = await api.request('GET', `${FLOWS}/${id}/versions`);
    expect(versions.body).toHaveLength(1);
  });

  it('keep the value in a copy, in another flow of the brand, and under another name of the same host', async () => {
    const id = await flowOf(api, { steps: [hook()] });
    const copy = await actOnFlow(api, id, 'duplicate', {});
    const mask = firstOf(copy.body).headers['Authorization'] ?? '';
    const other = await flowOf(api, {
      steps: [hook({ 'X-Key': mask }, receiver.url('/other', '127.0.0.1'))],
    });
    for (const each of [Number(copy.body.id), other]) await activate(each);
    expect((await sentHeaders(Number(copy.body.id)))['authorization']).toBe(SECRET);
    expect((await sentHeaders(other))['x-key']).toBe(SECRET);
  });

  it('are replaced by a new value', async () => {
    const id = await flowOf(api, { steps: [hook()] });
    const { id: step } = firstOf((await showFlow(api, id)).body);
    await changeFlow(api, id, { steps: [{ ...hook({ Authorization: 'Bearer other' }), id: step }] });
    await activate(id);
    expect((await sentHeaders(id))['authorization']).toBe('Bearer other');
  });

  it('do not follow a URL to another host, nor a mask to another brand', async () => {
    const id = await flowOf(api, { steps: [hook()] });
    const shown = firstOf((await showFlow(api, id)).body);
    const stolen = await changeFlow(api, id, { steps: [{ ...shown, url: 'https://thief.example/' }] });
    const message = 'is masked, and its value was given for a URL of another host: give the value itself';
    expect([stolen.status, stolen.body]).toEqual([
      422,
      expect.objectContaining({ validation_errors: { 'steps[0].headers.Authorization': [message] } }),
    ]);
    const check = await api.request('POST', `${FLOWS}/check`, {
      body: { flow_id: id, steps: [{ ...shown, url: 'https://thief.example/' }] },
    });
    expect(check.body).toMatchObject({ problems: [{ field: 'steps[0].headers.Authorization', message }] });
    const foreign = await createFlow(api, { steps: [hook(shown.headers)] }, api.other.apiKey);
    expect([foreign.status, foreign.text]).toEqual([422, expect.stringContaining('no value with this mask')]);
    expect(firstOf((await showFlow(api, id)).body)).toEqual(shown);
  });

  it('keep their masks after a change of APP_SECRET, also if the values are sent again', async () => {
    const renewed = createKeyring('the secret of the next year, long enough', [TEST_SECRET]);
    const steps = [{ ...hook(), method: 'POST', id: 1 }] as Parameters<typeof sealHeaders>[3];
    const seal = (ring: Keyring) => sealHeaders(pool(), ring, api, steps);
    const before = await seal(keyring);
    expect(await seal(renewed)).toEqual(before);
    const draft = await createFlowDraftForm(renewed).store(pool(), api, { steps });
    expect(draft).toEqual({ steps: before });
    await pool().query('delete from flow_header_secrets where brand_id = $1', [api.brandId]);
    const sealed = await seal(renewed);
    expect(sealed).not.toEqual(before);
    expect(await seal(renewed)).toEqual(sealed);
    const opened = await openHeaders(pool(), renewed, api, sealed[0] as WebhookStep);
    expect(opened).toEqual({ Authorization: SECRET });
    // Processes that still have the former secret cannot open it.
    await pool().query('delete from flow_header_secrets where brand_id = $1', [api.brandId]);
  });

  it('refuse a mask that stands for nothing', async () => {
    for (const mask of ['••••', '••••#aaaaaaaaaaaaaaaa', '••••1234', '••••5Nd2#AAAA']) {
      const refused = await createFlow(api, { steps: [hook({ Authorization: mask })] });
      expect([mask, refused.status, refused.text]).toEqual([
        mask,
        422,
        expect.stringContaining('steps[0].headers.Authorization'),
      ]);
    }
  });
});

describe('a draft of a flow', () => {
  const draftOf = ({ body }: TestResponse) =>
    body as unknown as { content: { steps: ShownStep[] }; revision: number };
  const draftPath = (id: number) => `/v1/my/drafts/flows/${id}`;
  const put = (id: number, content: unknown, headers: Headers = { 'If-None-Match': '*' }) =>
    api.request('PUT', draftPath(id), { body: { content, base_content: content, base: '"1"' }, headers });

  it('has masks, with which it can be saved again and published', async () => {
    const id = await flowOf(api, { steps: [{ type: 'exit' }] });
    const content = {
      steps: [{ type: 'condition', yes: [hook()], filters: [] }, hook({ 'X-Pin': 'hunter2' })],
    };
    const saved = await put(id, content);
    expect(saved.status).toBe(200);
    showsNothing(saved.text);
    const read = await api.request('GET', draftPath(id));
    showsNothing(read.text);
    const { content: shown, revision } = draftOf(read);
    const again = await put(id, shown, { 'If-Match': read.headers.get('etag') ?? '' });
    expect(again.body).toMatchObject({
      content: shown,
      revision,
    });
    showsNothing(await storedText());
    const published = await changeFlow(api, id, { steps: shown.steps.slice(1) });
    expect(published.status).toBe(200);
    await activate(id);
    expect((await sentHeaders(id))['x-pin']).toBe('hunter2');
  });

  it('may be unfinished, but what it stores is checked when it is published', async () => {
    const id = await flowOf(api, { steps: [{ type: 'exit' }] });
    const long = `hunter2${'x'.repeat(1_000)}`;
    const saved = await put(id, {
      steps: [{ type: 'webhook', headers: { a: 'hunter2', b: 7 } }, hook({ a: long })],
    });
    showsNothing(saved.text);
    const [unfinished, tooLong] = draftOf(saved).content.steps;
    const publish = (step: object | undefined) => changeFlow(api, id, { steps: [step] });
    expect((await publish(hook({ a: unfinished?.headers['a'] ?? '' }))).text).toContain('another host');
    expect((await publish(tooLong)).text).toContain('steps[0].headers.a must have at most 1000 characters');
  });
});

describe('what an older version of the service has stored', () => {
  /** Stores a flow, its version and a draft as processes of the version before do. */
  async function storePlain(): Promise<number> {
    const id = await flowOf(api, { steps: [hook()] });
    await activate(id);
    const { id: step } = firstOf((await showFlow(api, id)).body);
    const steps = JSON.stringify([{ ...hook(), method: 'POST', id: step }]);
    await pool().query('update flows set steps = $2 where id = $1', [id, steps]);
    await pool().query('update flow_versions set steps = $2 where flow_id = $1', [id, steps]);
    await pool().query(
      `insert into drafts (account_id, brand_id, flow_id, content, base, base_content)
       values ($1, $2, $3, $4, '"1"', $4)`,
      [api.accountId, api.brandId, id, JSON.stringify({ steps: JSON.parse(steps) as unknown })],
    );
    return id;
  }

  it('is sent and masked before it is sealed, and the mask keeps it', async () => {
    const id = await storePlain();
    expect((await sentHeaders(id))['authorization']).toBe(SECRET);
    for (const path of [`${FLOWS}/${id}`, `${FLOWS}/${id}/versions/1`, `/v1/my/drafts/flows/${id}`]) {
      showsNothing((await api.request('GET', path)).text);
    }
    const shown = firstOf((await showFlow(api, id)).body);
    expect(shown.headers).toEqual({ Authorization: '••••' });
    const changed = await changeFlow(api, id, { steps: [shown] });
    expect(firstOf(changed.body).headers['Authorization']).toMatch(/^••••5Nd2#/);
    expect((await sentHeaders(id))['authorization']).toBe(SECRET);
  });

  it('is sealed in all branches', async () => {
    const id = await storePlain();
    const { id: first } = firstOf((await showFlow(api, id)).body);
    const plain = { ...hook({ a: 'hunter2' }), method: 'POST' };
    const steps = [
      { type: 'condition', id: 101, filters: [proPlan], yes: [], no: [{ ...plain, id: first }] },
      {
        ...{ type: 'split', id: 102 },
        branches: [
          {
            weight: 50,
            steps: [{ type: 'condition', id: 103, filters: [], yes: [{ ...plain, id: 104 }], no: [] }],
          },
          { weight: 50, steps: [] },
        ],
      },
    ];
    await pool().query('update flow_versions set steps = $2 where flow_id = $1', [id, JSON.stringify(steps)]);
    await pool().query('update flows set steps = $2 where id = $1', [id, JSON.stringify(steps.slice(1))]);
    expect(await sealPlainHeaders(pool(), keyring)).toBeGreaterThanOrEqual(2);
    showsNothing(await storedText());
  });

  it('is sealed later, without a change that clients see', async () => {
    const id = await storePlain();
    const before = await showFlow(api, id);
    expect(await sealPlainHeaders(pool(), keyring)).toBeGreaterThanOrEqual(3);
    showsNothing(await storedText());
    const after = await showFlow(api, id);
    expect(after.headers.get('etag')).toBe(before.headers.get('etag'));
    // The mask from before keeps the value, too.
    expect((await changeFlow(api, id, { steps: stepsOf(before.body) })).status).toBe(200);
    expect((await sentHeaders(id))['authorization']).toBe(SECRET);
    expect(await sealPlainHeaders(pool(), keyring)).toBe(0);
  });

  it('does not run steps with masks: it does not know their type, and cannot store them with another', async () => {
    const id = await flowOf(api, { steps: [hook()] });
    await activate(id);
    const { rows } = await pool().query<{ type: string }>(
      `select distinct v.steps -> 0 ->> 'type' as type from flow_versions v where v.flow_id = $1`,
      [id],
    );
    expect(rows).toEqual([{ type: 'sealed_webhook' }]);
    const masked = JSON.stringify([{ ...hook({ a: '••••#aaaaaaaaaaaaaaaa' }), id: 1 }]);
    await expect(
      pool().query('insert into flow_versions (flow_id, n, steps) values ($1, 7, $2)', [id, masked]),
    ).rejects.toThrow('flow_versions_masks');
  });
});

describe('JSON in a body or in data that looks like a webhook step', () => {
  const payloads = [{ type: 'webhook', headers: { x: 'abc', y: '••••#aaaaaaaaaaaaaaaa' } }];
  const stepsWithPayloads = () => {
    const yes = [{ ...hook(), body: { payloads } }];
    return [
      { type: 'event', event_name: 'called', data: { payloads } },
      { type: 'condition', filters: [proPlan], yes },
      { type: 'split', branches: [50, 50].map((weight) => ({ weight, steps: yes })) },
    ];
  };
  const payloadsOf = (text: string) => text.split('"x":"abc","y":"••••#aaaaaaaaaaaaaaaa"').length - 1;

  it('is kept as it is by flows and drafts', async () => {
    const steps = stepsWithPayloads();
    const id = await flowOf(api, { steps });
    await activate(id);
    const shown = await showFlow(api, id);
    expect(payloadsOf(shown.text)).toBe(4);
    showsNothing(shown.text);
    const content = { steps, trigger: { data: { payloads } } };
    const draft = { content, base_content: content, base: '"1"' };
    const saved = await api.request('PUT', `/v1/my/drafts/flows/${id}`, {
      body: draft,
      headers: { 'If-None-Match': '*' },
    });
    expect(payloadsOf(saved.text)).toBe(10);
    showsNothing(saved.text);
  });

  it('is not sealed, and not written again and again', async () => {
    const id = await flowOf(api, { steps: stepsWithPayloads() });
    await activate(id);
    await sealPlainHeaders(pool(), keyring);
    expect(await sealPlainHeaders(pool(), keyring)).toBe(0);
    expect(payloadsOf((await showFlow(api, id)).text)).toBe(4);
  });
});

describe('values of headers that a test key stores', () => {
  it('leave room for those of live keys', async () => {
    const { rowCount } = await pool().query(
      `insert into flow_header_secrets (brand_id, tag, account_id, origin, value_sealed)
       select $1, 'unused' || n, $2, '', '' from generate_series(1, 5000) n`,
      [api.brandId, api.accountId],
    );
    expect(rowCount).toBe(5_000);
    const steps = [hook({ a: 'not stored yet' })];
    const refused = await createFlow(api, { steps }, api.testApiKey);
    expect([refused.status, refused.body]).toMatchObject([
      422,
      {
        validation_errors: { steps: [expect.stringContaining('can have 5000 together if a test key adds')] },
      },
    ]);
    const id = await flowOf(api, { steps });
    const again = await createFlow(api, { steps }, api.testApiKey);
    expect(again.status).toBe(201);
    const body = { steps: [hook({ a: 'by a test key' })] };
    const changed = await api.request('PATCH', `${FLOWS}/${id}`, { body, token: api.testApiKey });
    expect(changed.status).toBe(422);
    await pool().query(`delete from flow_header_secrets where tag like 'unused%'`);
  });
});

describe('values of headers that no flow has any more', () => {
  const countValues = async () =>
    (await pool().query('select 1 from flow_header_secrets where brand_id = $1', [api.brandId])).rowCount ??
    0;
  const night = new Date('2031-03-10T02:30:00Z');

  it('are deleted a day later; those of flows, versions and drafts are kept', async () => {
    await runTask('flow_header_secrets', night);
    const id = await flowOf(api, { steps: [hook({ a: 'in the first version' })] });
    await activate(id);
    const { id: step } = firstOf((await showFlow(api, id)).body);
    const counts = [await countValues()];
    await changeFlow(api, id, { steps: [{ ...hook({ a: 'in the flow' }), id: step }] });
    const other = await flowOf(api, { steps: [hook({ a: 'was in a draft' })] });
    await changeFlow(api, other, { steps: [{ type: 'exit' }] });
    counts.push(await countValues());
    expect(await runTask('flow_header_secrets')).toBe(0);
    expect(await runTask('flow_header_secrets', night)).toBe(1);
    counts.push(await countValues());
    const [first = 0] = counts;
    expect(counts).toEqual([first, first + 2, first + 1]);
    expect((await sentHeaders(id))['a']).toBe('in the flow');
  });
});
