// The domain workflow verifies and loses domains on schedule, and one claim at a time owns a name.
import { expect, it } from '@jest/globals';
import type { WorkflowHandle } from '@temporalio/client';
import type { TestWorkflowEnvironment } from '@temporalio/testing';
import { watchStart } from '../../../src/features/domains/workflow.ts';
import type { DomainActivities, DomainWatchState } from '../../../workflows/domains/contract.ts';
import { createTestTenant, type TestTenant } from '../../support/api.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database.ts';
import { startDnsServer, type TestDnsServer } from '../../support/dns/server.ts';
import { type DomainWorker, startDomainWorker } from '../../support/domain-worker.ts';
import { insertPendingDomain, rightRecords } from '../../support/domains.ts';
import { eventually } from '../../support/eventually.ts';
import { testsThatNeed } from '../../support/tests-that-need.ts';
import { addWebhook } from '../../support/webhooks.ts';

const { afterAll, afterEach, beforeAll, beforeEach, describe } = testsThatNeed('time-skipping server');

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

let env: TestWorkflowEnvironment;
let test: TestDatabase;
let dns: TestDnsServer;
let tenants: [TestTenant, TestTenant];
let worker: DomainWorker;
/** The times of all checks that were due, by domain. */
let checks: Map<number, number[]>;

/** Records when checks are made. */
function observed(activities: DomainActivities): DomainActivities {
  return {
    ...activities,
    checkDomain(id, asOf, force) {
      checks.set(id, [...(checks.get(id) ?? []), Date.parse(asOf)]);
      return activities.checkDomain(id, asOf, force);
    },
  };
}

beforeAll(async () => {
  [test, dns] = await Promise.all([createTestDatabase(), startDnsServer()]);
  worker = await startDomainWorker(test, dns, observed);
  env = worker.env;
  tenants = [await createTestTenant(test.database, 'One'), await createTestTenant(test.database, 'Two')];
  for (const [index, tenant] of tenants.entries()) {
    await addWebhook(test.database, tenant, `https://${index}.example/`, [
      'domain.verified',
      'domain.verification_lost',
      'domain.dns_degraded',
    ]);
  }
}, 120_000);
afterAll(async () => {
  await worker.stop();
  dns.close();
  await test.drop();
});
/** The workflows end at their next check: terminating one while an activity runs would stop the engine's clock. */
afterEach(async () => {
  await test.database.pool.query('delete from domains');
  for (const { workflowId } of watched.splice(0)) await env.client.workflow.getHandle(workflowId).result();
}, 60_000);
beforeEach(async () => {
  checks = new Map();
  dns.zone = {};
  await test.database.pool.query('delete from events');
});

interface Watched {
  id: number;
  name: string;
  startedAt: number;
  handle: WorkflowHandle;
}

let names = 0;

const watched: WorkflowHandle[] = [];

async function watch(tenant = tenants[0], name = `acme-${++names}.example`): Promise<Watched> {
  const startedAt = await env.currentTimeMs();
  const id = await insertPendingDomain(test.database, tenant, name, new Date(startedAt));
  const start = watchStart({ id, accountId: tenant.accountId, brandId: tenant.brandId });
  const handle = await env.client.workflow.start(start.workflowType, {
    workflowId: start.workflowId,
    taskQueue: 'orchestration',
    args: start.input ?? [],
  });
  watched.push(handle);
  return { id, name, startedAt, handle };
}

const publishRight = ({ id, name }: Watched) => Object.assign(dns.zone, rightRecords(id, name));
const unpublish = ({ id, name }: Watched) => {
  for (const key of Object.keys(rightRecords(id, name))) delete dns.zone[key];
};
const silence = ({ id, name }: Watched, how: 'servfail' | 'silent' | 'refused') => {
  for (const key of Object.keys(rightRecords(id, name))) dns.zone[key] = how;
};

const rowOf = async (id: number) =>
  (
    await test.database.pool.query<{
      status: string;
      checks: Record<string, { valid: string; found?: string }>;
    }>('select status, checks from domains where id = $1', [id])
  ).rows[0];

const statusOf = async ({ id }: Watched) => (await rowOf(id))?.status;

/** The events so far, in order, as `domain.verified`. */
const events = async (tenant = tenants[0]) =>
  (
    await test.database.pool.query<{ type: string }>(
      'select type from events where brand_id = $1 order by occurred_at, type',
      [tenant.brandId],
    )
  ).rows.map(({ type }) => type);

