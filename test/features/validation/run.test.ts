// A validation checks each candidate once, charges only conclusive new results, and releases the rest.
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import pino from 'pino';
import { advanceValidation, type ValidationRunDeps } from '../../../src/features/validation/run.ts';
import type { Item, Operation, Quote } from '../../../src/features/validation/schema.ts';
import { collectPage } from '../../../src/features/validation/snapshot.ts';
import { upkeep } from '../../../src/features/upkeep.ts';
import { startTestApi, type TestApi } from '../../support/api.ts';
import { insertContacts } from '../../support/contacts.ts';
import { startDnsServer, type TestDnsServer } from '../../support/dns/server.ts';
import {
  addContacts as insert,
  attendance,
  emptyWallets,
  giveFunds,
  itemsOf,
  PATH,
  runToEnd,
  startValidation,
  validationDeps,
} from '../../support/validation.ts';

const PRICE = 400;

let api: TestApi;
let dns: TestDnsServer;
let deps: ValidationRunDeps;
beforeAll(async () => {
  dns = await startDnsServer({
    'mx.test': { A: ['8.8.8.8'] },
    'known.test': { MX: [{ exchange: 'mx.test', preference: 1 }] },
  });
  api = await startTestApi({ env: { DNS_SERVERS: dns.address } });
  deps = validationDeps(api, dns);
});
afterAll(async () => {
  await api.close();
  dns.close();
});
beforeEach(async () => {
  await query(
    'truncate validation_operations, contacts, lists, segments, outbox, messages, suppressions cascade',
  );
  await emptyWallets(pool());
  await giveFunds(pool(), api.accountId, { price: PRICE, millicents: 1_000_000 });
});

const pool = () => api.database.pool;
const query = (text: string, values: unknown[] = []) => pool().query(text, values);
const operationOf = async (id: number) => (await api.request<Operation>('GET', `${PATH}/${id}`)).body;

const addContacts = (emails: string[]) => insert(api, emails);

async function balance(): Promise<number> {
  const { body } = await api.request<Quote>('POST', `${PATH}/quote`, { body: { contact_ids: [] } });
  return body.wallet_balance_cents;
}

async function validate(ids: number[], options: { token?: string } = {}): Promise<Operation> {
  const { status, body, text } = await startValidation(api, { contact_ids: ids }, options);
  if (status !== 201) throw new Error(text);
  await runToEnd(deps, body.id);
  return operationOf(body.id);
}

const reasonsOf = async (id: number) =>
  Object.fromEntries(
    (await itemsOf(api, id)).map(({ email, reason, charged }) => [email, [reason, charged]]),
  );

interface Sent {
  to: string;
  daysAgo: number;
  bounced?: boolean;
  deliveredDaysAgo?: number;
  test?: boolean;
}

async function addMessage({ to, daysAgo, bounced, deliveredDaysAgo, test = false }: Sent): Promise<void> {
  await query(
    `insert into messages (account_id, brand_id, channel, status, to_address, to_key, sent_at, bounce, delivered_at, test)
     values ($1, $2, 'email', $3, $4, $4, now() - make_interval(days => $5), $6, now() - make_interval(days => $7), $8)`,
    [
      api.accountId,
      api.brandId,
      bounced ? 'bounced' : 'sent',
      to,
      daysAgo,
      bounced ? JSON.stringify({ type: 'hard', subtype: 'no_such_mailbox', diagnostic: '' }) : null,
      deliveredDaysAgo ?? null,
      test,
    ],
  );
}

const verifiedOf = async (id: number | undefined) => {
  const { body } = await api.request<{ channels: { verified: boolean }[] }>('GET', `/v1/my/contacts/${id}`);
  return body.channels[0]?.verified;
};

