// The API quotes, starts, resumes, cancels and lists validations, and never reserves more than the funds allow.
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import pino from 'pino';
import {
  audienceBody,
  type Item,
  type Operation,
  type Quote,
} from '../../../src/features/validation/schema.ts';
import { endOperation } from '../../../src/features/validation/settle.ts';
import { collectPage } from '../../../src/features/validation/snapshot.ts';
import { inTransaction } from '../../../src/platform/db/queryable.ts';
import { idempotencyKeys } from '../../../src/platform/housekeeping/tasks.ts';
import { upkeep } from '../../../src/features/upkeep.ts';
import { startTestApi, type TestApi } from '../../support/api.ts';
import { insertContacts } from '../../support/contacts.ts';
import { startDnsServer, type TestDnsServer } from '../../support/dns/server.ts';
import { countWaiting } from '../../support/waiting.ts';
import {
  emptyWallets,
  giveFunds,
  itemsOf,
  PATH,
  runToEnd,
  startValidation,
  validationDeps,
} from '../../support/validation.ts';
const PRICE = 400;
const DAY_MS = 86_400_000;

let api: TestApi;
let dns: TestDnsServer;
beforeAll(async () => {
  dns = await startDnsServer({ 'mx.test': { A: ['8.8.8.8'] } });
  api = await startTestApi({ env: { DNS_SERVERS: dns.address } });
});
afterAll(async () => {
  await api.close();
  dns.close();
});
beforeEach(async () => {
  await query('truncate validation_operations, contacts, lists, segments, outbox cascade');
  await query(`update accounts set capabilities = '{}', spend_cap_monthly_cents = null, comped = false`);
  await emptyWallets(api.database.pool);
});

const query = (text: string, values: unknown[] = []) => api.database.pool.query(text, values);
const pool = () => api.database.pool;

/** Contacts whose domain does not exist. Each costs the price. */
const contacts = (count: number) => insertContacts(pool(), api, count);
const funds = (millicents: number) => giveFunds(pool(), api.accountId, { price: PRICE, millicents });

async function balance(): Promise<number> {
  const { body } = await api.request<Quote>('POST', `${PATH}/quote`, { body: { contact_ids: [] } });
  return body.wallet_balance_cents;
}

const quote = (body: object) => api.request<Quote>('POST', `${PATH}/quote`, { body });
const fieldsOf = (response: { body: unknown }) =>
  Object.keys((response.body as { validation_errors?: object }).validation_errors ?? {});

describe('an audience', () => {
  it.each([
    ['none', {}, 'body'],
    ['two', { list_id: 1, segment_id: 1 }, 'body'],
    ['ids that are no integers', { contact_ids: [1, 'x'] }, 'contact_ids.1'],
    ['too many ids', { contact_ids: Array.from({ length: 10_001 }, (_, n) => n + 1) }, 'contact_ids'],
    ['ids that are no array', { contact_channel_ids: 7 }, 'contact_channel_ids'],
    ['an unknown list', { list_id: 999_999 }, 'list_id'],
    ['an unknown segment', { segment_id: 999_999 }, 'segment_id'],
    ['unknown contacts', { contact_ids: [999_999] }, 'contact_ids'],
    ['an unknown field', { contacts: [1] }, 'contacts'],
  ])('is refused with %s', async (_, body, field) => {
    for (const path of [PATH, `${PATH}/quote`]) {
      const response = await api.request('POST', path, { body });
      expect([response.status, fieldsOf(response)[0]]).toEqual([422, field]);
    }
  });

  it('is refused with phone channels and other brands’ ids, which the error lists', async () => {
    const [own = 0] = await contacts(1);
    const [foreign = 0] = await insertContacts(pool(), api.other, 1);
    const ids = [own * 2, own * 2 + 1, foreign * 2];
    const { status, body } = await api.request('POST', PATH, { body: { contact_channel_ids: ids } });
    expect(status).toBe(422);
    expect(body).toMatchObject({
      validation_errors: {
        contact_channel_ids: [
          `contains ids that are not email channels of the brand: ${own * 2 + 1}, ${foreign * 2}`,
        ],
      },
    });
  });

  it('is parsed with 10,000 ids without holding up other requests', async () => {
    const ids = Array.from({ length: 10_000 }, (_, n) => n + 900_000_000_000);
    const wrong = ids.map((id) => `${id}`);
    const many = Array.from({ length: 100_000 }, () => 'x');
    const times = [ids, wrong, many].map((contact_ids) => {
      const began = process.cpuUsage().user;
      audienceBody.safeParse({ contact_ids });
      return (process.cpuUsage().user - began) / 1_000;
    });
    expect(Math.max(...times)).toBeLessThan(50);
  });

  it('can be quoted without contacts, but not started', async () => {
    expect(await quote({ contact_ids: [] })).toMatchObject({ status: 200, body: { candidate_count: 0 } });
    expect((await startValidation(api, { contact_ids: [] })).status).toBe(422);
  });
});

