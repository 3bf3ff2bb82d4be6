// A webhook step sends signed requests only while the run is at it, and stops after four attempts.
import { createHmac } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import pino from 'pino';
import { advanceRun } from '../../../../src/features/flows/run/advance.ts';
import { CallWaitsError, createCallTurns } from '../../../../src/features/flows/run/call-turns.ts';
import { callWebhook, WebhookStepRetryError } from '../../../../src/features/flows/run/calls.ts';
import { flowWebhookSecret } from '../../../../src/features/flows/steps/webhook-request.ts';
import type { WebhookStep } from '../../../../src/features/flows/steps/webhook.ts';
import { createFlowVersionReader } from '../../../../src/features/flows/versions.ts';
import { createResolver } from '../../../../src/platform/dns/resolver.ts';
import { createEgress, type Egress } from '../../../../src/platform/egress/client.ts';
import { insertContacts } from '../../../support/contacts.ts';
import { createTestDatabase, type TestDatabase } from '../../../support/database.ts';
import { eventually } from '../../../support/eventually.ts';
import { insertFlow, insertRun, sendsNothing, type TestFlow } from '../../../support/flow-runs.ts';
import { type Receiver, startReceiver } from '../../../support/https-receiver.ts';
import { insertAccount, type QueuedAccount } from '../../../support/queued.ts';
import { testKeyring } from '../../../support/webhooks.ts';

let db: TestDatabase;
let account: QueuedAccount;
let contactId: number;
let flow: TestFlow;
let receiver: Receiver;
let egress: Egress;

const pool = () => db.database.pool;
const asOf = new Date();

/** Brings a new run to its webhook step. @returns its id */
async function begin(step: Partial<WebhookStep> = {}, test = false): Promise<number> {
  const url = receiver.url('/hook', '127.0.0.1');
  const webhook = { type: 'webhook', id: 4, url, method: 'POST', ...step } as const;
  flow = await insertFlow(pool(), account, { steps: [webhook] });
  const event = { id: 7, name: 'paid', data: { plan: 'pro' }, created_at: asOf.toISOString() };
  const run = await insertRun(pool(), account, flow, contactId, { asOf, event, test });
  await advanceRun(
    {
      ...{ pool: pool(), versions: createFlowVersionReader(pool()), consumers: [] },
      send: sendsNothing,
      ...{ waker: { wake: () => undefined }, log: pino({ level: 'silent' }) },
    },
    run,
    asOf,
  );
  return run;
}

const deps = () => ({
  ...{ pool: pool(), versions: createFlowVersionReader(pool()), egress, keyring: testKeyring },
  turns: createCallTurns(),
});

const call = (run: number, at = deps()) => callWebhook(at, run, 4, asOf);

/** Until an attempt is the last one. @returns the delays before the next ones, in seconds */
async function callUntilFinal(run: number): Promise<number[]> {
  const delays: number[] = [];
  for (;;) {
    try {
      await call(run);
      return delays;
    } catch (error) {
      if (!(error instanceof WebhookStepRetryError)) throw error;
      delays.push(error.delayMs / 1_000);
    }
  }
}

async function answerOf(run: number) {
  const { rows } = await pool().query<{ outcome: string; detail: Record<string, unknown> }>(
    'select outcome, detail from flow_run_steps where run_id = $1',
    [run],
  );
  return rows[0];
}

beforeAll(async () => {
  db = await createTestDatabase();
  receiver = await startReceiver({ plain: true });
  const options = { resolver: createResolver([]), userAgent: 'test' };
  egress = createEgress({ ...options, allow: ['127.0.0.0/8'] });
});
afterAll(async () => {
  await egress.close();
  await receiver.close();
  await db.drop();
});
beforeEach(async () => {
  account = await insertAccount(db.database);
  [contactId = 0] = await insertContacts(pool(), account, 1);
  receiver.requests = [];
  receiver.answer = (_request, response) => void response.end('{"plan":"pro"}');
});