describe('the watch of a domain', () => {
  it('follows the schedule of a pending domain until its records are right', async () => {
    const domain = await watch();
    await env.sleep(3 * HOUR + 30 * MINUTE);
    const minutes = (checks.get(domain.id) ?? []).map((at) => Math.round((at - domain.startedAt) / MINUTE));
    // The first check is at the start, when nothing is due.
    expect(minutes).toEqual([0, 1, 2, 5, 10, 15, 30, 45, 60, 75, 90, 105, 120, 180]);
    expect([await statusOf(domain), await events()]).toEqual(['pending', []]);
    publishRight(domain);
    await env.sleep(1 * HOUR);
    expect([await statusOf(domain), await events()]).toEqual(['verified', ['domain.verified']]);
  }, 120_000);

  it('loses a domain whose records stay wrong, and verifies it again', async () => {
    const domain = await watch();
    publishRight(domain);
    await env.sleep(5 * MINUTE);
    // Wrong for a while: nothing happens.
    dns.zone[`crl-bounces.${domain.name}`] = {
      TXT: ['v=spf1 -all'],
      MX: [{ exchange: 'mail.test', preference: 1 }],
    };
    await env.sleep(6 * HOUR + 10 * MINUTE);
    expect((await rowOf(domain.id))?.checks.return_path_spf).toEqual({
      valid: 'false',
      found: 'v=spf1 -all',
    });
    publishRight(domain);
    await env.sleep(2 * HOUR);
    expect([await statusOf(domain), await events()]).toEqual(['verified', ['domain.verified']]);
    // Gone for good.
    unpublish(domain);
    await env.sleep(8 * HOUR);
    expect(await statusOf(domain)).toBe('failed');
    expect(await events()).toEqual(['domain.verified', 'domain.verification_lost']);
    const before = checks.get(domain.id)?.length ?? 0;
    await env.sleep(5 * HOUR);
    expect((checks.get(domain.id)?.length ?? 0) - before).toBe(5);
    publishRight(domain);
    await env.sleep(1 * HOUR);
    expect(await statusOf(domain)).toBe('verified');
    expect(await events()).toEqual(['domain.verified', 'domain.verification_lost', 'domain.verified']);
  }, 120_000);

  it('reports once per period that name servers do not answer', async () => {
    const domain = await watch();
    publishRight(domain);
    await env.sleep(5 * MINUTE);
    silence(domain, 'silent');
    await env.sleep(6 * HOUR);
    const degraded = ['domain.verified', 'domain.dns_degraded'];
    expect([await statusOf(domain), await events()]).toEqual(['verified', degraded]);
    silence(domain, 'servfail');
    await env.sleep(3 * HOUR);
    expect([await statusOf(domain), await events()]).toEqual(['verified', degraded]);
    publishRight(domain);
    await env.sleep(HOUR);
    silence(domain, 'refused');
    await env.sleep(8 * HOUR);
    expect([await statusOf(domain), await events()]).toEqual([
      'verified',
      [...degraded, 'domain.dns_degraded'],
    ]);
  }, 120_000);

  it('stays verified for seven days without an answer, and is then lost', async () => {
    const domain = await watch();
    publishRight(domain);
    await env.sleep(5 * MINUTE);
    silence(domain, 'servfail');
    // The first check without an answer is the one after six hours.
    await env.sleep(6 * HOUR + 10 * MINUTE);
    const degraded = ['domain.verified', 'domain.dns_degraded'];
    expect([await statusOf(domain), await events()]).toEqual(['verified', degraded]);
    await env.sleep(7 * DAY - HOUR);
    expect([await statusOf(domain), await events()]).toEqual(['verified', degraded]);
    await env.sleep(HOUR);
    const lost = [...degraded, 'domain.verification_lost'];
    expect([await statusOf(domain), await events()]).toEqual(['failed', lost]);
    publishRight(domain);
    await env.sleep(HOUR + MINUTE);
    expect([await statusOf(domain), await events()]).toEqual(['verified', [...lost, 'domain.verified']]);
  }, 300_000);

  it('fails after 72 hours in which its records were not right, and verifies later', async () => {
    const domain = await watch();
    await env.sleep(71 * HOUR + 59 * MINUTE);
    expect([await statusOf(domain), await events()]).toEqual(['pending', []]);
    await env.sleep(2 * MINUTE);
    expect([await statusOf(domain), await events()]).toEqual(['failed', []]);
    const before = checks.get(domain.id)?.length ?? 0;
    await env.sleep(2 * DAY);
    expect((checks.get(domain.id)?.length ?? 0) - before).toBe(2);
    publishRight(domain);
    await env.sleep(DAY);
    expect([await statusOf(domain), await events()]).toEqual(['verified', ['domain.verified']]);
  }, 300_000);

  it('finds keys in several strings and behind CNAME records', async () => {
    const domain = await watch();
    publishRight(domain);
    const key = `crl-${domain.id}-rsa._domainkey.${domain.name}`;
    const text = `v=DKIM1; k=rsa; p=rsa${domain.id}`;
    dns.zone['keys.host.test'] = { TXT: [[text.slice(0, 20), text.slice(20)]] };
    dns.zone['alias.host.test'] = { CNAME: 'keys.host.test' };
    dns.zone[key] = { CNAME: 'alias.host.test' };
    await env.sleep(2 * MINUTE);
    expect(await statusOf(domain)).toBe('verified');
  }, 120_000);

  it('checks at once on an operator’s signal, and shows the result', async () => {
    const domain = await watch();
    await env.sleep(2 * HOUR + 10 * MINUTE);
    publishRight(domain);
    delete dns.zone[`crl-bounces.${domain.name}`];
    await domain.handle.signal('recheck');
    await eventually(async () => {
      const state = await domain.handle.query<DomainWatchState>('state');
      expect(state).toMatchObject({
        phase: 'sleeping',
        status: 'pending',
        problems: ['return_path_mx: false', 'return_path_spf: false'],
      });
    });
    publishRight(domain);
    await domain.handle.signal('recheck');
    await eventually(async () => expect(await statusOf(domain)).toBe('verified'));
  }, 120_000);

  it('continues as a new run after a week', async () => {
    const domain = await watch();
    // Checked once a day.
    await test.database.pool.query(
      `update domains set status = 'failed', next_check_at = next_check_at + interval '1 day' where id = $1`,
      [domain.id],
    );
    await domain.handle.signal('wake');
    const first = (await domain.handle.describe()).runId;
    await env.sleep(9 * 24 * HOUR);
    const described = await env.client.workflow.getHandle(domain.handle.workflowId).describe();
    expect([described.status.name, described.runId === first]).toEqual(['RUNNING', false]);
    publishRight(domain);
    await env.sleep(25 * HOUR);
    expect([await statusOf(domain), await events()]).toEqual(['verified', ['domain.verified']]);
  }, 120_000);

  it('ends when the domain is deleted', async () => {
    const domain = await watch();
    // Far from a check: the test server loses a workflow whose timer fires while one of its tasks cancels that timer.
    await env.sleep(90_000);
    await test.database.pool.query('delete from domains where id = $1', [domain.id]);
    await domain.handle.signal('wake');
    await domain.handle.result();
  }, 120_000);
});

