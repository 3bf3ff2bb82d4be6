// Claims of blocks keep to the throttle of a campaign however late it is, and brands and campaigns take turns.
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { createBacklogs } from '../../../../src/delivery/sender/turns/backlogs.ts';
import { resumeCampaign } from '../../../../src/features/campaigns/transitions.ts';
import { inTransaction } from '../../../../src/platform/db/queryable.ts';
import { claimRecipients, writeCampaign } from '../../../support/campaigns.ts';
import { createTestDatabase, type TestDatabase } from '../../../support/database.ts';
import { insertAccount, insertSender, type QueuedAccount } from '../../../support/queued.ts';

const OWNER = 88;

let test: TestDatabase;
let account: QueuedAccount;
let prefix = 0;

beforeAll(async () => {
  test = await createTestDatabase();
  await insertSender(test.database, OWNER);
});
afterAll(() => test.drop());
beforeEach(async () => {
  account = await insertAccount(test.database);
});

const query = <Row extends object>(text: string, ...values: unknown[]) =>
  test.database.pool.query<Row>(text, values).then(({ rows }) => rows);

const claim = (providerId = 0, messages = 1_000) =>
  claimRecipients(test.database, { accountId: account.accountId, owner: OWNER, providerId, messages });

/** @param dueAgo how long ago its blocks were due */
async function write(
  of: QueuedAccount,
  { blocks = 4, dueAgo = '0 s', throttle, providerId = 0 }: WriteOptions = {},
): Promise<number> {
  const size = { recipients: blocks * 10, blockSize: 10, prefix: `t${++prefix}-`, providerId };
  const { campaignId } = await writeCampaign(test.database, of, size);
  await query(
    'update campaign_blocks set due_at = now() - $2::interval where campaign_id = $1',
    ...[campaignId, dueAgo],
  );
  if (throttle !== undefined) {
    const options = JSON.stringify({ throttle_per_minute: throttle });
    await query('update campaigns set options = $2 where id = $1', campaignId, options);
  }
  return campaignId;
}

interface WriteOptions {
  blocks?: number;
  dueAgo?: string;
  throttle?: number;
  providerId?: number;
}

const clock = async () => (await query<{ at: string }>('select clock_timestamp()::text as at'))[0]?.at ?? '';

/**
 * Claims a block, and returns whether the throttle delays the next block by `wait`. The exact start of the claim's
 * transaction is not known, only a time before and a time after it.
 * @param wait SQL: seconds from `start`, which is the later of the block's `due_at` and two seconds before the claim
 */
async function claimsAndWaits(campaignId: number, wait: string): Promise<[number, boolean | undefined]> {
  const before = await clock();
  const claims = await claim();
  const start = (at: string) =>
    `greatest(b.due_at, ${at}::timestamptz - interval '2 seconds') + interval '${wait}'`;
  const [row] = await query<{ kept: boolean }>(
    `select t.next_free_at between ${start('$2')} and ${start('$3')} as kept
     from campaign_turns t join campaign_blocks b using (campaign_id) where campaign_id = $1 and n = 0`,
    ...[campaignId, before, await clock()],
  );
  return [claims.length, row?.kept];
}

/** Seconds until the throttle of a campaign lets the next block go. */
async function freeIn(campaignId: number): Promise<number> {
  const [row] = await query<{ seconds: number }>(
    `select extract(epoch from next_free_at - claimed_at)::float8 as seconds from campaign_turns where campaign_id = $1`,
    campaignId,
  );
  return row?.seconds ?? NaN;
}

const setFree = (campaignId: number) =>
  query('update campaign_turns set next_free_at = now() where campaign_id = $1', campaignId);

