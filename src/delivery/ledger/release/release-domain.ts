import { type Backlog, backlogName, BLOCKS_CLASS } from '../../terms/backlog.ts';
import { queuesOf } from '../../terms/channels/queue-channel.ts';
import { wakeCampaignsCte } from '../blocks/wake-campaigns.ts';
import { messageClasses } from '../../terms/message.ts';
import type { Queryable } from '../../../platform/db/queryable.ts';
import { defineSql } from '../../../platform/db/sql/define.ts';

export const releaseDomainMessages = defineSql(import.meta.url, './release_domain_messages.sql');

export const releaseDomainBlocks = defineSql(import.meta.url, './release_domain_blocks.sql', {
  table: undefined,
  regions: { woken_campaigns: () => wakeCampaignsCte('held') },
});

/** Makes due the blocks that wait for the domain, and signals their campaigns. @returns the names of their backlogs */
async function releaseBlocks(
  db: Queryable,
  { accountId, domainId }: { accountId: number; domainId: number },
): Promise<string[]> {
  const { rows } = await db.query<{ providerId: number }>({
    ...releaseDomainBlocks,
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
 * decide again.
 * @param domainId may be a domain that no longer exists
 */
export async function releaseDomainPage(
  db: Queryable,
  { accountId, domainId }: { accountId: number; domainId: number },
): Promise<DomainRelease> {
  const { rows } = await db.query<Pick<Backlog, 'queue' | 'class' | 'providerId'> & { count: number }>({
    ...releaseDomainMessages,
    values: [accountId, domainId, Object.values(messageClasses), queuesOf('email')],
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
    name: 'waits_for_domain_2',
    text: `
    select 1 from send_queue q
    where owner is null and channel = any($4::text[]) and class = any($3::smallint[]) and account_id = $1
      and due_at > now() and domain_id = $2 and exists (
        select 1 from messages m
        where m.id = q.message_id and m.status = 'held' and m.hold ->> 'reason' = 'domain_unverified')
    limit 1`,
    values: [accountId, domainId, Object.values(messageClasses), queuesOf('email')],
  });
  return rowCount !== 0;
}
