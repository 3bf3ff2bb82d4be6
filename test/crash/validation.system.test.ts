// A validation gives each address one result and charges once, even if the worker and the database are killed.
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Operation } from '../../src/features/validation/schema.ts';
import { fractionOf } from '../support/crash/send-and-kill.ts';
import { scale } from '../support/crash/scale.ts';
import { type CrashStage, openCrashStage } from '../support/crash/stage.ts';
import { startDnsServer, type TestDnsServer } from '../support/dns/server.ts';
import { eventually } from '../support/eventually.ts';
import { giveFunds } from '../support/validation.ts';

const { candidates, kills } = scale.validation;
const PRICE = 250;
const SEED = 11;
/** Each domain has so many addresses. */
const PER_DOMAIN = 20;

let stage: CrashStage;
let dns: TestDnsServer;
beforeAll(async () => {
  dns = await startDnsServer({ 'mx.example.net': { A: ['93.184.216.1'] } });
  stage = await openCrashStage({ settings: { DNS_SERVERS: dns.address } });
}, 180_000);
afterAll(async () => {
  await stage.close();
  dns.close();
}, 60_000);

async function request<T>(method: string, path: string, body?: object): Promise<T> {
  const response = await fetch(`http://127.0.0.1:${stage.apiPort}/v1/my${path}`, {
    method,
    headers: {
      authorization: `Bearer ${stage.apiKey}`,
      ...(body ? { 'content-type': 'application/json' } : {}),
    },
    ...(body ? { body: JSON.stringify(body) } : {}),
  });
  if (!response.ok) throw new Error(`${response.status}: ${await response.text()}`);
  return (await response.json()) as T;
}

const query = async <Row extends object>(text: string, values: unknown[] = []) =>
  (await stage.database.pool.query<Row>(text, values)).rows;

/** Of every three domains, one does not exist, one takes no mail, and one has a mail server. */
async function addContacts(): Promise<void> {
  for (let n = 0; n < candidates / PER_DOMAIN; n += 1) {
    const name = `company${n}.example.net`;
    if (n % 3 === 1) dns.zone[name] = { MX: [{ exchange: '.', preference: 0 }] };
    if (n % 3 === 2) dns.zone[name] = { MX: [{ exchange: 'mx.example.net', preference: 10 }] };
  }
  await query(
    `insert into contacts (account_id, brand_id, email, email_key, email_created_at, email_updated_at)
     select b.account_id, b.id, a, a, now(), now() from brands b, generate_series(0, $2 - 1) n,
       lateral (select 'person' || n || '@company' || n / $3 || '.example.net' as a) e
     where b.account_id = $1`,
    [stage.accountId, candidates, PER_DOMAIN],
  );
}

describe('a validation during crashes', () => {
  it('gives each candidate one result and charges once, whenever the worker and the database are killed', async () => {
    await addContacts();
    await giveFunds(stage.database.pool, stage.accountId, { price: PRICE, millicents: candidates * PRICE });
    const filters = [{ name: 'email', predicate: 'present' }];
    const { id: segment } = await request<{ id: number }>('POST', '/segments', { name: 'all', filters });
    const { id } = await request<Operation>('POST', '/validation_operations', { segment_id: segment });
    const read = () => request<Operation>('GET', `/validation_operations/${id}`);
    let killed = 0;
    for (; killed < kills; killed += 1) {
      await delay(300 + fractionOf(SEED, `moment-${killed}`) * 1_500);
      const { finished_at: finishedAt } = await eventually(read, 60_000);
      if (finishedAt !== null) break;
      const victim = fractionOf(SEED, `victim-${killed}`) < 0.6 ? stage.worker : stage.postgres;
      await victim.kill();
      await victim.start();
    }
    expect(killed).toBeGreaterThan(0);
    const done = await eventually(
      async () => {
        const found = await read();
        expect(found.finished_at).not.toBeNull();
        return found;
      },
      400_000,
      100,
    );
    const domains = Math.floor(candidates / PER_DOMAIN);
    const known = Math.floor(domains / 3) * PER_DOMAIN;
    const charged = candidates - known;
    expect(done).toMatchObject({
      ...{ status: 'completed', candidate_count: candidates, remaining_count: 0 },
      counts: { deliverable: 0, undeliverable: charged, risky: 0, unknown: known },
      charged_cents: (charged * PRICE) / 1_000,
    });
    expect(
      await query(
        `select count(*) as items, count(distinct contact_id) as contacts, count(*) filter (where charged) as charged
         from validation_items where operation_id = $1`,
        [id],
      ),
    ).toEqual([{ items: candidates, contacts: candidates, charged }]);
    const entries = await query(`select cause, millicents from wallet_entries where kind = 'validation'`);
    expect(entries).toEqual([{ cause: `validation/${id}`, millicents: -charged * PRICE }]);
    expect(await query('select sum(reserved_millicents)::bigint as open from validation_operations')).toEqual(
      [{ open: 0 }],
    );
  }, 600_000);
});
