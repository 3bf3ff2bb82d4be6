// What releases the held blocks of campaigns signals each campaign once, in the same transaction.
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { releaseDomainPage } from '../../../../src/delivery/ledger/release/release-domain.ts';
import { rerouteBlocks } from '../../../../src/delivery/sender/failover/reroute-blocks.ts';
import { resumeSending, setAccount } from '../../../../src/features/accounts/service.ts';
import { book } from '../../../../src/features/wallet/index.ts';
import { inTransaction, type Queryable } from '../../../../src/platform/db/queryable.ts';
import { writeCampaign } from '../../../support/campaigns.ts';
import { createTestDatabase, type TestDatabase } from '../../../support/database.ts';
import { insertVerifiedDomain } from '../../../support/domains.ts';
import { insertPayer } from '../../../support/money.ts';
import type { QueuedAccount } from '../../../support/queued.ts';

let test: TestDatabase;
let account: QueuedAccount;
let domainId: number;
let prefix = 0;

beforeAll(async () => {
  test = await createTestDatabase();
});
afterAll(() => test.drop());
beforeEach(async () => {
  await test.database.pool.query('delete from outbox');
  account = await insertPayer(test.database);
  domainId = await insertVerifiedDomain(test.database, account, `released${++prefix}.test`);
});

const query = <Row extends object>(text: string, values: unknown[] = []) =>
  test.database.pool.query<Row>(text, values).then(({ rows }) => rows);

/** Writes a campaign of three blocks. @param reason of the hold of its first two; null: it has none */
async function writeHeld(reason: string | null, providerId = 0): Promise<number> {
  const { campaignId } = await writeCampaign(test.database, account, {
    ...{ recipients: 3, blockSize: 1, prefix: `r${++prefix}-`, domainId, providerId },
  });
  await query(
    `update campaign_blocks set hold_reason = $2, due_at = now() + interval '6 hours'
     where campaign_id = $1 and n < 2 and $2::text is not null`,
    [campaignId, reason],
  );
  return campaignId;
}

const signals = async () =>
  (
    await query<{ to: string }>(
      `select workflow_id || ' ' || signal_name as to from outbox where kind = 'signal' order by id`,
    )
  ).map(({ to }) => to);
const stillHeld = () =>
  query('select 1 from campaign_blocks where account_id = $1 and due_at > now()', [account.accountId]);

/** The id of a provider that was removed: no row of `providers` has it. */
const GONE = 999_999;

describe('campaigns with held blocks are signaled once by', () => {
  it.each<[string, string, (trx: Queryable) => Promise<unknown>]>([
    ['a resumed account', 'account_paused', (trx) => resumeSending(trx, account.accountId)],
    ['a raised allowance', 'allowance', (trx) => setAccount(trx, account.accountId, { allowancePerDay: 9 })],
    ['a verified domain', 'domain_unverified', (trx) => releaseDomainPage(trx, { ...account, domainId })],
    [
      'a credit',
      'wallet',
      (trx) => {
        const credit = { kind: 'credit', millicents: 1_000, reference: `invoice ${prefix}` } as const;
        return book(trx, { ...credit, accountId: account.accountId }, 'operator');
      },
    ],
  ])('%s', async (_cause, reason, release) => {
    const held = [await writeHeld(reason), await writeHeld(reason)];
    await writeHeld(null);
    const failed = inTransaction(test.database.pool, async (trx) => {
      await release(trx);
      throw new Error('rolled back');
    });
    await expect(failed).rejects.toThrow('rolled back');
    expect(await signals()).toEqual([]);
    await inTransaction(test.database.pool, release);
    expect(await stillHeld()).toEqual([]);
    expect((await signals()).sort()).toEqual(held.map((id) => `campaign/${id} wake`));
  });

  it('another provider that replaces a removed one, unless something else holds them', async () => {
    const held = await writeHeld('provider_unavailable', GONE);
    const other = await writeHeld('allowance', GONE);
    const backlog = { accountId: account.accountId, channel: 'email', providerId: GONE } as const;
    const { moved } = await rerouteBlocks(test.database.pool, backlog);
    expect(moved).toBe(6);
    expect(await signals()).toEqual([`campaign/${held} wake`]);
    const reasons = await query(
      'select campaign_id as id, hold_reason as reason from campaign_blocks where account_id = $1 and due_at > now()',
      [account.accountId],
    );
    expect(reasons).toEqual([1, 2].map(() => ({ id: other, reason: 'allowance' })));
  });
});
