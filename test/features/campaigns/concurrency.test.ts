// Exactly one of several simultaneous transitions of a campaign wins, and a pause never splits a batch.
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { intendBlock } from '../../../src/delivery/ledger/intend/block-batch.ts';
import { claimBlock } from '../../../src/delivery/ledger/blocks/claim-blocks.ts';
import type { CampaignRow } from '../../../src/features/campaigns/model.ts';
import { type Pins, repinAll, sendCampaign } from '../../../src/features/campaigns/pins.ts';
import { pauseCampaign, resumeCampaign } from '../../../src/features/campaigns/transitions.ts';
import { inTransaction, type Queryable } from '../../../src/platform/db/queryable.ts';
import { writeCampaign } from '../../support/campaigns.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database.ts';
import { eventually } from '../../support/eventually.ts';
import { insertAccount, insertSender, type QueuedAccount } from '../../support/queued.ts';
import { TEST_LIMITS } from '../../support/sending.ts';
import { testKeyring } from '../../support/webhooks.ts';

const OWNER = 70;
const AT_ONCE = 6;

let db: TestDatabase;
let account: QueuedAccount;
let prefix = 0;
let seq = 0;

beforeAll(async () => {
  db = await createTestDatabase({ poolMax: AT_ONCE + 2 });
  await insertSender(db.database, OWNER);
}, 60_000);
beforeEach(async () => {
  account = await insertAccount(db.database);
});
afterAll(() => db.drop());

const query = async <Row extends object>(text: string, values: unknown[] = []): Promise<Row[]> =>
  (await db.database.pool.query<Row>(text, values)).rows;

type Transition = (trx: Queryable) => Promise<CampaignRow | null>;
const apply = (transition: Transition) => inTransaction(db.database.pool, transition);
const pause = (id: number) => apply((trx) => pauseCampaign(trx, { id }));
const resume = (id: number) => apply((trx) => resumeCampaign(trx, { id }));
const times = <T>(work: () => Promise<T>) => Promise.all(Array.from({ length: AT_ONCE }, work));
const succeeded = (rows: (CampaignRow | null)[]) => rows.filter((row) => row !== null).length;

async function statusOf(id: number): Promise<string | undefined> {
  const [row] = await query<{ status: string }>('select status from campaigns where id = $1', [id]);
  return row?.status;
}

async function wakes(id: number): Promise<number> {
  const rows = await query(`select 1 from outbox where workflow_id = 'campaign/' || $1::text`, [id]);
  return rows.length;
}

async function writeBlocks(recipients: number): Promise<number> {
  prefix += 1;
  const options = { recipients, blockSize: 2, prefix: `p${prefix}-` };
  return (await writeCampaign(db.database, account, options)).campaignId;
}

async function writeDraft(): Promise<number> {
  const [draft] = await query<{ id: number }>(
    `insert into campaigns (account_id, brand_id, name) values ($1, $2, 'Sale') returning id`,
    [account.accountId, account.brandId],
  );
  return draft?.id ?? 0;
}

const pins: Pins = {
  audience: {
    ...{ version: 2, listId: null, segmentId: 1, filters: [], segments: {}, evaluated: false },
    ...{ excludeListIds: [], excludeSegmentIds: [], excludeFilters: [], listIds: [], segmentIds: [1] },
  },
  ...{ versionIds: [1], variantTemplateIds: [], fromAddress: null, replyTo: null, domainId: null },
  ...{ providerId: 0, tracking: null, needsApproval: false, scheduledAt: null, beginAt: new Date() },
};

describe('concurrent requests', () => {
  it('pause a campaign once, and resume it once', async () => {
    const id = await writeBlocks(2);
    for (let round = 1; round <= 4; round += 1) {
      expect(succeeded(await times(() => pause(id)))).toBe(1);
      expect(await statusOf(id)).toBe('paused');
      expect(succeeded(await times(() => resume(id)))).toBe(1);
      expect(await statusOf(id)).toBe('active');
      expect(await wakes(id)).toBe(2 * round);
    }
  });

  it('send a draft once, and a pause takes effect only after the send', async () => {
    for (let round = 0; round < 10; round += 1) {
      const id = await writeDraft();
      const send = () => apply((trx) => sendCampaign(trx, { id, status: 'draft' }, pins));
      const [sends, paused] = await Promise.all([Promise.all([send(), send(), send()]), pause(id)]);
      expect(succeeded(sends)).toBe(1);
      expect(await statusOf(id)).toBe(paused ? 'paused' : 'active');
    }
  });
});

describe('a paused campaign that is pinned again', () => {
  it('is written once, and wakes its workflow once', async () => {
    const id = await writeDraft();
    await apply((trx) => sendCampaign(trx, { id, status: 'draft' }, pins));
    const paused = (await pause(id)) as CampaignRow;
    const before = await wakes(id);
    const again = { ...pins, versionIds: [2], replyTo: 'ann@acme.test', needsApproval: true };
    const row = await apply((trx) => repinAll(trx, paused, again));
    expect(row).toMatchObject({ version_ids: [2], reply_to: 'ann@acme.test', approval_state: 'pending' });
    expect(await wakes(id)).toBe(before + 1);
  });
});

describe('a pause while senders intend batches', () => {
  const claim = async () => {
    const of = { channel: 'email' as const, accountId: account.accountId, providerId: 0 };
    return (await claimBlock(db.database.pool, { ...of, owner: OWNER, messages: 2 }, TEST_LIMITS)).claims;
  };
  type Claims = Awaited<ReturnType<typeof claim>>;
  async function intend(claims: Claims): Promise<string[]> {
    const block = claims[0]?.block;
    if (!block) throw new Error('no claims');
    const request = { owner: OWNER, seq: ++seq, provider: 'smtp', claims, keyring: testKeyring };
    const messages = await intendBlock(db.database.pool, request, block);
    return [...new Set(messages.map(({ verdict }) => verdict))];
  }

  it('waits for an intent that is under way', async () => {
    const id = await writeBlocks(2);
    let pausing: Promise<CampaignRow | null> | undefined;
    await apply(async (trx) => {
      await trx.query('select * from campaigns_to_send(array[$1::bigint])', [id]);
      pausing = pause(id);
      await eventually(async () => {
        const waiting = await query(
          `select 1 from pg_locks l join pg_database d on d.oid = l.database
           where not granted and locktype = 'advisory' and d.datname = current_database()`,
        );
        expect(waiting).toHaveLength(1);
      });
      expect(await statusOf(id)).toBe('active');
      return null;
    });
    expect((await pausing)?.status).toBe('paused');
  });

  it('lets each batch leave as a whole or not at all, and none afterwards', async () => {
    const id = await writeBlocks(24);
    const claims: Claims[] = [];
    while (claims.length < 12) claims.push(await claim());
    const late = claims.splice(8);
    const [, ...verdicts] = await Promise.all([pause(id), ...claims.map(intend)]);
    for (const verdict of verdicts) expect([['send'], ['campaign_stopped']]).toContainEqual(verdict);
    for (const each of late) expect(await intend(each)).toEqual(['campaign_stopped']);
    const intents = await query('select 1 from handovers where campaign_id = $1', [id]);
    expect(intents).toHaveLength(verdicts.filter(([verdict]) => verdict === 'send').length);
  });
});
