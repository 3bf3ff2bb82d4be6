// Creating a contact takes a fixed number of database round trips, and finds earlier opt-outs.
import { createHash } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createContact } from '../../../src/features/contacts/write.ts';
import type { CreateContactBody } from '../../../src/features/contacts/schema.ts';
import { inTransaction, type Queryable } from '../../../src/platform/db/queryable.ts';
import { createKeyring } from '../../../src/platform/secrets/keyring.ts';
import { startTestApi, TEST_SECRET, type TestApi } from '../../support/api.ts';

let api: TestApi;
beforeAll(async () => {
  api = await startTestApi();
});
afterAll(() => api.close());

const PATH = '/v1/my/contacts';
const deps = { keyring: createKeyring(TEST_SECRET, []), plusAddresses: true };

/** Creates a contact, and counts how often it waits for PostgreSQL between `begin` and `commit`. */
async function create(body: CreateContactBody) {
  return inTransaction(api.database.pool, async (trx) => {
    let roundTrips = 0;
    const counting: Queryable = {
      query(...args: Parameters<Queryable['query']>) {
        roundTrips += 1;
        return trx.query(...args) as never;
      },
    };
    const { contact, created } = await createContact(counting, deps, api, body);
    return { contact, created, roundTrips };
  });
}

describe('creating a contact', () => {
  it('prepares its insert under a name that says which columns it has', async () => {
    const named = await inTransaction(api.database.pool, async (trx) => {
      for (const body of [{ email: 'one@example.test' }, { email: 'two@example.test', first_name: 'Two' }]) {
        await createContact(trx, deps, api, body);
      }
      const { rows } = await trx.query<{ name: string; columns: string }>(
        `select name, substring(statement from '[(](.*?)[)]') as columns
         from pg_prepared_statements where statement like 'insert into contacts %'`,
      );
      return rows;
    });
    expect(named.length).toBeGreaterThanOrEqual(2);
    for (const { name, columns } of named) {
      const hash = createHash('sha256').update(columns).digest('hex');
      expect(name).toBe(`insert_contact_${hash.slice(0, 12)}`);
    }
  });

  it('takes three round trips, and returns the same as a later GET', async () => {
    await api.request('POST', '/v1/my/suppressions', { body: { phone: '+14155550177' } });
    const made = await create({
      email: 'Few@example.test',
      phone: '+14155550177',
      first_name: 'Few',
      data: { plan: 'pro' },
    });
    expect([made.created, made.roundTrips]).toEqual([true, 3]);
    const { body } = await api.request('GET', `${PATH}/${made.contact.id}`);
    expect(made.contact).toEqual(body);
    expect(made.contact.verification_status).toBe('suppressed');
  });

  it('takes two more with lists, and returns them in order', async () => {
    const lists = await Promise.all(
      ['A', 'B'].map(async (name) => {
        const { body } = await api.request('POST', '/v1/my/lists', { body: { name } });
        return Number(body.id);
      }),
    );
    const ids = lists.sort((a, b) => a - b);
    const made = await create({ email: 'listed@example.test', list_ids: ids.toReversed() });
    expect(made.roundTrips).toBe(5);
    expect(made.contact.list_ids).toEqual(ids);
    expect((await api.request('GET', `${PATH}/${made.contact.id}`)).body).toEqual(made.contact);
  });

  it('finds an opt-out of the address, also of its form without a tag', async () => {
    const optOut = { channels_attributes: [{ kind: 'email', value: 'off@example.test', subscribed: false }] };
    const first = await api.request('POST', PATH, { body: optOut });
    await api.request('DELETE', `${PATH}/${String(first.body.id)}`);
    for (const email of ['OFF@example.test', 'off+news@example.test']) {
      const { contact } = await create({ email, phone: undefined });
      expect([email, contact.subscribed_email, contact.channels[0]?.opt_in_at]).toEqual([email, false, null]);
      expect(contact.channels[0]?.opt_out_at).not.toBeNull();
    }
    const { contact } = await create({ email: 'off+new@example.test', phone: '+14155550178' });
    expect([contact.subscribed_email, contact.subscribed_phone]).toEqual([false, true]);
  });
});