describe('POST /validation_operations/quote', () => {
  it('counts candidates and reusable results, and reserves nothing', async () => {
    await funds(5_999);
    const ids = await contacts(10);
    await query(`update contacts set email = null, email_key = null where id = $1`, [ids[0]]);
    await query(
      `insert into contact_verdicts (contact_id, brand_id, email_key, verdict, reusable, checked_at)
       select id, brand_id, email_key, 'undeliverable', true, now() - case id when $1 then interval '31 days' else interval '29 days' end
       from contacts where id = any($2)`,
      [ids[1], ids.slice(1, 4)],
    );
    const { status, body } = await quote({ contact_ids: [...ids, ...ids] });
    expect([status, body]).toEqual([
      200,
      {
        candidate_count: 9,
        reusable_count: 2,
        unit_price_cents: 0.4,
        maximum_charge_cents: 2.8,
        wallet_balance_cents: 5,
        funding_state: 'funded',
      },
    ]);
    expect((await query('select 1 from validation_operations')).rowCount).toBe(0);
  });

  it('says that funds or the spend cap are too low', async () => {
    const ids = await contacts(10);
    await funds(3_999);
    expect((await quote({ contact_ids: ids })).body.funding_state).toBe('insufficient_funds');
    await query('update accounts set spend_cap_monthly_cents = 3 where id = $1', [api.accountId]);
    expect((await quote({ contact_ids: ids })).body.funding_state).toBe('spend_cap_reached');
  });

  it('costs nothing for a comped account', async () => {
    await funds(0);
    await query('update accounts set comped = true where id = $1', [api.accountId]);
    const { body } = await quote({ contact_ids: await contacts(1) });
    expect(body).toMatchObject({ unit_price_cents: 0, maximum_charge_cents: 0, funding_state: 'funded' });
  });

  it('quotes a list and a segment', async () => {
    const ids = await contacts(4);
    await query(`insert into lists (id, account_id, brand_id, name) values (7, $1, $2, 'l')`, [
      api.accountId,
      api.brandId,
    ]);
    await query('insert into list_members (list_id, contact_id) select 7, unnest($1::bigint[])', [
      ids.slice(1),
    ]);
    const filters = [{ name: 'list', predicate: 'not_eq', value: 7 }];
    const segment = await api.request('POST', '/v1/my/segments', { body: { name: 's', filters } });
    expect((await quote({ list_id: 7 })).body.candidate_count).toBe(3);
    expect((await quote({ segment_id: segment.body.id })).body.candidate_count).toBe(1);
  });
});

