/**
 * SQL about the open intents of messages. Only a process that owns the queue row of a message, or the campaign block
 * that contains it, can hand the message over. So only the intents of these processes are read, not those of all
 * senders.
 */

/** SQL: a table of the processes that may be handing a message over. @param message SQL: the name of its row */
const ownersSql = (message: string): string => `(
      select q.owner from send_queue q where q.message_id = ${message}.id
      union all
      select b.owner from (
        select owner, first_id from campaign_blocks
        where campaign_id = ${message}.campaign_id and last_id >= ${message}.id order by campaign_id, last_id limit 1) b
      where b.first_id <= ${message}.id)`;

/** SQL: a table of the open intents that cover a message. @param message SQL: the name of its row */
export const intentsOfSql = (message: string): string => `(
      select h.* from ${ownersSql(message)} o join handovers h on h.owner = o.owner
      where ${message}.id = any(h.message_ids))`;

/** SQL: whether an intent covers the message `m`. */
export const isIntendedSql = `exists (select 1 from ${intentsOfSql('m')} h)`;
