import type pg from 'pg';
import { inTransaction, type Queryable } from '../../src/platform/db/queryable.ts';
import type { CampaignOptions } from '../../src/features/campaigns/options.ts';
import { filterSetsOf, pinAudience } from '../../src/features/campaigns/audience.ts';
import type { NamedAudience } from '../../src/features/campaigns/pinned-audience.ts';
import type { Evaluations } from '../../src/features/campaigns/run/evaluations.ts';
import { closeFilters } from '../../src/features/segments/index.ts';
import type { QueuedAccount } from './queued.ts';

export interface CampaignSpec {
  audience?: Partial<NamedAudience>;
  options?: Partial<CampaignOptions>;
  phase?: 'waiting' | 'snapshot';
  approval?: 'not_required' | 'pending';
  scheduledAt?: Date;
  beginAt?: Date;
  asOf?: Date;
  channel?: 'email' | 'sms';
  versionIds?: number[];
}

export async function insertList(
  db: Queryable,
  { accountId, brandId }: QueuedAccount,
  contactIds: readonly number[] = [],
): Promise<number> {
  const { rows } = await db.query<{ id: number }>(
    `with l as (insert into lists (account_id, brand_id, name) values ($1, $2, 'L') returning id),
     m as (insert into list_members (list_id, contact_id) select l.id, c from l, unnest($3::bigint[]) c)
     select id from l`,
    [accountId, brandId, contactIds],
  );
  return rows[0]?.id ?? 0;
}

/**
 * Inserts a campaign in the state in which `send` leaves it: active, with its audience and its versions pinned.
 * @returns its id
 */
export async function insertSentCampaign(
  db: Queryable,
  { accountId, brandId }: QueuedAccount,
  spec: CampaignSpec = {},
): Promise<number> {
  const asOf = spec.asOf ?? new Date();
  const named: NamedAudience = {
    listId: null,
    segmentId: null,
    filters: null,
    excludeListIds: [],
    excludeSegmentIds: [],
    excludeFilters: [],
    ...spec.audience,
  };
  const audience = pinAudience(named, await closeFilters(db, { brandId }, filterSetsOf(named)));
  const isSnapshot = spec.phase === 'snapshot';
  const { rows } = await db.query<{ id: number }>(
    `insert into campaigns (account_id, brand_id, channel, name, status, phase, approval_state, options, scheduled_at,
       begin_at, audience, version_ids, from_address, counted_from, max_contact_id, snapshot_at, engine_expected_by,
       contact_list_id)
     values ($1, $2, $3, 'Spring sale', 'active', $4, $5, $6, $7, $8, $9, $10, 'news@acme.test', $11,
       case when $12 then (select max(id) from contacts where brand_id = $2) end, case when $12 then $11::timestamptz end,
       now() + interval '2 minutes', $13)
     returning id`,
    [
      accountId,
      brandId,
      spec.channel ?? 'email',
      spec.phase ?? 'waiting',
      spec.approval ?? 'not_required',
      JSON.stringify(spec.options ?? {}),
      spec.scheduledAt ?? null,
      spec.beginAt ?? spec.scheduledAt ?? asOf,
      JSON.stringify(audience),
      spec.versionIds ?? [1],
      asOf,
      isSnapshot,
      audience.listId,
    ],
  );
  return rows[0]?.id ?? 0;
}

/** Evaluates audiences on the connections of a pool, without waiting for turns. */
export const evaluationsIn = (pool: pg.Pool): Evaluations => ({
  run: (_accountId, work) => inTransaction(pool, work),
  close: () => Promise.resolve(),
});

export interface Recipient {
  id: number;
  address: string | null;
  status: string;
  code: string | null;
  variant: number | null;
  version: number | null;
  contact_id: number;
}

export async function recipientsOf(db: Queryable, campaignId: number): Promise<Recipient[]> {
  const { rows } = await db.query<Recipient>(
    `select id, to_address as address, status, failure->>'code' as code, variant, content_version_id as version, contact_id
     from messages where campaign_id = $1 order by id`,
    [campaignId],
  );
  return rows;
}

export interface Block {
  n: number;
  first_id: number;
  last_id: number;
  size: number;
  variant: number;
  /** Null: infinity. */
  due_at: Date | null;
  closed: boolean;
}

export async function blocksOf(db: Queryable, campaignId: number): Promise<Block[]> {
  const { rows } = await db.query<Block>(
    `select n, first_id, last_id, size, variant, case when isfinite(due_at) then due_at end as due_at,
       closed_at is not null as closed
     from campaign_blocks where campaign_id = $1 order by n`,
    [campaignId],
  );
  return rows;
}

/** The outcome for a recipient at a test sender. */
export type TestOutcome = 'sent' | 'hard_bounce' | 'complained' | 'failed';

/**
 * Sends the blocks that are due at `asOf` like senders do, as far as the database shows: writes outcomes, and closes
 * the blocks, whose tallies are still to be counted.
 * @param outcomeOf by the number of the message in its block
 */
export async function sendDueBlocks(
  db: Queryable,
  campaignId: number,
  asOf: Date,
  outcomeOf: (n: number) => TestOutcome = () => 'sent',
): Promise<number> {
  const { rows } = await db.query<{ n: number; size: number; ids: number[] }>(
    `select b.n, array(select m.id from messages m where m.campaign_id = b.campaign_id
       and m.id between b.first_id and b.last_id and m.status = 'queued' order by m.id) as ids
     from campaign_blocks b join campaigns c on c.id = b.campaign_id
     where b.campaign_id = $1 and b.closed_at is null and b.due_at <= $2 and c.status = 'active'
       and c.phase in ('snapshot', 'sending')`,
    [campaignId, asOf],
  );
  let sent = 0;
  for (const { n, ids } of rows) {
    const outcomes = ids.map((_, index) => outcomeOf(index));
    await db.query(
      `with given as (select * from unnest($1::bigint[], $2::text[]) as g (id, outcome)),
       updated as (
         update messages m set updated_at = $5,
           status = case g.outcome when 'hard_bounce' then 'bounced' else g.outcome end,
           sent_at = case when g.outcome in ('sent', 'complained') then $5::timestamptz end,
           bounce = case when g.outcome = 'hard_bounce' then '{"type": "hard"}'::jsonb end
         from given g where m.id = g.id)
       update campaign_blocks set closed_at = $5, claim_epoch = claim_epoch + 2, owner = null, recount = true
       where campaign_id = $3 and n = $4`,
      [ids, outcomes, campaignId, n, asOf],
    );
    sent += ids.length;
  }
  return sent;
}
