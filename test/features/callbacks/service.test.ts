// A callback is answered after its reports commit, and forged reports change nothing.
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { messageReference } from '../../../src/delivery/terms/addresses/reference.ts';
import type { Callbacks } from '../../../src/features/callbacks/service.ts';
import { lockConsent } from '../../../src/features/contacts/consent.ts';
import { upkeep } from '../../../src/features/upkeep.ts';
import { openDatabase } from '../../../src/platform/db/database.ts';
import { createTestTenant, type TestTenant } from '../../support/api.ts';
import {
  type TestItem,
  testCallback,
  testCallbacks,
  testProvider,
  testReference,
} from '../../support/callbacks.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database.ts';
import { type ProviderApi, startProviderApi } from '../../support/provider-api.ts';
import { queueEmails } from '../../support/queued.ts';

const provider = testProvider('relay');

let test: TestDatabase;
let api: ProviderApi;
let tenant: TestTenant;
let callbacks: Callbacks;

beforeAll(async () => {
  [test, api] = await Promise.all([createTestDatabase({ poolMax: 6 }), startProviderApi()]);
});
afterAll(async () => {
  await api.close();
  await test.drop();
});
beforeEach(async () => {
  tenant = await createTestTenant(test.database, 'Acme');
  callbacks = testCallbacks(test.database, api.deps.egress);
});
afterEach(() => test.database.pool.query('truncate messages, message_events, send_queue, callback_tokens'));

const query = <Row extends object>(text: string, values: unknown[] = []) =>
  test.database.pool.query<Row>(text, values).then((result) => result.rows);

/** Messages that the provider has accepted. */
async function sent(count: number): Promise<number[]> {
  const ids = await queueEmails(test.database, tenant, count);
  await query(`update messages set status = 'sent', provider = 'relay', sent_at = now(), sent_attempt = 1`);
  await query('truncate send_queue');
  return ids;
}

const report = (id: number, given: Partial<TestItem> = {}): TestItem => ({
  reference: testReference(tenant.accountId, id),
  type: 'delivered',
  ...given,
});

const states = async () =>
  (await query<{ status: string }>('select status from messages order by id')).map(({ status }) => status);

const take = (body: unknown, from = provider) => callbacks.take(from, testCallback(body));

describe('a callback', () => {
  it('is answered after its reports are committed', async () => {
    const ids = await sent(3);
    const reply = await take({ items: ids.map((id) => report(id)) });
    expect(await states()).toEqual(['delivered', 'delivered', 'delivered']);
    expect(reply).toEqual({ contentType: 'text/plain', body: '' });
  });

  it('may have more reports than one transaction records', async () => {
    const ids = await sent(700);
    await take({ items: ids.map((id) => report(id)) });
    expect(new Set(await states())).toEqual(new Set(['delivered']));
  });

  it('shares a transaction with others that arrive at the same time', async () => {
    const ids = await sent(200);
    const transactions = async () =>
      (await query<{ xid: string }>('select distinct xmin::text as xid from messages')).length;
    await Promise.all(ids.map((id) => take({ items: [report(id)] })));
    expect(new Set(await states())).toEqual(new Set(['delivered']));
    expect(await transactions()).toBeLessThan(20);
  });

  it('gives each inbound SMS to its handler, and fails if the handler fails', async () => {
    const sms = { from: '+14155550123', to: '+14155550100', pool: null, text: 'STOP', answered: null };
    const inbound = ['a', 'b'].map((providerMessageId) => ({ ...sms, providerMessageId }));
    const taken: unknown[] = [];
    const taking = testCallbacks(test.database, api.deps.egress, (from, each) => {
      taken.push([from.name, each]);
      return taken.length < 3 ? Promise.resolve() : Promise.reject(new Error('unavailable'));
    });
    await taking.take(provider, testCallback({ inbound }));
    expect(taken).toEqual(inbound.map((each) => ['relay', each]));
    await expect(taking.take(provider, testCallback({ inbound }))).rejects.toThrow('unavailable');
  });

  it('is refused if its signature is wrong, and changes nothing', async () => {
    const [id = 0] = await sent(1);
    const wrong = callbacks.take(provider, testCallback({ items: [report(id)] }, 'forged'));
    await expect(wrong).rejects.toMatchObject({ code: 'forbidden' });
    expect(await states()).toEqual(['sent']);
  });

  it('is retried by the provider if its signature cannot be checked', async () => {
    await expect(take({ unavailable: 'no certificate' })).rejects.toMatchObject({ code: 'unavailable' });
  });

  it('fails if the database is unavailable, so that the provider retries it', async () => {
    const [id = 0] = await sent(1);
    const unreachable = openDatabase({ url: 'postgres://127.0.0.1:1/none', poolMax: 1 });
    try {
      const taking = testCallbacks(unreachable, api.deps.egress);
      await expect(taking.take(provider, testCallback({ items: [report(id)] }))).rejects.toMatchObject({
        code: 'ECONNREFUSED',
      });
    } finally {
      await unreachable.close();
    }
  });

  it('records its other reports if the database refuses one', async () => {
    const ids = await sent(5);
    // Stands for any content of a report that no check anticipates.
    await query(
      'alter table messages add constraint odd check (id <> $1 or delivered_at is null)'.replace(
        '$1',
        String(ids[2]),
      ),
    );
    try {
      await take({ items: ids.map((id) => report(id)) });
    } finally {
      await query('alter table messages drop constraint odd');
    }
    expect(await states()).toEqual(['delivered', 'delivered', 'sent', 'delivered', 'delivered']);
  });
});

