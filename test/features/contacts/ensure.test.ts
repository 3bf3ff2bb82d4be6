// Simultaneous callers create each contact once, and a new contact never overrides a recorded opt-out.
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { recordOptOut } from '../../../src/delivery/ledger/consent/opt-outs.ts';
import {
  ensureContacts,
  findContactIds,
  presentContacts,
  setSubscription,
} from '../../../src/features/contacts/service.ts';
import { inTransaction } from '../../../src/platform/db/queryable.ts';
import { createKeyring } from '../../../src/platform/secrets/keyring.ts';
import { createTestTenant, TEST_SECRET, type TestTenant } from '../../support/api.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database.ts';

const deps = { keyring: createKeyring(TEST_SECRET), plusAddresses: false };
let test: TestDatabase;
let tenant: TestTenant;

beforeAll(async () => {
  test = await createTestDatabase();
  tenant = await createTestTenant(test.database, 'Acme');
});
afterAll(() => test.drop());

const emails = (...keys: string[]) => keys.map((key) => ({ address: key, key }));
const ensure = (...keys: string[]) =>
  inTransaction(test.database.pool, (trx) => ensureContacts(trx, deps, tenant, emails(...keys), 'event'));

const optOut = (address: string) =>
  recordOptOut(test.database.pool, deps.keyring, {
    accountId: tenant.accountId,
    brandId: tenant.brandId,
    channel: 'email',
    address,
    source: 'one_click',
    messageId: null,
  });

async function one(key: string) {
  const { pool } = test.database;
  const { byEmailKey } = await findContactIds(pool, tenant.brandId, { emailKeys: [key] });
  const [contact] = await presentContacts(pool, tenant.brandId, [...byEmailKey.values()]);
  if (!contact) throw new Error('no such contact');
  return contact;
}

describe('ensureContacts', () => {
  it('creates missing contacts and finds the others', async () => {
    const first = await ensure('a@e.test', 'b@e.test');
    const second = await ensure('b@e.test', 'c@e.test');
    expect(first.get('a@e.test')).toMatchObject({ created: true });
    expect(second.get('b@e.test')).toEqual({ id: first.get('b@e.test')?.id, created: false });
    expect(second.get('c@e.test')).toMatchObject({ created: true });
  });

  it('subscribes new contacts without an opt-in time', async () => {
    await ensure('new@e.test');
    const contact = await one('new@e.test');
    expect(contact).toMatchObject({ subscribed_email: true, source: 'event' });
    expect(contact.channels).toMatchObject([{ id: contact.id * 2, opt_in_at: null, value: 'new@e.test' }]);
  });

  it('leaves an address in the opt-out ledger unsubscribed', async () => {
    await optOut('Gone@E.test');
    await ensure('gone@e.test');
    const { subscribed_email, channels } = await one('gone@e.test');
    expect(subscribed_email).toBe(false);
    expect(channels[0]?.opt_out_at).not.toBeNull();
  });

  it('creates each contact once for fifty callers with the same addresses in any order', async () => {
    const keys = Array.from({ length: 40 }, (_, index) => `crowd-${index}@e.test`);
    const callers = Array.from({ length: 50 }, (_, turn) =>
      ensure(...keys.slice(turn % 40), ...keys.slice(0, turn % 40)),
    );
    const all = await Promise.all(callers);
    for (const key of keys) {
      expect(new Set(all.map((found) => found.get(key)?.id)).size).toBe(1);
      expect(all.filter((found) => found.get(key)?.created)).toHaveLength(1);
    }
  });

  it('sees the opt-out of an address that unsubscribes while its contact is created', async () => {
    const keys = Array.from({ length: 30 }, (_, index) => `racing-${index}@e.test`);
    await Promise.all(
      keys.flatMap((key) => [
        ensure(key),
        inTransaction(test.database.pool, (trx) =>
          setSubscription(trx, deps, {
            accountId: tenant.accountId,
            brandId: tenant.brandId,
            channel: 'email',
            subscribed: false,
            source: 'one_click',
            of: { key },
          }),
        ),
      ]),
    );
    for (const key of keys) expect((await one(key)).subscribed_email).toBe(false);
  });
});

describe('setSubscription', () => {
  it('unsubscribes contacts whose addresses differ only by the tag, if the setting makes them one recipient', async () => {
    await ensure('fam@e.test', 'fam+a@e.test', 'fam+b@e.test', 'family@e.test');
    await inTransaction(test.database.pool, (trx) =>
      setSubscription(
        trx,
        { ...deps, plusAddresses: true },
        {
          accountId: tenant.accountId,
          brandId: tenant.brandId,
          channel: 'email',
          subscribed: false,
          source: 'one_click',
          of: { key: 'fam+a@e.test' },
        },
      ),
    );
    for (const key of ['fam@e.test', 'fam+a@e.test', 'fam+b@e.test']) {
      expect((await one(key)).subscribed_email).toBe(false);
    }
    expect((await one('family@e.test')).subscribed_email).toBe(true);
  });

  const change = (of: { contactId: number } | { key: string }, subscribed: boolean) =>
    inTransaction(test.database.pool, (trx) =>
      setSubscription(trx, deps, {
        accountId: tenant.accountId,
        brandId: tenant.brandId,
        channel: 'email',
        subscribed,
        source: 'manual',
        of,
      }),
    );

  it('changes the contact and the ledger, and nothing the second time', async () => {
    const id = (await ensure('set@e.test')).get('set@e.test')?.id ?? 0;
    const unsubscribed = { contactId: id, key: 'set@e.test' };
    expect(await change({ contactId: id }, false)).toEqual({ ...unsubscribed, changed: true });
    const { channels } = await one('set@e.test');
    expect(await change({ key: 'set@e.test' }, false)).toEqual({ ...unsubscribed, changed: false });
    expect((await one('set@e.test')).channels).toEqual(channels);
    const { rows } = await test.database.pool.query(
      `select count(*) from opt_outs where brand_id = $1 and source = 'manual' and ended_at is null`,
      [tenant.brandId],
    );
    expect(rows).toEqual([{ count: 1 }]);
    expect(await change({ contactId: id }, true)).toMatchObject({ changed: true });
    expect((await one('set@e.test')).channels).toMatchObject([{ subscribed: true, opt_out_at: null }]);
  });

  it('records the opt-out of an address that no contact has', async () => {
    expect(await change({ key: 'nobody@e.test' }, false)).toEqual({
      contactId: null,
      key: null,
      changed: false,
    });
    await ensure('nobody@e.test');
    expect((await one('nobody@e.test')).subscribed_email).toBe(false);
  });
});