describe('POST /validation_operations', () => {
  it('needs a key, and the capability', async () => {
    const ids = await contacts(1);
    const body = { contact_ids: ids };
    expect((await startValidation(api, body, { token: null })).status).toBe(401);
    await query(`update accounts set capabilities = '{"validation": false}'`);
    expect((await startValidation(api, body)).status).toBe(403);
    expect((await quote(body)).status).toBe(403);
  });

  it('reserves the maximum, and waits for its workflow', async () => {
    await funds(10_000);
    const ids = await contacts(3);
    const { status, body } = await startValidation(api, { contact_ids: [...ids].reverse() });
    expect([status, body]).toEqual([
      201,
      {
        id: body.id,
        status: 'pending',
        audience: { kind: 'contact_ids', ids, ids_count: 3 },
        candidate_count: 3,
        remaining_count: 3,
        counts: { deliverable: 0, undeliverable: 0, risky: 0, unknown: 0 },
        unit_price_cents: 0.4,
        maximum_charge_cents: 1.2,
        charged_cents: 0,
        funding_state: 'funded',
        created_at: expect.any(String),
        finished_at: null,
      },
    ]);
    expect(await balance()).toBe(8);
    const { rows } = await query('select kind, workflow_id, workflow_type from outbox');
    const workflow = { workflow_id: `validation/${body.id}`, workflow_type: 'runValidation' };
    expect(rows).toEqual([{ kind: 'start', ...workflow }]);
    expect((await api.request('GET', PATH)).list).toEqual([body]);
    expect((await api.request('GET', `${PATH}?status=running`)).list).toEqual([]);
  });

  it('refuses a charge beyond the wallet or the spend cap, and writes nothing', async () => {
    const ids = await contacts(3);
    await funds(1_199);
    const refused = await startValidation(api, { contact_ids: ids });
    expect([refused.status, refused.body]).toEqual([
      422,
      expect.objectContaining({ code: 'insufficient_funds' }),
    ]);
    await query('update accounts set spend_cap_monthly_cents = 1 where id = $1', [api.accountId]);
    expect((await startValidation(api, { contact_ids: ids })).body).toMatchObject({
      code: 'spend_cap_reached',
    });
    expect((await query('select 1 from validation_operations')).rowCount).toBe(0);
    expect((await query('select 1 from outbox')).rowCount).toBe(0);
  });

  it('never reserves more than the wallet has, however many start at once', async () => {
    const ids = await contacts(8);
    await funds(PRICE * 3);
    const all = await Promise.all(ids.map((id) => startValidation(api, { contact_ids: [id] })));
    expect(all.filter(({ status }) => status === 201)).toHaveLength(3);
    expect(all.filter(({ status }) => status === 422)).toHaveLength(5);
    expect(await balance()).toBe(0);
  });

  it('never passes the spend cap, however many start at once', async () => {
    const ids = await contacts(8);
    await funds(PRICE * 100);
    await query('update accounts set spend_cap_monthly_cents = 2 where id = $1', [api.accountId]);
    const all = await Promise.all(ids.map((id) => startValidation(api, { contact_ids: [id] })));
    expect(all.filter(({ status }) => status === 201)).toHaveLength(5);
  });

  it('refuses an eleventh operation that has not ended', async () => {
    const ids = await contacts(11);
    const statuses: number[] = [];
    for (const id of ids) statuses.push((await startValidation(api, { contact_ids: [id] })).status);
    expect(statuses).toEqual([...Array<number>(10).fill(201), 409]);
  });

  it('does not wait while another start of the account counts its audience', async () => {
    const ids = await contacts(2);
    await query(`insert into lists (id, account_id, brand_id, name) values (7, $1, $2, 'l')`, [
      api.accountId,
      api.brandId,
    ]);
    await query('insert into list_members (list_id, contact_id) values (7, $1)', [ids[0]]);
    const blocker = await pool().connect();
    await blocker.query('begin; lock table list_members in access exclusive mode');
    let counted = false;
    const counting = startValidation(api, { list_id: 7 }).finally(() => (counted = true));
    try {
      while ((await countWaiting(api.database.pool)) === 0) await delay(10);
      expect((await startValidation(api, { contact_ids: ids })).status).toBe(201);
      expect(counted).toBe(false);
    } finally {
      await blocker.query('rollback');
      blocker.release();
    }
    expect((await counting).status).toBe(201);
  });
});