describe('a report in a callback', () => {
  const forged: [string, (id: number) => Partial<TestItem>][] = [
    ['no reference', () => ({ reference: null })],
    [
      'a reference signed with another key',
      (messageId) => ({
        reference: messageReference(Buffer.alloc(32), { accountId: tenant.accountId, messageId }),
      }),
    ],
    [
      'the reference of another message',
      (id) => ({
        reference: testReference(tenant.accountId, id).replace(/-[^-]+-/, `-${(id + 1).toString(36)}-`),
      }),
    ],
    ['the reference of another account', (id) => ({ reference: testReference(tenant.accountId + 1, id) })],
    [
      'a reference with something behind it',
      (id) => ({ reference: `${testReference(tenant.accountId, id)}A` }),
    ],
    ['a reference that is no text', () => ({ reference: 'x'.repeat(100_000) })],
  ];

  it.each(forged)('is ignored if it has %s; the others count', async (_what, given) => {
    const [first = 0, second = 0] = await sent(2);
    await take({ items: [report(first, { type: 'bounced', ...given(first) }), report(second)] });
    expect(await states()).toEqual(['sent', 'delivered']);
    expect(await query('select 1 from suppressions')).toEqual([]);
  });

  it('is ignored if another provider has the message', async () => {
    const [id = 0] = await sent(1);
    await take(
      { items: [report(id, { type: 'bounced' }), report(id, { type: 'complained' })] },
      testProvider('other', 2),
    );
    expect(await states()).toEqual(['sent']);
    expect(await query('select 1 from suppressions')).toEqual([]);
  });

  it('that the recipient opted out at the provider opts out of the brand, if it counts', async () => {
    const [id = 0] = await sent(1);
    const optOuts = () => query('select brand_id, source, message_id from opt_outs where ended_at is null');
    await take({ items: [report(id, { type: 'failed', optedOut: true })] }, testProvider('other', 2));
    expect(await optOuts()).toEqual([]);
    await take({ items: [report(id, { type: 'failed', optedOut: true })] });
    expect(await optOuts()).toEqual([{ brand_id: tenant.brandId, source: 'provider', message_id: id }]);
  });

  it('alone waits for the brand’s consent lock, and is in the ledger meanwhile', async () => {
    const [stopped = 0, other = 0] = await sent(2);
    await query(
      `insert into contacts (account_id, brand_id, email, email_key, email_subscribed)
      select account_id, brand_id, to_address, to_key, true from messages where id = $1`.replace(
        '$1',
        String(stopped),
      ),
    );
    const subscribed = async () =>
      (await query<{ email_subscribed: boolean }>('select email_subscribed from contacts'))[0]
        ?.email_subscribed;
    const optOuts = () => query('select 1 from opt_outs where message_id = $1', [stopped]);
    const holder = await test.database.pool.connect();
    let taking: Promise<unknown>;
    try {
      await holder.query('begin');
      await lockConsent(holder, tenant.brandId, 'alone');
      taking = take({ items: [report(stopped, { type: 'failed', optedOut: true })] });
      // The group of the opt-out commits, so that the next group can start.
      await take({ items: [report(other)] });
      expect(await states()).toEqual(['failed', 'delivered']);
      expect([await optOuts(), await subscribed()]).toEqual([[{ '?column?': 1 }], true]);
    } finally {
      await holder.query('rollback');
      holder.release();
    }
    await taking;
    expect(await subscribed()).toBe(false);
  });

  it('of another account’s message changes nothing, even with the name of its provider', async () => {
    const [id = 0] = await sent(1);
    const other = await createTestTenant(test.database, 'Other');
    await take({ items: [report(id, { reference: testReference(other.accountId, id) })] });
    expect(await states()).toEqual(['sent']);
  });
});

