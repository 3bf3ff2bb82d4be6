// A bulk list change returns a result for each item, never resubscribes, and does not deadlock.
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type pg from 'pg';
import { inTransaction } from '../../../src/platform/db/queryable.ts';
import { startTestApi, type TestApi, type TestBody } from '../../support/api.ts';
import { eventually } from '../../support/eventually.ts';
import { countUnlockedRows } from '../../support/lock-order.ts';

let api: TestApi;
beforeAll(async () => {
  api = await startTestApi();
});
afterAll(() => api.close());

let listId: number;
beforeEach(async () => {
  await pool().query('truncate lists, contacts cascade');
  await pool().query('truncate audience_counts, audience_count_changes, idempotency_keys, list_bulk_results');
  listId = Number((await api.request('POST', '/v1/my/lists', { body: { name: 'VIP' } })).body.id);
});

const pool = () => api.database.pool;

const bulk = (body: unknown, headers = {}, id = listId) =>
  api.request('POST', `/v1/my/lists/${id}/contacts/bulk`, { body, headers });

const count = async (id = listId) =>
  Number((await api.request('GET', `/v1/my/lists/${id}`)).body.contacts_count);

async function addContact(email: string, brandId = api.brandId): Promise<number> {
  const { rows } = await pool().query<{ id: number }>(
    `insert into contacts (account_id, brand_id, email, email_key, email_subscribed, email_created_at)
     values ($1, $2, $3, $3, true, now()) returning id`,
    [api.accountId, brandId, email],
  );
  return rows[0]?.id ?? 0;
}

const resultsOf = (body: TestBody) => body.results as unknown as Record<string, unknown>[];
const statuses = (body: TestBody) => resultsOf(body).map(({ status }) => status);

describe('POST /lists/{id}/contacts/bulk', () => {
  it('needs an API key', async () => {
    const path = `/v1/my/lists/${listId}/contacts/bulk`;
    expect((await api.request('POST', path, { token: null, body: {} })).status).toBe(401);
  });

  it.each([
    [{ add: 'ada@example.com' }, 'add'],
    [{ add: [true] }, 'add.0'],
    [{ remove: [0] }, 'remove.0'],
    [{ remove: [1.5] }, 'remove.0'],
    [{ add: ['x'.repeat(321)] }, 'add.0'],
    [{ adds: [] }, 'adds'],
    [{ add: Array.from({ length: 6_000 }, () => 1), remove: Array.from({ length: 4_001 }, () => 2) }, 'add'],
  ])('refuses a bad body', async (body, field) => {
    const { status, body: error } = await bulk(body);
    expect([status, Object.keys(error.validation_errors ?? {})]).toEqual([422, [field]]);
  });

  it('returns a result for each item in the order of the request', async () => {
    const [ada, bob, cleo] = [
      await addContact('ada@example.com'),
      await addContact('bob@example.com'),
      await addContact('cleo@example.com'),
    ];
    const foreign = await addContact('eve@example.com', api.other.brandId);
    await bulk({ add: [bob, cleo] });
    const { status, body } = await bulk({
      add: [
        'Zoe@Example.com',
        'ADA@example.com',
        bob,
        'nobody',
        foreign,
        999_999_999,
        'zoe@example.com',
        ada,
      ],
      remove: ['dan@example.com', cleo, 'cleo@example.com', '@', 999_999_999],
    });
    expect(status).toBe(200);
    const [first] = resultsOf(body);
    expect(first).toMatchObject({ input: 'Zoe@Example.com', status: 'created', reason: null });
    const zoe = first?.contact_id;
    expect(resultsOf(body)).toEqual([
      { input: 'Zoe@Example.com', status: 'created', contact_id: zoe, reason: null },
      { input: 'ADA@example.com', status: 'added', contact_id: ada, reason: null },
      { input: bob, status: 'already_there', contact_id: bob, reason: null },
      { input: 'nobody', status: 'invalid', contact_id: null, reason: 'is not an email address' },
      { input: foreign, status: 'not_found', contact_id: null, reason: 'is not a contact of the brand' },
      { input: 999_999_999, status: 'not_found', contact_id: null, reason: 'is not a contact of the brand' },
      { input: 'zoe@example.com', status: 'already_there', contact_id: zoe, reason: null },
      { input: ada, status: 'already_there', contact_id: ada, reason: null },
      {
        input: 'dan@example.com',
        status: 'not_found',
        contact_id: null,
        reason: 'is not a contact of the brand',
      },
      { input: cleo, status: 'removed', contact_id: cleo, reason: null },
      { input: 'cleo@example.com', status: 'not_found', contact_id: cleo, reason: 'is not in the list' },
      { input: '@', status: 'invalid', contact_id: null, reason: 'is not an email address' },
      { input: 999_999_999, status: 'not_found', contact_id: null, reason: 'is not a contact of the brand' },
    ]);
    expect(await count()).toBe(3);
  });

  it('does not subscribe a contact that has unsubscribed', async () => {
    const ada = await addContact('ada@example.com');
    await pool().query('update contacts set email_subscribed = false where id = $1', [ada]);
    await bulk({ add: ['ada@example.com'] });
    const { rows } = await pool().query('select email_subscribed from contacts where id = $1', [ada]);
    expect(rows).toEqual([{ email_subscribed: false }]);
  });

  it('changes nothing if a contact is in both arrays, by address or by id', async () => {
    const ada = await addContact('ada@example.com');
    const bodies = [
      { add: ['ada@example.com', 'new@example.com'], remove: ['ADA@example.com'] },
      { add: ['new@example.com', ada], remove: ['ada@example.com'] },
      { add: ['unknown@example.com'], remove: ['Unknown@example.com'] },
    ];
    for (const body of bodies) {
      const { status, body: error } = await bulk(body);
      expect([status, Object.keys(error.validation_errors ?? {})]).toEqual([422, ['remove']]);
    }
    expect(await count()).toBe(0);
    expect((await pool().query('select 1 from contacts')).rowCount).toBe(1);
  });

  it('is 404 for another brand’s list, and creates no contact', async () => {
    const theirs = await api.request('POST', '/v1/my/lists', {
      body: { name: 'a' },
      token: api.other.apiKey,
    });
    expect((await bulk({ add: ['ada@example.com'] }, {}, Number(theirs.body.id))).status).toBe(404);
    expect((await pool().query('select 1 from contacts')).rowCount).toBe(0);
  });

  it('returns the first results for a repeated key', async () => {
    const headers = { 'Idempotency-Key': 'once' };
    const body = { add: ['ada@example.com', 'no', 999_999_999], remove: ['bob@example.com'] };
    const first = await bulk(body, headers);
    const second = await bulk(body, headers);
    expect(statuses(first.body)).toEqual(['created', 'invalid', 'not_found', 'not_found']);
    expect([second.status, second.headers.get('idempotent-replayed')]).toEqual([200, 'true']);
    expect(second.body).toEqual(first.body);
    expect((await bulk({ add: ['bob@example.com'] }, headers)).status).toBe(409);
  });

  it('accepts 10,000 items in one request', async () => {
    await addContact('old@example.com');
    const add = Array.from({ length: 9_999 }, (_, n) => `c${n}@example.com`);
    const first = await bulk({ add, remove: ['old@example.com'] });
    expect([first.status, resultsOf(first.body).length]).toEqual([200, 10_000]);
    expect(new Set(statuses(first.body))).toEqual(new Set(['created', 'not_found']));
    expect(await count()).toBe(9_999);
    const { body } = await bulk({ remove: add });
    expect(new Set(statuses(body))).toEqual(new Set(['removed']));
    expect(await count()).toBe(0);
  });
});