describe('the request of a webhook step', () => {
  it('is signed with the secret of the flow, and identifies the run', async () => {
    const run = await begin({ headers: { 'x-own': 'yes' } });
    await call(run);
    const [request] = receiver.requests;
    expect(JSON.parse(request?.body ?? '')).toEqual({
      ...{ flow_id: flow.id, run_id: run, step_id: 4, contact_id: contactId, test: false },
      event: { id: 7, name: 'paid', data: { plan: 'pro' } },
    });
    const headers = request?.headers ?? {};
    expect(headers).toMatchObject({
      ...{ 'x-own': 'yes', 'content-type': 'application/json', 'webhook-id': `flow_${run}_4_0` },
      ...{ 'carillon-run-id': String(run), 'carillon-contact-id': String(contactId) },
    });
    const secret = flowWebhookSecret(testKeyring, { accountId: account.accountId, flowId: flow.id });
    const signed = [headers['webhook-id'], headers['webhook-timestamp'], request?.body].join('.');
    const key = Buffer.from(secret.slice('whsec_'.length), 'base64');
    expect(headers['webhook-signature']).toBe(
      `v1,${createHmac('sha256', key).update(signed).digest('base64')}`,
    );
    expect(await answerOf(run)).toEqual({ outcome: 'done', detail: { status: 200, body: { plan: 'pro' } } });
  });

  it('has the body of the step, or none if it is a GET', async () => {
    await call(await begin({ body: { hello: 'world' } }));
    await call(await begin({ method: 'GET' }));
    expect(receiver.requests.map(({ method, body }) => [method, body])).toEqual([
      ['POST', '{"hello":"world"}'],
      ['GET', ''],
    ]);
  });

  it('is not made in a test run, which continues as if the response were 200', async () => {
    const run = await begin({}, true);
    await call(run);
    expect(receiver.requests).toEqual([]);
    expect(await answerOf(run)).toEqual({ outcome: 'done', detail: { status: 200, body: null } });
  });

  it('is made once, and only while the run is at the step and its flow active', async () => {
    const run = await begin();
    await call(run);
    await call(run);
    expect(receiver.requests).toHaveLength(1);
    const paused = await begin();
    await pool().query(`update flows set status = 'paused' where id = $1`, [flow.id]);
    await call(paused);
    const ended = await begin();
    await pool().query(`update flow_runs set state = 'canceled', step_id = null where id = $1`, [ended]);
    await call(ended);
    expect(receiver.requests).toHaveLength(1);
    expect([await answerOf(paused), await answerOf(ended)]).toEqual([undefined, undefined]);
  });

  it.each([
    ['a long body', `"${'x'.repeat(9_000)}"`],
    ['no JSON', '<html>'],
    ['a character that the database cannot keep', '{"a":"\\u0000"}'],
    ['half of a surrogate pair', '{"a":"\\ud800"}'],
  ])('stores nothing of %s', async (_name, body) => {
    receiver.answer = (_request, response) => void response.end(body);
    const run = await begin();
    await call(run);
    expect(await answerOf(run)).toEqual({ outcome: 'done', detail: { status: 200, body: null } });
  });

  it.each([
    [503, true],
    [429, true],
    [408, true],
    [301, true],
    [404, false],
    [410, false],
  ])('is retried after a %s: %s', async (status, again) => {
    receiver.answer = (_request, response) =>
      void response.writeHead(status, { location: receiver.url('/elsewhere', '127.0.0.1') }).end();
    const run = await begin();
    const failed = { outcome: 'failed', detail: { status, body: null, error: `status ${status}` } };
    if (again) {
      await expect(call(run)).rejects.toThrow(WebhookStepRetryError);
      expect(await answerOf(run)).toBeUndefined();
    }
    expect(await callUntilFinal(run)).toEqual(again ? [330, 1_800] : []);
    expect(receiver.requests).toHaveLength(again ? 4 : 1);
    expect(await answerOf(run)).toEqual(failed);
    expect(receiver.requests.every(({ url }) => url === '/hook')).toBe(true);
  });

  it('gets no additional attempts after a pause of the flow', async () => {
    receiver.answer = (_request, response) => void response.writeHead(503).end();
    const run = await begin();
    for (const status of ['active', 'paused', 'active', 'paused', 'active']) {
      await pool().query('update flows set status = $2 where id = $1', [flow.id, status]);
      await call(run).catch(() => undefined);
    }
    await callUntilFinal(run);
    expect(receiver.requests).toHaveLength(4);
    expect(await answerOf(run)).toMatchObject({ outcome: 'failed' });
    const { rows } = await pool().query('select call_failures from flow_runs where id = $1', [run]);
    expect(rows).toEqual([{ call_failures: 0 }]);
  });

  it('waits while too many requests of the account are under way, but not for those of others', async () => {
    const at = deps();
    const release: (() => void)[] = [];
    receiver.answer = (_request, response) => void release.push(() => void response.end('{}'));
    const runs: number[] = [];
    for (let n = 0; n < 21; n += 1) runs.push(await begin());
    const asked = runs.slice(0, 20).map((run) => call(run, at));
    await eventually(() => expect(release).toHaveLength(20));
    await expect(call(runs[20] ?? 0, at)).rejects.toThrow(CallWaitsError);
    const other = await insertAccount(db.database);
    account = other;
    [contactId = 0] = await insertContacts(pool(), other, 1);
    const free = call(await begin(), at);
    await eventually(() => expect(release).toHaveLength(21));
    for (const answer of release) answer();
    await Promise.all([...asked, free]);
    receiver.answer = (_request, response) => void response.end('{}');
    await call(runs[20] ?? 0, at);
    expect(await answerOf(runs[20] ?? 0)).toMatchObject({ outcome: 'done' });
  });

  it('does not reach private addresses', async () => {
    const strict = createEgress({ resolver: createResolver([]), allow: [], userAgent: 'test' });
    const run = await begin({ url: receiver.url('/hook', '127.0.0.1').replace('http:', 'https:') });
    await pool().query('update flow_runs set call_failures = 3 where id = $1', [run]);
    await call(run, { ...deps(), egress: strict });
    expect(await answerOf(run)).toMatchObject({ outcome: 'failed', detail: { status: null } });
    expect(receiver.requests).toEqual([]);
    await strict.close();
  });
});
