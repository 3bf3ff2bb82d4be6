// A batch of events returns a result for each event, and invalid events do not fail the others.
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startTestApi, type TestApi, type TestBody } from '../../support/api.ts';
import { insertContacts } from '../../support/contacts.ts';

let api: TestApi;
let contactId: number;
beforeAll(async () => {
  api = await startTestApi();
  [contactId = 0] = await insertContacts(api.database.pool, api, 1);
});
afterAll(() => api.close());

async function trackAll(events: unknown, header?: string) {
  const headers: Record<string, string> = header === undefined ? {} : { 'Idempotency-Key': header };
  const { status, body } = await api.request('POST', '/v1/my/events/batch', { body: { events }, headers });
  return { status, body, results: (body.results ?? []) as unknown as TestBody[] };
}

const visit = (fields: object = {}) => ({ event: 'visit', contact_id: contactId, ...fields });

describe('POST /events/batch', () => {
  it('returns a result for each event, and an invalid one does not fail the others', async () => {
    const { status, results } = await trackAll([
      visit(),
      visit({ event: 'Bad Name' }),
      { event: 'visit' },
      visit({ contact_id: 999_999_999 }),
      { event: 'visit', contact_email: 'created@example.com' },
      visit({ colour: 'red', amount: 'x' }),
      'no event',
      null,
      visit({ id: 5, browser: 'Ignored', created_at: 'yesterday' }),
      visit({ data: { text: 'x'.repeat(33_000) } }),
      visit({ event: 'email_received' }),
    ]);
    expect(status).toBe(200);
    expect(results.map((result) => result.index)).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
    const [good, bad] = ['created', 'invalid'];
    expect(results.map((result) => result.status)).toEqual([
      good,
      bad,
      bad,
      bad,
      good,
      bad,
      bad,
      bad,
      good,
      bad,
      bad,
    ]);
    expect(results.map((result) => Object.keys(result.errors ?? {}))).toEqual([
      [],
      ['event'],
      ['contact_id'],
      ['contact_id'],
      [],
      ['amount', 'colour'],
      ['body'],
      ['body'],
      [],
      ['data'],
      ['event'],
    ]);
    for (const result of results) {
      if ((result.status as unknown) === bad) expect(result.id).toBeNull();
      else expect((await api.request('GET', `/v1/my/events/${Number(result.id)}`)).status).toBe(200);
    }
  });

  it('gives a repeated key to the first event, and finds known keys', async () => {
    const key = (idempotency_key: string, fields: object = {}) => visit({ idempotency_key, ...fields });
    const first = await trackAll([
      key('one'),
      key('two', { contact_id: 999_999_999 }),
      key('two'),
      key('one'),
    ]);
    const statuses = ({ results }: { results: TestBody[] }) => results.map(({ status }) => status);
    expect(statuses(first)).toEqual(['created', 'existing', 'created', 'existing']);
    expect(first.results[3]?.id).toBe(first.results[0]?.id);
    const second = await trackAll([key('two'), key('three')]);
    expect(statuses(second)).toEqual(['existing', 'created']);
    expect(second.results[0]?.id).toBe(first.results[2]?.id);
  });

  it('gives events without a key that of the header with their index, so that the request can be repeated', async () => {
    const events = [visit(), visit({ idempotency_key: 'own' }), visit()];
    const first = await trackAll(events, 'nightly');
    const second = await trackAll(events, 'nightly');
    expect(second.results.map(({ status }) => status)).toEqual(['existing', 'existing', 'existing']);
    expect(second.results.map(({ id }) => id)).toEqual(first.results.map(({ id }) => id));
    const third = await api.request('GET', `/v1/my/events/${Number(first.results[2]?.id)}`);
    expect(third.body.idempotency_key).toBe('nightly/2');
  });

  it('accepts 1 to 500 events', async () => {
    const many = (count: number) => Array.from({ length: count }, (_, n) => visit({ amount: n }));
    expect((await trackAll([])).body.validation_errors).toEqual({ events: ['must not be empty'] });
    expect((await trackAll(many(501))).body.validation_errors).toEqual({
      events: ['must have at most 500 items'],
    });
    const { results } = await trackAll(many(500));
    expect(new Set(results.map(({ status }) => status))).toEqual(new Set(['created']));
    expect(new Set(results.map(({ id }) => id)).size).toBe(500);
  });

  it('creates each event once for many simultaneous requests', async () => {
    const events = Array.from({ length: 50 }, (_, n) => ({
      event: `step_${n % 7}`,
      contact_email: `crowd${n % 10}@example.com`,
      idempotency_key: `crowd ${n}`,
    }));
    const answers = await Promise.all(
      Array.from({ length: 12 }, (_, n) => trackAll(n % 2 === 0 ? events : events.toReversed())),
    );
    const all = answers.flatMap(({ results }) => results);
    expect(all.filter(({ status }) => (status as unknown) === 'created')).toHaveLength(50);
    expect(new Set(all.map(({ id }) => id)).size).toBe(50);
    const { rows } = await api.database.pool.query(
      `select count(*) as events, count(distinct contact_id) as contacts from contact_events
       where idempotency_key like 'crowd %'`,
    );
    expect(rows).toEqual([{ events: 50, contacts: 10 }]);
  });
});