describe('a validation', () => {
  it('charges conclusive results once, and releases the rest', async () => {
    const ids = await addContacts(['a@gone.test', 'b@known.test', 'c@gone.test', 'info@known.test']);
    const done = await validate(ids);
    expect(done).toMatchObject({
      ...{ status: 'completed', candidate_count: 4, remaining_count: 0 },
      counts: { deliverable: 0, undeliverable: 2, risky: 1, unknown: 1 },
      ...{ maximum_charge_cents: 1.6, charged_cents: 0.8 },
    });
    expect(await balance()).toBe(999);
    const { rows } = await query('select reserved_millicents, engine_expected_by from validation_operations');
    expect(rows).toEqual([{ reserved_millicents: 0, engine_expected_by: null }]);
    const { rows: months } = await query('select validation_millicents from account_months');
    expect(months).toEqual([{ validation_millicents: 800 }]);
  });

  it('judges by the brand’s own mail first, which is free', async () => {
    const ids = await addContacts([
      ...['bounced@known.test', 'old-bounce@known.test', 'came-back@known.test', 'active@known.test'],
      ...['quiet@known.test', 'tested@known.test', 'suppressed@known.test', 'moved@gone.test'],
    ]);
    await addMessage({ to: 'bounced@known.test', daysAgo: 20, deliveredDaysAgo: 30 });
    await addMessage({ to: 'bounced@known.test', daysAgo: 10, bounced: true });
    await addMessage({ to: 'old-bounce@known.test', daysAgo: 91, bounced: true });
    await addMessage({ to: 'came-back@known.test', daysAgo: 30, bounced: true });
    await addMessage({ to: 'came-back@known.test', daysAgo: 5, deliveredDaysAgo: 5 });
    await addMessage({ to: 'active@known.test', daysAgo: 89, deliveredDaysAgo: 89 });
    await addMessage({ to: 'quiet@known.test', daysAgo: 95, deliveredDaysAgo: 95 });
    await addMessage({ to: 'tested@known.test', daysAgo: 1, deliveredDaysAgo: 1, test: true });
    await addMessage({ to: 'moved@gone.test', daysAgo: 1, deliveredDaysAgo: 1 });
    await query(
      `insert into suppressions (account_id, address_key, email, reason) values ($1, $2, $2, 'hard_bounce')`,
      [api.accountId, 'suppressed@known.test'],
    );
    const { id, charged_cents: charged } = await validate(ids);
    expect(await reasonsOf(id)).toEqual({
      'bounced@known.test': ['recent_bounce', false],
      'old-bounce@known.test': ['mailbox_not_checked', false],
      'came-back@known.test': ['recent_activity', false],
      'active@known.test': ['recent_activity', false],
      'quiet@known.test': ['mailbox_not_checked', false],
      'tested@known.test': ['mailbox_not_checked', false],
      'suppressed@known.test': ['recent_bounce', false],
      'moved@gone.test': ['no_domain', true],
    });
    expect(charged).toBe(0.4);
    expect(await verifiedOf(ids[3])).toBe(true);
  });

  it('reuses a conclusive result for 30 days for free, without prolonging it', async () => {
    const ids = await addContacts(['a@gone.test', 'b@known.test']);
    const first = await validate(ids);
    const second = await validate(ids);
    expect([first.charged_cents, second.charged_cents]).toEqual([0.4, 0]);
    expect(second.maximum_charge_cents).toBe(0.4);
    const timeOf = async ({ id }: Operation) => (await itemsOf(api, id))[0]?.checked_at;
    expect(await timeOf(second)).toBe(await timeOf(first));
    await query(`update contact_verdicts set checked_at = now() - interval '31 days'`);
    expect((await validate(ids)).charged_cents).toBe(0.4);
  });

  it('never charges more than it reserved, even if a reusable result is gone', async () => {
    const ids = await addContacts(['a@gone.test', 'b@gone.test']);
    await validate(ids.slice(0, 1));
    const { body } = await startValidation(api, { contact_ids: ids });
    await query('delete from contact_verdicts');
    await runToEnd(deps, body.id);
    expect(await operationOf(body.id)).toMatchObject({ maximum_charge_cents: 0.4, charged_cents: 0.4 });
  });

  it('sets the channel of a contact only if its address is unchanged', async () => {
    const ids = await addContacts(['a@gone.test', 'b@gone.test']);
    await query('update contacts set email_verified = true');
    const { body } = await startValidation(api, { contact_ids: ids });
    await advanceValidation(deps, body.id, new Date(), attendance);
    await advanceValidation(deps, body.id, new Date(), attendance);
    await query(`update contacts set email = 'new@known.test', email_key = 'new@known.test' where id = $1`, [
      ids[1],
    ]);
    await runToEnd(deps, body.id);
    expect([await verifiedOf(ids[0]), await verifiedOf(ids[1])]).toEqual([false, true]);
    const { rows } = await query('select contact_id from contact_verdicts');
    expect(rows).toEqual([{ contact_id: ids[0] }]);
    expect((await itemsOf(api, body.id)).map(({ email }) => email)).toEqual(['a@gone.test', 'b@gone.test']);
  });

  it('takes the members of a segment at its start, but no more than it counted', async () => {
    await addContacts(['a@gone.test', 'b@gone.test', 'c@known.test']);
    const segmentOf = async (filter: unknown) =>
      (await api.request('POST', '/v1/my/segments', { body: { name: 's', filters: [filter] } })).body
        .id as unknown as number;
    const inner = await segmentOf({ name: 'email', predicate: 'end', value: 'gone.test' });
    const outer = await segmentOf({ name: 'segment', predicate: 'eq', value: inner });
    const { body } = await startValidation(api, { segment_id: outer });
    expect(body.candidate_count).toBe(2);
    for (const id of [inner, outer]) {
      await api.request('PATCH', `/v1/my/segments/${id}`, {
        body: { filters: [{ name: 'email', predicate: 'end', value: 'known.test' }] },
      });
    }
    await addContacts(['late@gone.test']);
    await query(
      `update contacts set email = 'c@gone.test', email_key = 'c@gone.test' where email = 'c@known.test'`,
    );
    await runToEnd(deps, body.id);
    expect((await itemsOf(api, body.id)).map(({ email }) => email)).toEqual(['a@gone.test', 'b@gone.test']);
  });

  it('shrinks if candidates disappear before it takes them', async () => {
    const ids = await addContacts(['a@gone.test', 'b@gone.test', 'c@gone.test']);
    const { body } = await startValidation(api, { contact_ids: ids });
    await query('delete from contacts where id = $1', [ids[1]]);
    await runToEnd(deps, body.id);
    expect(await operationOf(body.id)).toMatchObject({
      ...{ candidate_count: 2, remaining_count: 0, charged_cents: 0.8, maximum_charge_cents: 1.2 },
    });
  });

  it('takes and checks more candidates than fit in a page, each once', async () => {
    const count = 1_300;
    await insertContacts(pool(), api, count);
    await query(`update contacts set email = replace(email, 'example.com', 'gone.test')`);
    const filters = [{ name: 'email', predicate: 'present' }];
    const segment = await api.request('POST', '/v1/my/segments', { body: { name: 's', filters } });
    const { body } = await startValidation(api, { segment_id: segment.body.id as unknown as number });
    await query(`update validation_operations set status = 'running'`);
    // The third try takes small pages.
    let pages = 1;
    while (await collectPage(pool(), body.id, 3)) pages += 1;
    expect(pages).toBe(3);
    await runToEnd(deps, body.id);
    const done = await operationOf(body.id);
    expect(done).toMatchObject({ status: 'completed', candidate_count: count, charged_cents: count * 0.4 });
    const { rows } = await query(
      'select count(*) as items, count(distinct contact_id) as contacts from validation_items where verdict is not null',
    );
    expect(rows).toEqual([{ items: count, contacts: count }]);
  });

  it('waits while another one of the account runs, unless it is a test', async () => {
    const ids = await addContacts(['a@gone.test', 'b@gone.test']);
    const first = await startValidation(api, { contact_ids: ids.slice(0, 1) });
    const second = await startValidation(api, { contact_ids: ids.slice(1) });
    const test = await startValidation(api, { contact_ids: ids }, { token: api.testApiKey });
    const step = async (id: number) => (await advanceValidation(deps, id, new Date(), attendance)).phase;
    expect(await step(first.body.id)).toBe('collecting');
    expect(await step(second.body.id)).toBe('waiting');
    expect(await step(test.body.id)).toBe('collecting');
    await runToEnd(deps, first.body.id);
    expect(await step(second.body.id)).toBe('collecting');
  });

  it('fails after ten tries in a row, and charges what was found', async () => {
    const ids = await addContacts(['a@gone.test']);
    const { body } = await startValidation(api, { contact_ids: ids });
    const broken = {
      check: () => {
        throw new Error('the checker is broken');
      },
      forget: () => undefined,
    };
    const tried = (attempt: number) =>
      advanceValidation({ ...deps, checker: broken }, body.id, new Date(), { ...attendance, attempt });
    await tried(1);
    await tried(1);
    await expect(tried(9)).rejects.toThrow('broken');
    expect((await tried(10)).phase).toBe('done');
    expect(await operationOf(body.id)).toMatchObject({
      status: 'failed',
      charged_cents: 0,
      remaining_count: 1,
    });
    expect(await balance()).toBe(1_000);
  });
});

