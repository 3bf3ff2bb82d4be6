// The validation workflow rechecks greylisted addresses, waits for its turn, and keeps its state across runs.
import { expect, it } from '@jest/globals';
import type { TestWorkflowEnvironment } from '@temporalio/testing';
import { Worker } from '@temporalio/worker';
import pino from 'pino';
import { shakeHands } from '../../src/delivery/wire/smtp/handshake.ts';
import { createAddressChecker } from '../../src/features/validation/checks/address-checker.ts';
import { createDomainLookups } from '../../src/features/validation/checks/domain-lookups.ts';
import { createMailboxProbe } from '../../src/features/validation/checks/mailbox-probe.ts';
import { advanceValidation, type ValidationRunDeps } from '../../src/features/validation/run.ts';
import type { Operation } from '../../src/features/validation/schema.ts';
import { createResolver } from '../../src/platform/dns/resolver.ts';
import { createAddressPolicy } from '../../src/platform/egress/addresses.ts';
import { installRuntime } from '../../src/platform/temporal/worker.ts';
import {
  validationQueries,
  validationSignals,
  type ValidationState,
  validationWorkflowId,
} from '../../workflows/validation/contract.ts';
import { type TestApi, startTestApi } from '../support/api.ts';
import { insertContacts } from '../support/contacts.ts';
import { startDnsServer, type TestDnsServer } from '../support/dns/server.ts';
import { sharedWorkflowBundle } from '../support/engine.ts';
import { type MailHost, startMailHost } from '../support/smtp/mail-host.ts';
import { testsThatNeed } from '../support/tests-that-need.ts';
import { createTimeSkippingEnvironment } from '../support/time-skipping.ts';
import { attendance, itemsOf, PATH, startValidation } from '../support/validation.ts';

const { afterAll, beforeAll, beforeEach, describe } = testsThatNeed('time-skipping server');

let env: TestWorkflowEnvironment;
let api: TestApi;
let dns: TestDnsServer;
let host: MailHost;
let states: ValidationState[] = [];
/** The workflow's time. The checker says by it when an address is checked once more. */
let clock = 0;

const query = (text: string, values: unknown[] = []) => api.database.pool.query(text, values);
const operationOf = async (id: number) => (await api.request<Operation>('GET', `${PATH}/${id}`)).body;

/** Asks a mail server that greylists everybody at first, and some for ever. */
function runDeps(): ValidationRunDeps {
  const { isReachable } = createAddressPolicy([]);
  const lookups = createDomainLookups({
    resolver: createResolver([dns.address]),
    isReachable,
    now: () => performance.now(),
  });
  const probe = createMailboxProbe({
    clientName: 'probe.carillon.test',
    perMinute: 6_000,
    isReachable,
    addressesOf: lookups.addressesOf,
    clock: { now: () => clock, delay: () => Promise.resolve() },
    connect: (target) => shakeHands({ ...target, host: '127.0.0.1', port: host.port }),
  });
  const checker = createAddressChecker({ lookups, probe, outside: null, now: () => clock });
  return { pool: api.database.pool, checker, log: pino({ level: 'silent' }) };
}

/** Runs the workflow with the given step; by default that of the product. */
async function withWorkers<T>(
  work: () => Promise<T>,
  step?: (id: number) => Promise<ValidationState>,
): Promise<T> {
  const deps = runDeps();
  const activities = {
    async advanceValidation(id: number, asOf: string) {
      clock = Date.parse(asOf);
      const state = await (step?.(id) ?? advanceValidation(deps, id, new Date(asOf), attendance));
      states.push(state);
      return state;
    },
  };
  const options = { connection: env.nativeConnection, activities };
  const workflowBundle = await sharedWorkflowBundle();
  const workers = [
    await Worker.create({ ...options, taskQueue: 'orchestration', workflowBundle }),
    await Worker.create({ ...options, taskQueue: 'bulk' }),
  ];
  const running = workers.map((worker) => worker.run());
  try {
    return await work();
  } finally {
    for (const worker of workers) worker.shutdown();
    await Promise.all(running);
  }
}

const start = (id: number) =>
  env.client.workflow.start('runValidation', {
    workflowId: validationWorkflowId(id),
    taskQueue: 'orchestration',
    args: [{ schema: 1, operationId: id }],
  });

beforeAll(async () => {
  installRuntime(pino({ level: 'silent' }));
  dns = await startDnsServer({
    'example.com': { MX: [{ exchange: 'mx.test', preference: 1 }] },
    'mx.test': { A: ['93.184.216.1'] },
  });
  host = await startMailHost({
    rcpt(address, nth) {
      if (!address.startsWith('contact')) return '550 5.1.1 No such user';
      return nth === 1 || address.startsWith('contact1') ? '451 4.7.1 Greylisted' : '250 Ok';
    },
  });
  [env, api] = await Promise.all([createTimeSkippingEnvironment(), startTestApi()]);
}, 120_000);
beforeEach(async () => {
  states = [];
  await query('truncate contacts, validation_operations cascade');
});
afterAll(async () => {
  await env.teardown();
  await api.close();
  await host.close();
  dns.close();
});

