// An address belongs to the inbox of the brand that has proved the domain; other mail is refused, or asked to come later.
import { afterAll, beforeAll, beforeEach, expect, it } from '@jest/globals';
import { resolveInboxAddress } from '../../../../src/features/inbox/inboxes/resolve.ts';
import { createTestTenant, type TestTenant } from '../../../support/api.ts';
import { createTestDatabase, type TestDatabase } from '../../../support/database.ts';
import { insertVerifiedDomain } from '../../../support/domains.ts';
import { allowInboxes, insertInbox } from '../../../support/inboxes.ts';

let test: TestDatabase;
let one: TestTenant;
let two: TestTenant;

beforeAll(async () => {
  test = await createTestDatabase();
  one = await createTestTenant(test.database, 'One');
  two = await createTestTenant(test.database, 'Two');
});
afterAll(() => test.drop());
beforeEach(async () => {
  await test.database.pool.query('delete from inboxes');
  await test.database.pool.query('delete from domains');
  for (const { accountId } of [one, two]) await allowInboxes(test.database, accountId);
});

const resolve = (address: string) => resolveInboxAddress(test.database.pool, address, 'mail.test');

const inboxOf = (tenant: TestTenant, id: number, address: string) => ({
  kind: 'inbox',
  id,
  accountId: tenant.accountId,
  brandId: tenant.brandId,
  address,
});
const refused = (status: 550 | 451) => ({
  kind: 'refused',
  status,
  text: expect.stringMatching(status === 550 ? /^5\.\d\.\d / : /^4\.\d\.\d /),
});

/** Inserts an inbox at a domain that the tenant has verified. */
async function verifiedInbox(tenant: TestTenant, address = 'support@acme.example') {
  await insertVerifiedDomain(test.database, tenant, address.split('@')[1] ?? '');
  return insertInbox(test.database, tenant, address);
}

async function lose({ brandId }: TestTenant, hoursAgo: number): Promise<void> {
  await test.database.pool.query(
    `update domains set status = 'failed', verified_at = null, lost_at = now() - $2 * interval '1 hour'
     where brand_id = $1`,
    [brandId, hoursAgo],
  );
}

it('refuses an address without an inbox, and what is no address', async () => {
  await verifiedInbox(one);
  for (const address of [
    'nobody@acme.example',
    'support@other.example',
    'support',
    '@',
    'support@[192.0.2.1]',
  ])
    expect(await resolve(address)).toEqual(refused(550));
});

it('finds an inbox in any case, and whatever tag the address has', async () => {
  const id = await verifiedInbox(one);
  const expected = inboxOf(one, id, 'support@acme.example');
  for (const address of ['support@acme.example', 'Support@ACME.example', 'support+a+b@acme.example'])
    expect(await resolve(address)).toEqual(expected);
  expect(await resolve('+support@acme.example')).toEqual(refused(550));
});

it('finds a built-in inbox without a domain', async () => {
  const address = `inbox-${one.brandId}@mail.test`;
  const id = await insertInbox(test.database, one, address, { builtIn: true });
  expect(await resolve(address)).toEqual(inboxOf(one, id, address));
  expect(await resolve(`inbox-${one.brandId}+x@MAIL.test`)).toEqual(inboxOf(one, id, address));
});

it('refuses mail to an inbox that is disabled or removed, or whose account may not have inboxes', async () => {
  const id = await verifiedInbox(one);
  await test.database.pool.query('update inboxes set enabled = false where id = $1', [id]);
  expect(await resolve('support@acme.example')).toEqual(refused(550));
  await test.database.pool.query('update inboxes set enabled = true, removed_at = now() where id = $1', [id]);
  expect(await resolve('support@acme.example')).toEqual(refused(550));
  await test.database.pool.query('update inboxes set removed_at = null where id = $1', [id]);
  expect(await resolve('support@acme.example')).toMatchObject({ kind: 'inbox' });
  await allowInboxes(test.database, one.accountId, false);
  expect(await resolve('support@acme.example')).toEqual(refused(550));
});

it('asks senders to try again for 72 hours after the domain lost its verification', async () => {
  await verifiedInbox(one);
  await lose(one, 71.9);
  expect(await resolve('support@acme.example')).toEqual(refused(451));
  await lose(one, 72.1);
  expect(await resolve('support@acme.example')).toEqual(refused(550));
});

it('asks senders to try again while the domain, registered once more, is pending', async () => {
  await verifiedInbox(one);
  await test.database.pool.query(`update domains set status = 'pending', verified_at = null`);
  expect(await resolve('support@acme.example')).toEqual(refused(451));
  await test.database.pool.query(`update domains set status = 'failed'`);
  expect(await resolve('support@acme.example')).toEqual(refused(550));
});

it('refuses mail after the brand removed its domain', async () => {
  await verifiedInbox(one);
  await test.database.pool.query('delete from domains');
  expect(await resolve('support@acme.example')).toEqual(refused(550));
});

it('does not ask senders to try again while the inbox is disabled', async () => {
  const id = await verifiedInbox(one);
  await lose(one, 1);
  await test.database.pool.query('update inboxes set enabled = false where id = $1', [id]);
  expect(await resolve('support@acme.example')).toEqual(refused(550));
});

it('refuses mail at once if another account has proved the domain', async () => {
  await verifiedInbox(one);
  await lose(one, 1);
  await insertVerifiedDomain(test.database, two, 'acme.example');
  expect(await resolve('support@acme.example')).toEqual(refused(550));
});

it('prefers, of several inboxes with the address, the one whose brand has proved the domain', async () => {
  await verifiedInbox(one);
  await lose(one, 1);
  const id = await verifiedInbox(two);
  expect(await resolve('support@acme.example')).toEqual(inboxOf(two, id, 'support@acme.example'));
  await test.database.pool.query('update inboxes set enabled = false where id = $1', [id]);
  expect(await resolve('support@acme.example')).toEqual(refused(550));
});