describe('the items of a validation', () => {
  it('are removed 90 days after its end; the operation stays', async () => {
    const done = await validate(await addContacts(['a@gone.test']));
    const clean = async (days: number) => {
      const asOf = new Date(Date.now() + days * 86_400_000);
      const task = upkeep.tasks.find(({ name }) => name === 'validation_items');
      const of = { config: api.config, database: api.database, log: pino({ level: 'silent' }), ...upkeep };
      await task?.run(of, asOf, () => undefined);
      return (await itemsOf(api, done.id)).length;
    };
    expect([await clean(89), await clean(91)]).toEqual([1, 0]);
    expect(await operationOf(done.id)).toEqual(done);
  });
});

describe('a validation with a test key', () => {
  it('decides by the local part for free, without look-ups, and changes no contacts', async () => {
    const ids = await addContacts([
      ...[
        'ada@gone.test',
        'bounced@gone.test',
        'Catch_All+x@gone.test',
        'greylisted@gone.test',
        'failed@gone.test',
      ],
      'risky@gone.test',
    ]);
    const asked = dns.questions.length;
    const { id, ...done } = await validate(ids, { token: api.testApiKey });
    expect(done).toMatchObject({ unit_price_cents: 0, maximum_charge_cents: 0, charged_cents: 0 });
    const items: Item[] = await itemsOf(api, id);
    expect(items.map(({ verdict, reason }) => [verdict, reason])).toEqual([
      ['deliverable', 'mailbox_accepted'],
      ['undeliverable', 'mailbox_missing'],
      ['risky', 'catch_all'],
      ['unknown', 'greylisted'],
      ['undeliverable', 'no_mail_server'],
      ['risky', 'catch_all'],
    ]);
    expect(dns.questions).toHaveLength(asked);
    expect((await query('select 1 from contact_verdicts')).rowCount).toBe(0);
    expect(await verifiedOf(ids[0])).toBe(false);
    expect(await balance()).toBe(1_000);
  });
});
