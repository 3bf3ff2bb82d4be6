// An opt-out is stored once without the address, and applies to one brand and channel.
import { afterAll, beforeAll, beforeEach, expect, it } from '@jest/globals';
import { endOptOut, isOptedOut, recordOptOut } from '../../../../src/delivery/ledger/consent/opt-outs.ts';
import { createKeyring } from '../../../../src/platform/secrets/keyring.ts';
import { createTestDatabase, type TestDatabase } from '../../../support/database.ts';
import { insertAccount, type QueuedAccount } from '../../../support/queued.ts';

const OLD_SECRET = 'the secret of last year, long enough';
const keyring = createKeyring('the secret of this year, long enough', [OLD_SECRET]);

let test: TestDatabase;
let account: QueuedAccount;
beforeAll(async () => {
  test = await createTestDatabase();
});
afterAll(() => test.drop());
beforeEach(async () => {
  account = await insertAccount(test.database);
});

const email = (address: string) => ({ brandId: account.brandId, channel: 'email' as const, address });
const how = () => ({ accountId: account.accountId, source: 'one_click' as const, messageId: null });
const pool = () => test.database.pool;

it('records an opt-out once, whatever the case and the form of the domain', async () => {
  expect(await recordOptOut(pool(), keyring, { ...email('Ada@Bücher.example'), ...how() })).toBe(true);
  expect(await recordOptOut(pool(), keyring, { ...email('ada@XN--bcher-kva.example'), ...how() })).toBe(
    false,
  );
  expect(await isOptedOut(pool(), keyring, email('ADA@bücher.example'))).toBe(true);
  expect(await isOptedOut(pool(), keyring, email('bob@bücher.example'))).toBe(false);
});

it('stores no address', async () => {
  await recordOptOut(pool(), keyring, { ...email('grace@example.com'), ...how() });
  const { rows } = await pool().query('select o::text as row from opt_outs o');
  expect(JSON.stringify(rows)).not.toContain('grace');
  expect(JSON.stringify(rows)).not.toContain(Buffer.from('grace@example.com').toString('hex'));
});

it('keeps brands and channels apart', async () => {
  const other = await insertAccount(test.database);
  await recordOptOut(pool(), keyring, { ...email('ada@example.com'), ...how() });
  expect(await isOptedOut(pool(), keyring, { ...email('ada@example.com'), brandId: other.brandId })).toBe(
    false,
  );
  const phone = { brandId: account.brandId, channel: 'sms' as const, address: '+4915112345678' };
  expect(await recordOptOut(pool(), keyring, { ...phone, ...how(), source: 'sms_stop' })).toBe(true);
  expect(await isOptedOut(pool(), keyring, phone)).toBe(true);
});

it('honours opt-outs recorded under a former secret, and ends them', async () => {
  const former = createKeyring(OLD_SECRET);
  await recordOptOut(pool(), former, { ...email('old@example.com'), ...how() });
  expect(await isOptedOut(pool(), keyring, email('old@example.com'))).toBe(true);
  expect(await recordOptOut(pool(), keyring, { ...email('old@example.com'), ...how() })).toBe(false);
  expect(await endOptOut(pool(), keyring, email('old@example.com'))).toBe(true);
  expect(await isOptedOut(pool(), keyring, email('old@example.com'))).toBe(false);
  expect(await endOptOut(pool(), keyring, email('old@example.com'))).toBe(false);
});

it('records an opt-out again after the recipient had subscribed again', async () => {
  const ada = { ...email('ada@example.com'), ...how() };
  await recordOptOut(pool(), keyring, ada);
  await endOptOut(pool(), keyring, ada);
  expect(await recordOptOut(pool(), keyring, ada)).toBe(true);
  expect(await isOptedOut(pool(), keyring, ada)).toBe(true);
});

it('finds no opt-out for a text that is not an address', async () => {
  expect(await recordOptOut(pool(), keyring, { ...email('not an address'), ...how() })).toBe(false);
  expect(await isOptedOut(pool(), keyring, email('not an address'))).toBe(false);
});

it('covers addresses with and without a tag if the setting says so, and keeps them covered', async () => {
  const tagged = { ...email('tag+news@example.com'), ...how() };
  await recordOptOut(pool(), keyring, { ...tagged, plusAddresses: true });
  expect(await isOptedOut(pool(), keyring, { ...email('tag@example.com'), plusAddresses: true })).toBe(true);
  expect(await isOptedOut(pool(), keyring, { ...email('tag+shop@example.com'), plusAddresses: true })).toBe(
    true,
  );
  expect(await isOptedOut(pool(), keyring, email('tag+news@example.com'))).toBe(true);
  expect(await isOptedOut(pool(), keyring, email('tag+shop@example.com'))).toBe(false);
});

it('ends the opt-out of the address without the tag only if it was stored with that of the tagged one', async () => {
  const base = { ...email('own@example.com'), plusAddresses: true };
  const tagged = { ...email('own+news@example.com'), plusAddresses: true };
  await recordOptOut(pool(), keyring, { ...base, ...how() });
  await recordOptOut(pool(), keyring, { ...tagged, ...how() });
  await endOptOut(pool(), keyring, tagged);
  expect(await isOptedOut(pool(), keyring, base)).toBe(true);
  expect(await isOptedOut(pool(), keyring, email('own+news@example.com'))).toBe(false);

  const other = { ...email('with+news@example.com'), plusAddresses: true };
  await recordOptOut(pool(), keyring, { ...other, ...how() });
  await endOptOut(pool(), keyring, other);
  expect(await isOptedOut(pool(), keyring, { ...email('with@example.com'), plusAddresses: true })).toBe(
    false,
  );
});
