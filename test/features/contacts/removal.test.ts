// Deleting a contact cancels its queued messages and clears its addresses everywhere, but keeps the opt-out.
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import pino from 'pino';
import { clearPage, type RemovalStep } from '../../../src/features/contacts/removal-work.ts';
import { forgetContactInBulkActions } from '../../../src/features/bulk-actions/service.ts';
import { endExportsOfContact, forgetContactInExports } from '../../../src/features/exports/service.ts';
import { forgetContactInFlows } from '../../../src/features/flows/run/removal.ts';
import { forgetImportedContact } from '../../../src/features/imports/service.ts';
import { forgetContactInInbox } from '../../../src/features/inbox/retention/forget.ts';
import { forgetValidatedContact } from '../../../src/features/validation/service.ts';
import { startTestApi, type TestApi } from '../../support/api.ts';
import { insertSender } from '../../support/queued.ts';

const PATH = '/v1/my/contacts';
const MINUTE = 60_000;
const log = pino({ level: 'silent' });
let api: TestApi;
beforeAll(async () => {
  api = await startTestApi();
  await insertSender(api.database, 77);
});
afterAll(() => api.close());

const query = async <Row extends object>(sql: string, values: unknown[] = []) =>
  (await api.database.pool.query(sql, values)).rows as Row[];

async function contact(body: Record<string, unknown>): Promise<number> {
  const response = await api.request('POST', PATH, { body });
  expect(response.status).toBe(201);
  return Number(response.body.id);
}

const remove = (id: number) => api.request('DELETE', `${PATH}/${id}`);

async function send(to: string): Promise<number> {
  const body = { channel: 'email', to, subject: `For ${to}`, html: `<p>${to}</p>`, tags: { who: to } };
  const response = await api.request('POST', '/v1/my/messages', { body });
  expect(response.status).toBe(201);
  return Number(response.body.id);
}

/** Makes a message look bounced, with everything that tracking and a capture provider store. */
async function bounce(id: number, address: string): Promise<void> {
  const { pool } = api.database;
  const reply = `550 5.1.1 <${address}> unknown`;
  await pool.query('delete from send_queue where message_id = $1', [id]);
  await pool.query(
    `update messages set status = 'bounced', response = $2, failure = $3, bounce = $4, idempotency_key = $5 where id = $1`,
    [
      id,
      reply,
      { code: 'invalid_recipient', message: reply },
      { type: 'hard', subtype: 'no_such_mailbox', diagnostic: reply },
      `welcome ${address}`,
    ],
  );
  await pool.query(`insert into message_events values ($1, 1, 'bounced', now(), $2)`, [
    id,
    { provider: 'smtp', response: reply, bounce: { diagnostic: reply } },
  ]);
  await pool.query(`insert into message_interactions values ($1, 1, now(), $2, 'Mail 1.0')`, [
    id,
    `https://shop.test/?email=${address}`,
  ]);
  await pool.query(
    `insert into tracking_hits (created_at, message_id, account_id, link, is_bot, user_agent, ip)
     values (now(), $1, $2, 0, false, 'Mail 1.0', '192.0.2.7')`,
    [id, api.accountId],
  );
  await pool.query(
    `insert into captured_messages (message_id, attempt, channel, to_address, body, size_bytes)
     values ($1, 1, 'sms', $2, $2, 1)`,
    [id, address],
  );
}

async function clear(asOf: Date, further: RemovalStep[] = []): Promise<number> {
  let pages = 0;
  while (await clearPage(api.database.pool, { asOf, further, log })) pages += 1;
  return pages;
}

/** Clears the contact, and again as if the second pass were due. */
async function clearAll(further: RemovalStep[] = []): Promise<void> {
  await clear(new Date(), further);
  await clear(new Date(Date.now() + 2 * MINUTE), further);
}

/** The tables with a row that contains the text in any column. */
async function tablesWith(text: string): Promise<string[]> {
  const tables = await query<{ name: string }>(
    `select c.oid::regclass::text as name from pg_class c join pg_namespace n on n.oid = c.relnamespace
     where n.nspname = 'public' and c.relkind in ('r', 'p') and not c.relispartition`,
  );
  const found: string[] = [];
  for (const { name } of tables) {
    const [row] = await query<{ found: boolean }>(
      `select exists (select 1 from ${name} t where strpos(lower(t::text), $1) > 0) as found`,
      [text],
    );
    if (row?.found) found.push(name);
  }
  return found.sort();
}

async function insertEvents(id: number, count: number, text: string): Promise<void> {
  await api.database.pool.query(
    `with name as (
       insert into event_names (brand_id, name) values ($2, 'visited')
       on conflict (brand_id, name) do update set name = 'visited' returning id
     ), events as (
       insert into contact_events (account_id, brand_id, contact_id, name_id, data, idempotency_key, created_at)
       select $1, $2, $3, name.id, jsonb_build_object('by', $5::text), $5 || n, now()
       from name cross join generate_series(1, $4::int) n returning id, brand_id, idempotency_key, created_at
     )
     insert into contact_event_keys (brand_id, test, key, event_id, created_at)
     select brand_id, false, idempotency_key, id, created_at from events`,
    [api.accountId, api.brandId, id, count, text],
  );
}