describe('the Idempotency-Key of a start', () => {
  it('does not resume an operation whose items are being removed', async () => {
    const ids = await contacts(2);
    const { body } = await startValidation(api, { contact_ids: ids }, { key: 'march' });
    await query(
      `update validation_operations set status = 'failed', finished_at = now() - interval '91 days',
         deliverable_count = 0, undeliverable_count = 0, risky_count = 0, unknown_count = 0, reserved_millicents = 0
       where id = $1`,
      [body.id],
    );
    const again = await startValidation(api, { contact_ids: ids }, { key: 'march' });
    expect([again.status, again.body.status]).toEqual([201, 'failed']);
  });

  it('starts one operation, however many requests arrive at once', async () => {
    await funds(10_000);
    const ids = await contacts(2);
    const all = await Promise.all(
      Array.from({ length: 8 }, () => startValidation(api, { contact_ids: ids }, { key: 'march' })),
    );
    expect(new Set(all.map(({ status }) => status))).toEqual(new Set([201]));
    expect(new Set(all.map(({ body }) => body.id)).size).toBe(1);
    const replays = all.filter(({ headers }) => headers.get('Idempotent-Replayed') === 'true');
    expect(replays).toHaveLength(7);
    expect((await query('select 1 from validation_operations')).rowCount).toBe(1);
    expect(await balance()).toBe(9);
  });

  it('returns the operation after eight days, and is a 409 for another audience', async () => {
    const ids = await contacts(2);
    const first = await startValidation(api, { contact_ids: ids }, { key: 'march' });
    await runToEnd(validationDeps(api, dns), first.body.id);
    const later = new Date(Date.now() + 8 * DAY_MS);
    const deps = { config: api.config, database: api.database, log: pino({ level: 'silent' }), ...upkeep };
    await idempotencyKeys.run(deps, later, () => undefined);
    for (const task of upkeep.tasks.filter(({ name }) => name === 'validation_items')) {
      await task.run(deps, later, () => undefined);
    }
    // The contacts may be deleted by then.
    await query('delete from contacts');
    const again = await startValidation(api, { contact_ids: [...ids].reverse() }, { key: 'march' });
    expect([again.status, again.headers.get('Idempotent-Replayed')]).toEqual([201, 'true']);
    expect(again.body).toMatchObject({ id: first.body.id, status: 'completed', remaining_count: 0 });
    const other = await startValidation(api, { contact_ids: [1] }, { key: 'march' });
    expect([other.status, other.body]).toEqual([
      409,
      expect.objectContaining({ code: 'idempotency_conflict' }),
    ]);
    const channels = ids.map((id) => id * 2);
    expect((await startValidation(api, { contact_channel_ids: channels }, { key: 'march' })).status).toBe(
      409,
    );
    expect(await itemsOf(api, first.body.id)).toHaveLength(2);
  });

  it('is a separate one with a test key', async () => {
    const ids = await contacts(1);
    const live = await startValidation(api, { contact_ids: ids }, { key: 'march' });
    const test = await startValidation(api, { contact_ids: ids }, { key: 'march', token: api.testApiKey });
    expect([live.status, test.status]).toEqual([201, 201]);
    expect(test.body.id).not.toBe(live.body.id);
  });

  it('resumes an operation that failed, after reserving for the rest at the same price', async () => {
    await funds(PRICE * 3);
    const ids = await contacts(3);
    const deps = validationDeps(api, dns);
    const { body } = await startValidation(api, { contact_ids: ids }, { key: 'march' });
    await query(`update validation_operations set status = 'running' where id = $1`, [body.id]);
    await collectPage(pool(), body.id, 1);
    await query(
      `update validation_items set verdict = 'undeliverable', reason = 'no_domain', charged = true, checked_at = now()
       where contact_id = $1`,
      [ids[0]],
    );
    await inTransaction(pool(), (trx) => endOperation(trx, body.id, 'failed'));
    const failed = (await api.request<Operation>('GET', `${PATH}/${body.id}`)).body;
    expect(failed).toMatchObject({ status: 'failed', charged_cents: 0.4, remaining_count: 2 });

    await query('update prices set millicents = 900');
    await giveFunds(pool(), api.accountId, { price: 900, millicents: -1, cause: 'spent' });
    await query(`update accounts set spend_cap_monthly_cents = 1 where id = $1`, [api.accountId]);
    const refused = await startValidation(api, { contact_ids: ids }, { key: 'march' });
    expect([refused.status, refused.body]).toEqual([
      422,
      expect.objectContaining({ code: 'spend_cap_reached' }),
    ]);
    await query(`update accounts set spend_cap_monthly_cents = null where id = $1`, [api.accountId]);

    const resumed = await startValidation(api, { contact_ids: ids }, { key: 'march' });
    expect([resumed.status, resumed.headers.get('Idempotent-Replayed')]).toEqual([201, 'true']);
    expect(resumed.body).toMatchObject({ id: body.id, status: 'pending', unit_price_cents: 0.4 });
    expect(await balance()).toBe(0);
    await runToEnd(deps, body.id);
    const done = (await api.request<Operation>('GET', `${PATH}/${body.id}`)).body;
    expect(done).toMatchObject({ status: 'completed', charged_cents: 1.2, remaining_count: 0 });
    const { rows } = await query(
      `select cause, millicents from wallet_entries where kind = 'validation' order by id`,
    );
    expect(rows).toEqual([
      { cause: `validation/${body.id}`, millicents: -400 },
      { cause: `validation/${body.id}/2`, millicents: -800 },
    ]);
  });
});

