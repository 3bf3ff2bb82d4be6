// The domain watch retries a provider that is down at each check, and a provider that refuses once a day.
import { expect, it } from '@jest/globals';
import type { WorkflowHandle } from '@temporalio/client';
import { addProvider, requireProviderKind } from '../../../src/delivery/wire/providers/named.ts';
import { watchStart } from '../../../src/features/domains/workflow.ts';
import type { DomainWatchState } from '../../../workflows/domains/contract.ts';
import { createTestTenant } from '../../support/api.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database.ts';
import { startDnsServer, type TestDnsServer } from '../../support/dns/server.ts';
import { type DomainWorker, startDomainWorker } from '../../support/domain-worker.ts';
import { insertPendingDomain, rightRecords } from '../../support/domains.ts';
import { type Answer, type Receiver, startReceiver } from '../../support/https-receiver.ts';
import { answerJson } from '../../support/provider-api.ts';
import { testsThatNeed } from '../../support/tests-that-need.ts';
import { testKeyring } from '../../support/webhooks.ts';

const { afterAll, beforeAll, describe } = testsThatNeed('time-skipping server');

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

/** The record that the service requires. */
const KEY = { name: 'mx._domainkey.service.example', value: 'k=rsa; p=MAILGUN' };

let test: TestDatabase;
let dns: TestDnsServer;
let service: Receiver;
let worker: DomainWorker;
let providerId: number;

beforeAll(async () => {
  [test, dns, service] = await Promise.all([
    createTestDatabase(),
    startDnsServer(),
    startReceiver({ plain: true }),
  ]);
  worker = await startDomainWorker(test, dns);
  const settings = {
    api_key: 'key-0123456789abcdef',
    webhook_signing_key: 'signing-0123456789abcdef',
    base_url: service.url('', '127.0.0.1'),
  };
  const kind = requireProviderKind('mailgun');
  const added = await addProvider(test.database.pool, testKeyring, { name: 'gun', kind, settings });
  providerId = added.id;
}, 120_000);
afterAll(async () => {
  await worker.stop();
  await service.close();
  dns.close();
  await test.drop();
});

/** A Mailgun that has the domain once `registers` responds with 200. */
function mailgun(registers: Answer): Answer {
  let has = false;
  return async (request, response) => {
    if (request.method === 'DELETE') has = false;
    if (request.method !== 'POST') {
      const body = { sending_dns_records: [{ record_type: 'TXT', ...KEY }] };
      return answerJson(has || request.method === 'DELETE' ? 200 : 404, body)(request, response);
    }
    await registers(request, response);
    has = response.statusCode === 200;
  };
}

const registrations = () => service.requests.filter(({ method }) => method === 'POST').length;

const stateOf = (handle: WorkflowHandle) => handle.query<DomainWatchState>('state');

const providerErrorOf = async (id: number) =>
  (
    await test.database.pool.query<{ provider_error: string | null }>(
      'select provider_error from domains where id = $1',
      [id],
    )
  ).rows[0]?.provider_error;

interface Watched {
  id: number;
  handle: WorkflowHandle;
  remove(): Promise<void>;
}

async function watch(name: string): Promise<Watched> {
  service.requests = [];
  const tenant = await createTestTenant(test.database, name);
  const id = await insertPendingDomain(
    test.database,
    tenant,
    name,
    new Date(await worker.env.currentTimeMs()),
  );
  await test.database.pool.query('update domains set provider_id = $2 where id = $1', [id, providerId]);
  Object.assign(dns.zone, rightRecords(id, name), { [KEY.name]: { TXT: [KEY.value] } });
  const start = watchStart({ id, accountId: tenant.accountId, brandId: tenant.brandId });
  const handle = await worker.env.client.workflow.start(start.workflowType, {
    workflowId: start.workflowId,
    taskQueue: 'orchestration',
    args: start.input ?? [],
  });
  return {
    id,
    handle,
    async remove() {
      await test.database.pool.query('delete from domains where id = $1', [id]);
      await handle.signal('wake');
      await handle.result();
    },
  };
}

describe('the watch of a domain at a named provider', () => {
  it('asks a provider that refuses the domain once a day, and on request', async () => {
    service.answer = mailgun(answerJson(400, { message: 'refused.example is blocked' }));
    const { id, handle, remove } = await watch('refused.example');
    await worker.env.sleep(HOUR);
    expect(registrations()).toBe(1);
    expect(await providerErrorOf(id)).toBe('Mailgun refused: 400 refused.example is blocked');
    expect(await stateOf(handle)).toMatchObject({
      status: 'pending',
      registration: 'refused',
      providerError: 'Mailgun refused: 400 refused.example is blocked',
    });
    // A signal must not coincide with a due check: see watch.test.ts.
    await worker.env.sleep(48.5 * HOUR);
    expect(registrations()).toBe(3);
    service.answer = mailgun(answerJson(200, {}));
    await handle.signal('recheck');
    await worker.env.sleep(2 * MINUTE);
    expect(await stateOf(handle)).toMatchObject({
      status: 'verified',
      registration: 'done',
      providerError: null,
    });
    expect(await providerErrorOf(id)).toBeNull();
    await remove();
  }, 120_000);

  it('asks a provider that is down again at every check, and a domain does not fail meanwhile', async () => {
    service.answer = mailgun(answerJson(503, { message: 'down' }));
    const { handle, remove } = await watch('down.example');
    await worker.env.sleep(3 * HOUR);
    expect(await stateOf(handle)).toMatchObject({ status: 'pending', registration: 'waiting' });
    // Five times at each of some 14 checks, and never more.
    expect(registrations()).toBeGreaterThan(40);
    expect(registrations()).toBeLessThan(100);
    service.answer = mailgun(answerJson(200, {}));
    await worker.env.sleep(2 * HOUR);
    expect(await stateOf(handle)).toMatchObject({ status: 'verified', registration: 'done' });
    await remove();
  }, 120_000);

  it('removes the registration with the domain, although the provider is down at first', async () => {
    service.answer = mailgun(answerJson(200, {}));
    const { remove } = await watch('gone.example');
    await worker.env.sleep(2 * MINUTE);
    const works = service.answer;
    let refusals = 3;
    service.answer = (request, response) =>
      refusals-- > 0 ? answerJson(500, {})(request, response) : works(request, response);
    await remove();
    const removals = service.requests.filter(({ method }) => method === 'DELETE');
    expect(removals.map(({ url }) => url)).toEqual(Array(4).fill('/v3/domains/gone.example'));
    const { rows } = await test.database.pool.query('select 1 from provider_registrations where created');
    expect(rows).toEqual([]);
  }, 120_000);
});