describe('DELETE /contacts/{id}', () => {
  it('returns the deleted contact, and a 404 afterwards', async () => {
    const id = await contact({ email: 'bye@example.test', first_name: 'Bye' });
    const response = await remove(id);
    expect([response.status, response.body.first_name]).toEqual([200, 'Bye']);
    expect((await api.request('GET', `${PATH}/${id}`)).status).toBe(404);
    expect((await remove(id)).status).toBe(404);
  });

  it('leaves no trace of its addresses in any table except a suppression', async () => {
    const addresses = ['first-trace@example.test', 'second-trace@example.test'] as const;
    const id = await contact({ email: addresses[0], phone: '+14155557777', data: { note: addresses[0] } });
    await bounce(await send(addresses[0]), addresses[0]);
    await api.request('PATCH', `${PATH}/${id}`, { body: { email: addresses[1] } });
    await bounce(await send(addresses[1]), addresses[1]);
    const queued = await send(addresses[1]);
    await insertEvents(id, 450, addresses[1]);
    await query(`insert into soft_bounces (account_id, address_key, count) values ($1, $2, 1)`, [
      api.accountId,
      addresses[1],
    ]);
    await api.request('POST', '/v1/my/suppressions', { body: { email: addresses[1] } });
    expect(await tablesWith(addresses[1])).toEqual(
      expect.arrayContaining([
        'captured_messages',
        'contact_events',
        'message_contents',
        'message_events',
        'messages',
      ]),
    );

    const sent = await query<{ message_id: number }>('select message_id from captured_messages');
    await remove(id);
    await clearAll();

    expect(await tablesWith(addresses[0])).toEqual([]);
    expect(await tablesWith(addresses[1])).toEqual(['suppressions']);
    expect(await tablesWith('4155557777')).toEqual([]);
    expect(await query('select 1 from contact_removals')).toEqual([]);
    const hits = await query<{ ip: unknown }>('select ip from tracking_hits where message_id = any($1)', [
      sent.map((row) => row.message_id),
    ]);
    expect(hits).toEqual([{ ip: null }, { ip: null }]);
    const message = await api.request('GET', `/v1/my/messages/${queued}`);
    expect(message.body).toMatchObject({ to: null, subject: null, html: null, status: 'canceled' });
  });

  it('cancels queued messages before it responds, and returns their reservations', async () => {
    const id = await contact({ email: 'queued@example.test' });
    const message = await send('queued@example.test');
    const day = `date_trunc('hour', now(), 'UTC')`;
    await query(`insert into allowance_buckets (account_id, bucket, used) values ($1, ${day}, 1)`, [
      api.accountId,
    ]);
    await query(`update send_queue set reserved_bucket = ${day} where message_id = $1`, [message]);
    await remove(id);
    expect(await query('select used from allowance_buckets')).toEqual([{ used: 0 }]);
    expect(await query('select 1 from send_queue where message_id = $1', [message])).toEqual([]);
    const { body } = await api.request('GET', `/v1/my/messages/${message}`);
    expect(body).toMatchObject({ status: 'canceled', failure: { code: 'canceled' } });
  });

  it('clears a message that is on its way once its outcome is known', async () => {
    const id = await contact({ email: 'flying@example.test' });
    const message = await send('flying@example.test');
    await query('update send_queue set owner = 77 where message_id = $1', [message]);
    await query(
      `insert into handovers (owner, seq, provider, message_ids, attempts) values (77, 1, 'smtp', array[$1::bigint], '{1}')`,
      [message],
    );
    await remove(id);
    const later = (minutes: number) => new Date(Date.now() + minutes * MINUTE);
    await clear(later(0));
    await clear(later(2));
    expect(await query('select to_key from messages where id = $1', [message])).toEqual([
      { to_key: 'flying@example.test' },
    ]);
    await query('delete from handovers where owner = 77');
    await query('delete from send_queue where message_id = $1', [message]);
    await query(`update messages set status = 'sent' where id = $1`, [message]);
    await clear(later(4));
    await clear(later(6));
    expect(await tablesWith('flying@example.test')).toEqual([]);
  });

  it('keeps the opt-out', async () => {
    const id = await contact({ email: 'optout@example.test' });
    const body = { channels_attributes: [{ kind: 'email', subscribed: false }] };
    await api.request('PATCH', `${PATH}/${id}`, { body });
    await remove(id);
    const again = await api.request('POST', PATH, { body: { email: 'optout@example.test' } });
    expect([again.status, again.body.subscribed_email]).toEqual([201, false]);
  });

  it('does not clear messages to another contact that has the address now', async () => {
    const id = await contact({ email: 'shared@example.test' });
    const before = await send('shared@example.test');
    await api.request('PATCH', `${PATH}/${id}`, { body: { email: 'moved-on@example.test' } });
    await contact({ email: 'shared@example.test' });
    const after = await send('shared@example.test');
    await remove(id);
    await clearAll();
    const rows = await query('select id, to_address from messages where id = any($1) order by id', [
      [before, after],
    ]);
    expect(rows).toEqual([
      { id: before, to_address: null },
      { id: after, to_address: 'shared@example.test' },
    ]);
  });

  it('clears many messages page by page', async () => {
    const id = await contact({ email: 'many@example.test' });
    await query(
      `insert into messages (account_id, brand_id, channel, status, to_address, to_key, subject)
       select $1, $2, 'email', 'sent', 'many@example.test', 'many@example.test', 'Hi' from generate_series(1, 1000)`,
      [api.accountId, api.brandId],
    );
    await remove(id);
    expect(await clear(new Date())).toBeGreaterThanOrEqual(5);
    expect(await tablesWith('many@example.test')).toEqual(['contact_removals']);
    await clear(new Date(Date.now() + 2 * MINUTE));
    expect(await tablesWith('many@example.test')).toEqual([]);
  });

  it('runs the steps of other features until they are done', async () => {
    const id = await contact({ email: 'hook@example.test', phone: '+14155557778' });
    await remove(id);
    const calls: unknown[] = [];
    let left = 3;
    await clearAll([
      (_trx, removed) => {
        calls.push(removed);
        left -= 1;
        return Promise.resolve(left > 0);
      },
    ]);
    expect(calls).toContainEqual({
      accountId: api.accountId,
      brandId: api.brandId,
      contactId: id,
      addressKeys: ['hook@example.test', '+14155557778'],
      requestedAt: expect.any(Date),
    });
    expect(calls).toHaveLength(4);
  });

  it('takes turns, so that a contact with many events does not delay others', async () => {
    const large = await contact({ email: 'large@example.test' });
    await insertEvents(large, 1_000, 'large');
    const small = await contact({ email: 'small@example.test' });
    await insertEvents(small, 3, 'small');
    await remove(large);
    await remove(small);
    const eventsOf = (id: number) => query('select 1 from contact_events where contact_id = $1', [id]);
    for (let page = 0; page < 2; page += 1) {
      const asOf = new Date(Date.now() + page);
      await clearPage(api.database.pool, { asOf, further: [], log });
    }
    expect(await eventsOf(small)).toEqual([]);
    expect((await eventsOf(large)).length).toBeGreaterThan(0);
    await clearAll();
  });

  it('passes steps with nothing to clear in one transaction', async () => {
    const id = await contact({ email: 'nothing@example.test', phone: '+14155557779' });
    await remove(id);
    const further = [
      forgetImportedContact,
      forgetContactInFlows,
      forgetValidatedContact,
      forgetContactInInbox,
      endExportsOfContact,
      forgetContactInExports,
      forgetContactInBulkActions,
    ];
    expect(await clear(new Date(), further)).toBeLessThanOrEqual(2);
    await clearAll();
  });

  it('continues with other contacts if a step fails, and retries that contact later', async () => {
    const bad = await contact({ email: 'bad@example.test' });
    const good = await contact({ email: 'good@example.test' });
    await remove(bad);
    await remove(good);
    let tries = 0;
    const failing: RemovalStep = (_trx, removed) => {
      if (removed.contactId !== bad) return Promise.resolve(false);
      tries += 1;
      return Promise.reject(new Error('no'));
    };
    const start = Date.now();
    const leftAfter = async (minutes: number) => {
      await clear(new Date(start + minutes * MINUTE), [failing]);
      const rows = await query<{ contact_id: number }>('select contact_id from contact_removals order by 1');
      return [tries, ...rows.map((row) => row.contact_id)];
    };
    expect(await leftAfter(0.1)).toEqual([1, bad, good]);
    expect(await leftAfter(1.2)).toEqual([2, bad]);
    expect(await leftAfter(2.5)).toEqual([2, bad]);
    expect(await leftAfter(3.3)).toEqual([3, bad]);
    await clearAll();
    await clear(new Date(start + 60 * MINUTE));
    await clear(new Date(start + 120 * MINUTE));
    expect(await query('select 1 from contact_removals')).toEqual([]);
  });

  it('keeps the onboarding step that its contact completed', async () => {
    const token = api.other.apiKey;
    const steps = async () => {
      const { body } = await api.request('GET', '/v1/my/account', { token });
      return body.onboarding?.steps?.contacts?.completed_at;
    };
    expect(await steps()).toBeNull();
    const made = await api.request('POST', PATH, { token, body: { email: 'first@example.test' } });
    expect(await steps()).toBe(made.body.created_at);
    await api.request('DELETE', `${PATH}/${String(made.body.id)}`, { token });
    expect(await steps()).toBe(made.body.created_at);
  });

  it('responds to each of many simultaneous requests with the contact or a 404', async () => {
    const ids = await Promise.all(
      Array.from({ length: 10 }, (_, index) => contact({ email: `once-${index}@example.test` })),
    );
    const responses = await Promise.all(ids.flatMap((id) => [remove(id), remove(id), remove(id)]));
    expect(responses.filter(({ status }) => status === 200)).toHaveLength(10);
    expect(responses.filter(({ status }) => status === 404)).toHaveLength(20);
  });
});