describe('a start without a key', () => {
  it('is a 409 while a validation of the same audience has not ended', async () => {
    const ids = await contacts(2);
    const { body } = await startValidation(api, { contact_ids: ids });
    expect((await startValidation(api, { contact_ids: [...ids, ...ids] })).status).toBe(409);
    expect((await startValidation(api, { contact_ids: ids.slice(1) })).status).toBe(201);
    await api.request('POST', `${PATH}/${body.id}/cancel`);
    expect((await startValidation(api, { contact_ids: ids })).status).toBe(201);
  });
});

describe('POST /validation_operations/{id}/cancel', () => {
  it('releases the reservation, and is a 422 once the operation has ended', async () => {
    await funds(10_000);
    const { body } = await startValidation(api, { contact_ids: await contacts(3) });
    const canceled = await api.request<Operation>('POST', `${PATH}/${body.id}/cancel`);
    expect([canceled.status, canceled.body]).toEqual([
      200,
      { ...body, status: 'canceled', finished_at: expect.any(String) },
    ]);
    expect(await balance()).toBe(10);
    const again = await api.request('POST', `${PATH}/${body.id}/cancel`);
    expect([again.status, again.body]).toEqual([
      422,
      expect.objectContaining({ code: 'invalid_transition' }),
    ]);
    expect((await query('select 1 from wallet_entries')).rowCount).toBe(1);
  });
});

describe('GET /validation_operations/{id}/items', () => {
  it('lists results, by verdict and as CSV', async () => {
    await funds(10_000);
    dns.zone['known.test'] = { MX: [{ exchange: 'mx.test', preference: 1 }] };
    const ids = await contacts(2);
    await query(`update contacts set email = 'Ada@known.test', email_key = 'ada@known.test' where id = $1`, [
      ids[1],
    ]);
    const { body } = await startValidation(api, { contact_ids: ids });
    await runToEnd(validationDeps(api, dns), body.id);
    const all = await api.request('GET', `${PATH}/${body.id}/items`);
    expect(all.headers.get('X-Total-Count')).toBe('2');
    const [newest, oldest] = all.list as unknown as Item[];
    expect(oldest).toMatchObject({
      ...{ contact_id: ids[0], contact_channel_id: (ids[0] as number) * 2, email: 'contact0@example.com' },
      ...{ verdict: 'undeliverable', reason: 'no_domain', charged: true, suggestion: null },
      checks: { syntax: true, domain: 'missing' },
    });
    expect(newest).toMatchObject({ email: 'Ada@known.test', verdict: 'unknown', charged: false });
    const unknown = await api.request('GET', `${PATH}/${body.id}/items?verdict=unknown`);
    expect(unknown.list).toEqual([newest]);
    const csv = await api.request('GET', `${PATH}/${body.id}/items?format=csv&verdict=undeliverable`);
    expect(csv.headers.get('Content-Type')).toMatch('text/csv');
    const [header, record, ...rest] = csv.text.split('\r\n');
    expect(header).toBe(
      'id,contact_id,contact_channel_id,email,verdict,reason,suggestion,charged,checked_at',
    );
    expect(record).toContain('contact0@example.com,undeliverable,no_domain,,true,');
    expect(rest).toEqual(['']);
  });
});
