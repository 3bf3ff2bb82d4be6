import { backlogName, BLOCKS_CLASS } from '../../terms/backlog.ts';
import { wakeCampaignsCte } from '../blocks/wake-campaigns.ts';
import { domainUnverified } from '../limits/domain-unverified.ts';
import { type MessageClass, messageClasses } from '../../terms/message.ts';
import type { Queryable } from '../../../platform/db/queryable.ts';

/** Maximum number of messages that one statement releases. */
const PAGE = 2_000;

/** SQL: the lowest and the highest id of a page, so that only the partitions between them are searched. */
const PAGE_SPAN = '(select min(message_id) from page) and (select max(message_id) from page)';

/** SQL: the messages `q` that wait for the domain $2 of the account $1; $3: all classes. */
const waitingSql = `
  owner is null and channel = 'email' and class = any($3::smallint[]) and account_id = $1 and due_at > now()
  and domain_id = $2 and exists (
    select 1 from messages m
    where m.id = q.message_id and m.status = 'held' and m.hold ->> 'reason' = 'domain_unverified')`;

/** Makes due the blocks that wait for the domain, and signals their campaigns. @returns the names of their backlogs */
async function releaseBlocks(
  db: Queryable,
  { accountId, domainId }: { accountId: number; domainId: number },
): Promise<string[]> {
  const { rows } = await db.query<{ providerId: number }>({
    name: 'release_held_domain_blocks',
    text: `
    with held as materialized (
      select campaign_id, n from campaign_blocks
      where account_id = $1 and domain_id = $2 and hold_reason = '${domainUnverified.name}' and owner is null
        and closed_at is null
      order by campaign_id, n for update
    ), released as (
      update campaign_blocks b set due_at = now(), hold_reason = null
      from held h where b.campaign_id = h.campaign_id and b.n = h.n returning b.provider_id
    )${wakeCampaignsCte('held')}
    select distinct provider_id as "providerId" from released`,
    values: [accountId, domainId],
  });
  return rows.map(({ providerId }) =>
    backlogName({ channel: 'email', class: BLOCKS_CLASS, accountId, providerId }),
  );
}

/** What one page of a release did. */
export interface DomainRelease {
  /**
   * Number of messages, and of backlogs with blocks, that are due now. 0: none is left but locked ones, see
   * {@link waitsForDomain}.
   */
  released: number;
  /** The names of their backlogs, to wake senders with. */
  backlogs: string[];
}

/**
 * Makes due a page of the messages that the limit `domain_unverified` holds. Senders then claim them, and the limits
 * decide again. Skips messages that are locked: a recorder that has locked one wants its queue row next, which this
 * statement has locked.
 * @param domainId may be a domain that no longer exists
 */
export async function releaseDomainPage(
  db: Queryable,
  { accountId, domainId }: { accountId: number; domainId: number },
): Promise<DomainRelease> {
  const { rows } = await db.query<{ class: MessageClass; providerId: number; count: number }>({
    name: 'release_domain_messages',
    text: `
    with page as (
      select message_id, class from send_queue q
      where ${waitingSql}
      order by due_at limit ${PAGE} for update skip locked
    ), lockable as (
      select id from messages where id = any(array(select message_id from page)) and id between ${PAGE_SPAN}
      order by id for no key update skip locked
    ), marked as (
      update messages m set status = 'queued', hold = null, updated_at = now(),
        last_hold = m.last_hold || jsonb_build_object('released_at', now())
      where m.id = any(array(select id from lockable)) and m.id between ${PAGE_SPAN} and m.status = 'held'
    ), released as (
      update send_queue q set due_at = q.queued_at
      where q.message_id = any(array(select id from lockable)) returning class, provider_id
    )
    select class, provider_id as "providerId", count(*)::int as count from released group by class, provider_id`,
    values: [accountId, domainId, Object.values(messageClasses)],
  });
  const blocks = await releaseBlocks(db, { accountId, domainId });
  return {
    released: rows.reduce((sum, { count }) => sum + count, blocks.length),
    backlogs: [...rows.map((row) => backlogName({ channel: 'email', accountId, ...row })), ...blocks],
  };
}

/** Whether messages wait for a domain, including locked ones. */
export async function waitsForDomain(
  db: Queryable,
  { accountId, domainId }: { accountId: number; domainId: number },
): Promise<boolean> {
  const { rowCount } = await db.query({
    name: 'waits_for_domain',
    text: `select 1 from send_queue q where ${waitingSql} limit 1`,
    values: [accountId, domainId, Object.values(messageClasses)],
  });
  return rowCount !== 0;
}