describe('many bulk requests at once', () => {
  it('do not deadlock, and count exactly', async () => {
    const other = Number((await api.request('POST', '/v1/my/lists', { body: { name: 'b' } })).body.id);
    const emails = Array.from({ length: 60 }, (_, n) => `c${n}@example.com`);
    const reversed = emails.toReversed();
    const [low, high] = [emails.slice(0, 30), reversed.slice(0, 30)];
    const bodies = [
      { add: emails },
      { add: reversed },
      { add: low, remove: high },
      { add: high.toReversed(), remove: low.toReversed() },
      { remove: reversed },
      { add: reversed.slice(10, 50), remove: reversed.slice(50) },
    ];
    const asked = Array.from({ length: 48 }, (_, n) => ({
      body: bodies[n % bodies.length],
      id: n % 2 ? listId : other,
    }));
    const answers = await Promise.all(asked.map(({ body, id }) => bulk(body, {}, id)));
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]));
    for (const id of [listId, other]) {
      const { rowCount } = await pool().query('select 1 from list_members where list_id = $1', [id]);
      expect(await count(id)).toBe(rowCount);
    }
    expect((await pool().query('select 1 from contacts')).rowCount).toBe(60);
    const created = answers.flatMap(({ body }) => statuses(body).filter((status) => status === 'created'));
    expect(created.length).toBe(60);
  });

  const waitsForLock = (client: pg.PoolClient) =>
    eventually(async () => {
      const { rowCount } = await client.query(
        `select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
      );
      expect(rowCount).toBe(1);
    });

  it('add members in the order of contacts', async () => {
    const ids = await Promise.all(Array.from({ length: 12 }, (_, n) => addContact(`c${n}@example.com`)));
    const [first, ...rest] = ids.toSorted((one, other) => one - other);
    const insert = 'insert into list_members (list_id, contact_id) select $1, unnest($2::bigint[])';
    const answer = await inTransaction(pool(), async (client) => {
      await client.query(insert, [listId, [first]]);
      const waiting = bulk({ add: ids.toReversed() });
      await waitsForLock(client);
      // If the request had added one of these before it waited, this would deadlock.
      await client.query(insert, [listId, rest]);
      return { waiting };
    });
    expect(statuses((await answer.waiting).body)).toEqual(ids.map(() => 'already_there'));
  });

  it('remove members in the order of contacts', async () => {
    const ids = await Promise.all(Array.from({ length: 12 }, (_, n) => addContact(`c${n}@example.com`)));
    await bulk({ add: ids });
    const unlocked = await countUnlockedRows(pool(), {
      lock: 'select 1 from list_members where contact_id = $1 for update',
      values: [Math.min(...ids)],
      work: () => bulk({ remove: ids.toReversed() }),
      probes: ['select 1 from list_members for update'],
    });
    expect(unlocked).toEqual([12]);
  });

  it('leave out contacts that are deleted meanwhile', async () => {
    const ids = await Promise.all(Array.from({ length: 40 }, (_, n) => addContact(`c${n}@example.com`)));
    const deletions = ids.slice(0, 20).map((id) => pool().query('delete from contacts where id = $1', [id]));
    const answers = await Promise.all([
      ...Array.from({ length: 10 }, (_, n) => bulk({ add: n % 2 ? ids : ids.toReversed() })),
      ...deletions.map(async (deletion) => {
        await deletion;
        return bulk({ remove: ids.slice(30) });
      }),
    ]);
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]));
    const { rowCount } = await pool().query('select 1 from list_members where list_id = $1', [listId]);
    expect(await count()).toBe(rowCount);
    expect(rowCount).toBeLessThanOrEqual(20);
  });
});