describe('a throttled campaign', () => {
  it('keeps its pace after a wait, whatever made it late', async () => {
    const id = await write(account, { dueAgo: '2 hours', throttle: 20 });
    // Ten messages take thirty seconds, of which the throttle catches up two.
    expect(await claimsAndWaits(id, '30 s')).toEqual([10, true]);
    expect(await claim()).toEqual([]);
    await setFree(id);
    expect(await claim()).toHaveLength(10);
    expect(await claim()).toEqual([]);
  });

  it('keeps its pace after a release ends its hold', async () => {
    const id = await write(account, { throttle: 20 });
    await query('update accounts set sending_paused_at = now() where id = $1', account.accountId);
    expect(await claim()).toEqual([]);
    await query('update accounts set sending_paused_at = null where id = $1', account.accountId);
    await query('update campaign_blocks set due_at = now(), hold_reason = null where campaign_id = $1', id);
    expect(await claim()).toHaveLength(10);
    expect(await claim()).toEqual([]);
  });

  it('keeps its pace after a resume, without a step of its workflow', async () => {
    const id = await write(account, { dueAgo: '1 hour', throttle: 20 });
    await query(`update campaigns set status = 'paused' where id = $1`, id);
    await inTransaction(test.database.pool, (trx) => resumeCampaign(trx, { id }));
    expect(await claim()).toHaveLength(10);
    expect(await claim()).toEqual([]);
  });

  it('gives a sender the part of a block that it wants, and waits accordingly', async () => {
    const id = await write(account, { throttle: 600 });
    expect(await claim(0, 4)).toHaveLength(4);
    expect(await freeIn(id)).toBeLessThanOrEqual(0.4);
    await setFree(id);
    expect(await claim()).toHaveLength(6);
  });

  it('keeps to the times of its blocks while senders take them soon', async () => {
    const id = await write(account, { throttle: 20 });
    expect(await claimsAndWaits(id, '30 s')).toEqual([10, true]);
  });

  it('is checked when its next block may go', async () => {
    const id = await write(account, { dueAgo: '1 hour', throttle: 1 });
    await claim();
    await query(`update campaigns set status = 'paused' where id <> $1`, id);
    const backlogs = createBacklogs(test.database.pool);
    await backlogs.refresh();
    expect([...backlogs.due('email')]).toEqual([]);
    expect(backlogs.nextLookMs()).toBeGreaterThan(300_000);
  });

  it('does not delay other campaigns', async () => {
    await write(account, { dueAgo: '1 hour', throttle: 20 });
    const other = await write(account, { blocks: 2 });
    const taken = [await claim(), await claim(), await claim(), await claim()];
    expect(taken.map((claims) => claims.length)).toEqual([10, 10, 10, 0]);
    expect(taken.filter(([first]) => first?.block?.campaignId === other)).toHaveLength(2);
  });
});

describe('turns', () => {
  /** The campaigns of the next claims. */
  async function served(count: number, providerId = 0): Promise<number[]> {
    const ids: number[] = [];
    for (let n = 0; n < count; n += 1) {
      const [first] = await claim(providerId);
      ids.push(first?.block?.campaignId ?? 0);
    }
    return ids;
  }

  const insertBrand = async (): Promise<QueuedAccount> => {
    const [row] = await query<{ id: number }>(
      'insert into brands (account_id) values ($1) returning id',
      account.accountId,
    );
    return { accountId: account.accountId, brandId: row?.id ?? 0 };
  };

  it('are taken by the campaigns of a brand, whatever was due first', async () => {
    const large = await write(account, { blocks: 6, dueAgo: '1 hour' });
    expect(await served(2)).toEqual([large, large]);
    const small = await write(account, { blocks: 2 });
    expect(await served(5)).toEqual([small, large, small, large, large]);
  });

  it('are taken by brands, however many campaigns one has', async () => {
    const brand = await insertBrand();
    const many = [
      await write(account, { blocks: 3, dueAgo: '1 hour' }),
      await write(account, { blocks: 3, dueAgo: '1 hour' }),
      await write(account, { blocks: 3, dueAgo: '1 hour' }),
    ];
    const one = await write(brand, { blocks: 3 });
    const [first, second, third] = many;
    expect(await served(6)).toEqual([first, one, second, one, third, one]);
  });

  it('at one provider do not depend on those at another', async () => {
    const brand = await insertBrand();
    const own = await write(account, { blocks: 2 });
    await write(account, { blocks: 9, providerId: 7 });
    const other = await write(brand, { blocks: 9, dueAgo: '1 hour' });
    expect(await served(1)).toEqual([other]);
    expect(await served(3, 7)).not.toContain(0);
    expect(await served(2)).toEqual([own, other]);
  });
});