describe('a name that several accounts claim', () => {
  it('belongs to the claim whose key was proved last, and does not alternate', async () => {
    const one = await watch(tenants[0], 'shared.example');
    publishRight(one);
    await env.sleep(2 * MINUTE);
    expect([await statusOf(one), await events()]).toEqual(['verified', ['domain.verified']]);
    const two = await watch(tenants[1], 'shared.example');
    await env.sleep(30 * MINUTE);
    expect([await statusOf(one), await statusOf(two)]).toEqual(['verified', 'pending']);
    // Both keys are in the DNS from now on.
    publishRight(two);
    await env.sleep(30 * MINUTE);
    expect([await statusOf(one), await statusOf(two)]).toEqual(['failed', 'verified']);
    await env.sleep(4 * HOUR);
    expect([await statusOf(one), await statusOf(two)]).toEqual(['failed', 'verified']);
    expect(await events()).toEqual(['domain.verified', 'domain.verification_lost']);
    expect(await events(tenants[1])).toEqual(['domain.verified']);
    // The first key disappears from the DNS and comes back, which is a new proof.
    delete dns.zone[`crl-${one.id}-rsa._domainkey.shared.example`];
    await env.sleep(2 * HOUR);
    publishRight(one);
    await env.sleep(2 * HOUR);
    expect([await statusOf(one), await statusOf(two)]).toEqual(['verified', 'failed']);
    expect(await events(tenants[1])).toEqual(['domain.verified', 'domain.verification_lost']);
  }, 120_000);

  it('returns to the former owner if the other loses it', async () => {
    const one = await watch(tenants[0], 'returned.example');
    const two = await watch(tenants[1], 'returned.example');
    publishRight(one);
    await env.sleep(2 * MINUTE);
    publishRight(two);
    await env.sleep(1 * HOUR);
    expect([await statusOf(one), await statusOf(two)]).toEqual(['failed', 'verified']);
    delete dns.zone[`crl-${two.id}-rsa._domainkey.returned.example`];
    await env.sleep(9 * HOUR);
    expect([await statusOf(one), await statusOf(two)]).toEqual(['verified', 'failed']);
  }, 120_000);
});
