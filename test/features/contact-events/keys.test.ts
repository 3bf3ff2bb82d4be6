// An idempotency key creates exactly one event, also for simultaneous requests, until the event is deleted.
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startTestApi, type TestApi } from '../../support/api.ts';
import { insertContacts } from '../../support/contacts.ts';

let api: TestApi;
let contactIds: number[];
beforeAll(async () => {
  api = await startTestApi();
  contactIds = await insertContacts(api.database.pool, api, 3);
});
afterAll(() => api.close());

interface Sent {
  token?: string;
  header?: string;
}

function track(fields: object, { token, header }: Sent = {}) {
  return api.request('POST', '/v1/my/events', {
    body: { event: 'order_placed', contact_id: contactIds[0], ...fields },
    headers: header === undefined ? {} : { 'Idempotency-Key': header },
    ...(token === undefined ? {} : { token }),
  });
}

async function eventsWith(key: string): Promise<number> {
  const { rows } = await api.database.pool.query<{ count: number }>(
    'select count(*) from contact_events where idempotency_key = $1',
    [key],
  );
  return rows[0]?.count ?? 0;
}

describe('an idempotency key', () => {
  it('returns the existing event with the original status, whatever else is sent', async () => {
    const first = await track({ idempotency_key: 'twice', amount: 1 });
    expect(first.headers.get('idempotent-replayed')).toBeNull();
    const others = [
      { amount: 1 },
      { amount: 2, event: 'other', data: { a: 1 } },
      { contact_id: contactIds[1] },
      { contact_id: 999_999_999 },
      { contact_id: undefined, contact_email: 'nobody-yet@example.com' },
    ];
    for (const fields of others) {
      const again = await track({ ...fields, idempotency_key: 'twice' });
      expect([again.status, again.body]).toEqual([201, first.body]);
      expect(again.headers.get('idempotent-replayed')).toBe('true');
    }
    expect(await eventsWith('twice')).toBe(1);
    const { rowCount } = await api.database.pool.query(
      `select 1 from contacts where email_key = 'nobody-yet@example.com'`,
    );
    expect(rowCount).toBe(0);
  });

  it('is the same in the header and in the body', async () => {
    const first = await track({}, { header: 'either' });
    expect(first.body.idempotency_key).toBe('either');
    expect((await track({ idempotency_key: 'either' })).body).toEqual(first.body);
    expect((await track({ idempotency_key: 'either' }, { header: 'either' })).body).toEqual(first.body);
  });

  it('is a 422 if header and body differ', async () => {
    const { status, body } = await track({ idempotency_key: 'a' }, { header: 'b' });
    expect([status, body.validation_errors]).toEqual([
      422,
      { idempotency_key: ['differs from the header Idempotency-Key'] },
    ]);
    expect((await track({}, { header: 'k'.repeat(129) })).status).toBe(422);
  });

  it('is separate for test keys, live keys and each brand', async () => {
    const live = await track({ idempotency_key: 'shared' });
    const test = await track({ idempotency_key: 'shared' }, { token: api.testApiKey });
    const [contact_id] = await insertContacts(api.database.pool, api.other, 1);
    const other = await track({ idempotency_key: 'shared', contact_id }, { token: api.other.apiKey });
    const ids = [live, test, other].map(({ status, body }) => [status, body.id]);
    expect(ids.map(([status]) => status)).toEqual([201, 201, 201]);
    expect(new Set(ids.map(String)).size).toBe(3);
    const replays = [
      await track({ idempotency_key: 'shared' }),
      await track({ idempotency_key: 'shared' }, { token: api.testApiKey }),
      await track({ idempotency_key: 'shared', contact_id }, { token: api.other.apiKey }),
    ];
    expect(replays.map(({ status, body }) => [status, body.id])).toEqual(ids);
  });

  it('creates one event for 100 simultaneous requests, which each response has', async () => {
    const answers = await Promise.all(
      Array.from({ length: 100 }, (_, n) =>
        track({ contact_id: contactIds[n % 3], amount: n, idempotency_key: 'hundred' }),
      ),
    );
    expect(await eventsWith('hundred')).toBe(1);
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([201]));
    expect(new Set(answers.map(({ text }) => text)).size).toBe(1);
    const fresh = answers.filter(({ headers }) => headers.get('idempotent-replayed') === null);
    expect(fresh).toHaveLength(1);
  });

  it('stays free if its event is refused', async () => {
    expect((await track({ contact_id: 999_999_999, idempotency_key: 'refused' })).status).toBe(422);
    const { status, headers } = await track({ idempotency_key: 'refused' });
    expect([status, headers.get('idempotent-replayed')]).toEqual([201, null]);
  });

  it('goes to the first event of a group whose contact exists', async () => {
    const all = await Promise.all([
      track({ contact_id: 999_999_999, idempotency_key: 'first good' }),
      track({ idempotency_key: 'first good' }),
    ]);
    expect(all[1]?.status).toBe(201);
    expect(await eventsWith('first good')).toBe(1);
  });

  it('is free again after the event is deleted', async () => {
    const first = await track({ idempotency_key: 'deleted' });
    const id = Number(first.body.id);
    const deleted = await api.request('DELETE', `/v1/my/events/${id}`);
    expect([deleted.status, deleted.body]).toEqual([200, first.body]);
    for (const method of ['GET', 'DELETE']) {
      expect((await api.request(method, `/v1/my/events/${id}`)).status).toBe(404);
    }
    const second = await track({ idempotency_key: 'deleted' });
    expect([second.status, second.headers.get('idempotent-replayed')]).toEqual([201, null]);
    expect(second.body.id).not.toBe(id);
  });
});