describe('the workflow of a validation', () => {
  it('checks greylisted addresses again after ten minutes', async () => {
    const ids = await insertContacts(api.database.pool, api, 2);
    const { body } = await startValidation(api, { contact_ids: ids });
    await withWorkers(async () => {
      const result = await (await start(body.id)).result();
      expect(result).toMatchObject({
        phase: 'done',
        status: 'completed',
        candidateCount: 2,
        checkedCount: 2,
      });
    });
    expect((await itemsOf(api, body.id)).map(({ reason }) => reason)).toEqual([
      'mailbox_accepted',
      'greylisted',
    ]);
    expect(await operationOf(body.id)).toMatchObject({ status: 'completed', remaining_count: 0 });
    const asked = host.recipients.filter((address) => address.startsWith('contact'));
    expect(asked.sort()).toEqual(
      ['contact0', 'contact0', 'contact1', 'contact1'].map((name) => `${name}@example.com`),
    );
    const waited = states.find(({ phase }) => phase === 'retrying');
    expect(waited?.checkedCount).toBe(0);
    expect(clock).toBeGreaterThanOrEqual(Date.parse(waited?.retryAt ?? ''));
  }, 60_000);

  it('looks again every 15 seconds while another of the account runs', async () => {
    const ids = await insertContacts(api.database.pool, api, 2, 'waiting');
    const first = await startValidation(api, { contact_ids: ids.slice(0, 1) });
    await query(`update validation_operations set status = 'running' where id = $1`, [first.body.id]);
    const { body } = await startValidation(api, { contact_ids: ids.slice(1) });
    await withWorkers(async () => {
      const handle = await start(body.id);
      await env.sleep('5 minutes');
      expect(new Set(states.map(({ phase }) => phase))).toEqual(new Set(['waiting']));
      expect(states.length).toBeLessThanOrEqual(22);
      await api.request('POST', `${PATH}/${first.body.id}/cancel`);
      await handle.result();
    });
    expect((await operationOf(body.id)).status).toBe('completed');
  }, 60_000);

  it('ends when the operation is canceled while it waits for a mail server', async () => {
    const ids = await insertContacts(api.database.pool, api, 1, 'contact1-canceled');
    const { body } = await startValidation(api, { contact_ids: ids });
    await query(
      `update validation_operations set status = 'running', snapshot_complete = true, taken_count = 1 where id = $1`,
      [body.id],
    );
    await query(
      `insert into validation_items (operation_id, contact_id, email, email_key, chargeable, retry_at)
       select $1, id, email, email_key, true, $2 from contacts`,
      [body.id, new Date((await env.currentTimeMs()) + 3_600_000)],
    );
    await withWorkers(async () => {
      const handle = await start(body.id);
      await env.sleep('1 minute');
      expect(states.at(-1)?.phase).toBe('retrying');
      expect((await api.request('POST', `${PATH}/${body.id}/cancel`)).status).toBe(200);
      await handle.signal(validationSignals.wake);
      await handle.result();
    });
    expect(states.at(-1)?.phase).toBe('done');
    expect(states.length).toBeLessThan(6);
  }, 60_000);

  it('looks again if the operation was resumed during the step that saw its end', async () => {
    let steps = 0;
    const step = async (id: number): Promise<ValidationState> => {
      steps += 1;
      const phase = steps === 2 ? 'checking' : 'done';
      if (steps === 1) {
        await env.client.workflow.getHandle(validationWorkflowId(id)).signal(validationSignals.wake);
      }
      return { phase, retryAt: null, candidateCount: 1, checkedCount: 0 };
    };
    await withWorkers(async () => (await start(78)).result(), step);
    expect(states.map(({ phase }) => phase)).toEqual(['done', 'checking', 'done']);
  }, 60_000);

  it('continues as new before its history is long, with its state in the query', async () => {
    let done = 0;
    const state = (phase: ValidationState['phase']): ValidationState => ({
      ...{ phase, retryAt: null, candidateCount: 400, checkedCount: done },
    });
    const step = () => Promise.resolve(state((done += 1) < 400 ? 'checking' : 'done'));
    await withWorkers(async () => {
      const first = await start(77);
      await first.result();
      const last = env.client.workflow.getHandle(validationWorkflowId(77));
      expect((await last.describe()).runId).not.toBe(first.firstExecutionRunId);
      expect(await last.query<ValidationState>(validationQueries.state)).toEqual(state('done'));
    }, step);
    expect(done).toBe(400);
  }, 120_000);
});