describe('a single-use token', () => {
  it('is refused with another body, and accepted again with the same one', async () => {
    const [first = 0, second = 0] = await sent(2);
    await take({ token: 'abc', items: [report(first)] });
    await take({ token: 'abc', items: [report(first)] });
    const other = take({ token: 'abc', items: [report(second)] });
    await expect(other).rejects.toMatchObject({ code: 'forbidden' });
    expect(await states()).toEqual(['delivered', 'sent']);
  });

  it('is refused with another body at the same time', async () => {
    const ids = await sent(8);
    const results = await Promise.allSettled(ids.map((id) => take({ token: 'abc', items: [report(id)] })));
    expect(results.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
    expect((await states()).filter((status) => status === 'delivered')).toHaveLength(1);
  });

  it('is separate for each provider', async () => {
    const [id = 0] = await sent(1);
    await take({ token: 'abc', items: [] });
    await query(`update messages set provider = 'other'`);
    await take({ token: 'abc', items: [report(id)] }, testProvider('other', 2));
    expect(await states()).toEqual(['delivered']);
  });

  it('is deleted when no service retries the callback any more', async () => {
    await take({ token: 'old', items: [] });
    await query(`update callback_tokens set used_at = now() - interval '3 days'`);
    await take({ token: 'new', items: [] });
    const task = upkeep.tasks.find(({ name }) => name === 'callback_tokens');
    await task?.run({ database: test.database } as never, new Date(), () => undefined);
    expect(await query('select 1 from callback_tokens')).toHaveLength(1);
  });
});

describe('the confirmation of a subscription', () => {
  const confirm = (path: string) => take({ confirm: `${api.baseUrl}${path}` });

  it('requests the URL', async () => {
    await confirm('/confirm?token=1');
    expect(api.requests.at(-1)).toMatchObject({ method: 'GET', url: '/confirm?token=1' });
  });

  it('is retried if it fails, and follows no redirect', async () => {
    const requests = api.requests.length;
    api.answer = (_request, response) => void response.writeHead(302, { Location: '/elsewhere' }).end();
    await expect(confirm('/confirm')).rejects.toMatchObject({ code: 'unavailable' });
    expect(api.requests.length).toBe(requests + 1);
  });

  it('is refused over plain HTTP', async () => {
    const plain = take({ confirm: api.baseUrl.replace('https:', 'http:') });
    await expect(plain).rejects.toMatchObject({ code: 'forbidden' });
  });
});
