// Deleting a contact clears its addresses from the stored filters of bulk actions and exports that have ended.
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import pino from 'pino';
import { forgetContactInBulkActions } from '../../../src/features/bulk-actions/service.ts';
import { clearPage } from '../../../src/features/contacts/removal-work.ts';
import { namedIn } from '../../../src/features/contacts/service.ts';
import { forgetContactInExports } from '../../../src/features/exports/service.ts';
import { startTestApi, type TestApi, type TestBody } from '../../support/api.ts';

const ACTIONS = '/v1/my/contacts/bulk_actions';
const EXPORTS = '/v1/my/exports';
const log = pino({ level: 'silent' });

let api: TestApi;
beforeAll(async () => {
  api = await startTestApi();
});
afterAll(() => api.close());

const pool = () => api.database.pool;

async function post(path: string, body: object): Promise<TestBody> {
  const made = await api.request('POST', path, { body });
  if (made.status !== 201) throw new Error(made.text);
  return made.body;
}
const end = (table: string, { id }: TestBody) =>
  pool().query(`update ${table} set status = 'canceled', finished_at = now() where id = $1`, [id]);

/** Does the worker's work on deleted contacts, some minutes later. @returns whether there is more to do later */
async function clear(minutes: number): Promise<boolean> {
  const asOf = new Date(Date.now() + minutes * 60_000);
  const further = [forgetContactInExports, forgetContactInBulkActions];
  while (await clearPage(pool(), { asOf, further, log }));
  return (await pool().query('select 1 from contact_removals')).rowCount !== 0;
}

async function storedText(): Promise<string> {
  const { rows } = await pool().query<{ text: string }>(
    `select concat((select string_agg(b::text, ' ') from bulk_actions b),
       (select string_agg(e::text, ' ') from exports e)) as text`,
  );
  return rows[0]?.text ?? '';
}

it('keeps the other filters, and those of actions under way until they end', async () => {
  const email = 'Ada@Example.com';
  const phone = '+14155550123';
  const contact = await post('/v1/my/contacts', { email, phone });
  await post('/v1/my/contacts', { email: 'eve@example.com' });
  const segment = await post('/v1/my/segments', {
    name: 'Two',
    filters: [{ name: 'email', predicate: 'in', value: [email, 'eve@example.com'] }],
  });
  const action = { action: 'unsubscribe', dry_run: true };
  const ended = [
    await post(ACTIONS, { ...action, filter: { email, phone: '+1 (415) 555-0123', source: 'api' } }),
    await post(ACTIONS, { ...action, filter: { search: 'ada@example.com' } }),
    await post(ACTIONS, { ...action, filter: { segment_id: segment.id } }),
    await post(ACTIONS, {
      ...action,
      filter: { filters: [{ name: 'phone', predicate: 'eq', value: phone }] },
    }),
  ];
  for (const each of ended) await end('bulk_actions', each);
  // A process of an older version does not say what its filters name.
  await pool().query('update bulk_actions set named = null where id = $1', [ended[0]?.id]);
  const file = await post(EXPORTS, { resource: 'messages', filters: { to: 'ada@example.com' } });
  await end('exports', file);
  const running = await post(ACTIONS, { ...action, filter: { email } });

  expect((await api.request('DELETE', `/v1/my/contacts/${String(contact.id)}`)).status).toBe(200);
  expect(await clear(1)).toBe(true);
  const [first] = ended;
  expect((await api.request('GET', `${ACTIONS}/${String(first?.id)}`)).body.filter).toEqual({
    email: '(deleted)',
    phone: '(deleted)',
    source: 'api',
  });
  expect((await api.request('GET', `${EXPORTS}/${String(file.id)}`)).body.filters).toEqual({
    to: '(deleted)',
  });
  expect((await api.request('GET', `${ACTIONS}/${String(running.id)}`)).body.filter).toEqual({ email });
  expect(await storedText()).toContain('eve@example.com');

  await end('bulk_actions', running);
  expect(await clear(15)).toBe(false);
  expect(await storedText()).not.toMatch(/ada@|5550123|555-0123/i);
});

it('takes only what filters ask for a phone number as one without a country code', () => {
  const number = '030 1234567';
  const order = { name: 'data.order', predicate: 'in', value: [number, '+4930 1234567', 'ada@example.com'] };
  expect(namedIn(1, { filters: [order] })).toHaveLength(2);
  for (const filter of [{ phone: number }, { to: number }, { filters: [{ ...order, name: 'phone' }] }]) {
    const hashes = namedIn(1, filter).map((each) => each.toString('hex'));
    expect(hashes).toContain(namedIn(1, '+49301234567')[0]?.toString('hex'));
  }
});
