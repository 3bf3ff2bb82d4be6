import type { Queryable } from '../../../platform/db/queryable.ts';
import { defineSql } from '../../../platform/db/sql/define.ts';
import { backlogName } from '../../terms/backlog.ts';
import { type Channel, messageClasses } from '../../terms/message.ts';
import { routeSql } from '../accept/route.ts';

export const unknownOfFlow = defineSql(import.meta.url, './unknown_of_flow.sql');

export const requeueUnknownOfFlowSql = defineSql(import.meta.url, './requeue_unknown_of_flow.sql', {
  table: undefined,
  regions: { route: () => routeSql },
});

/** A message of which it is not known whether the provider has it. */
export interface UnknownMessage {
  id: number;
  channel: Channel;
  /** The sender, with its display name; null: the default of the SMS provider. */
  from: string | null;
}

/** Finds messages of a flow, oldest first, whose outcome is unknown and that may be handed over once more. */
export async function findUnknownOfFlow(
  db: Queryable,
  flowId: number,
  limit: number,
): Promise<UnknownMessage[]> {
  const { rows } = await db.query<UnknownMessage>({ ...unknownOfFlow, values: [flowId, limit] });
  return rows;
}

/** Messages of one sender, and what their queue rows say of it. */
export interface ResentMessages {
  accountId: number;
  channel: Channel;
  /** Null: an address of the service, or an SMS. */
  domainId: number | null;
  /** The named provider of the domain or number; null: there is none. */
  providerId: number | null;
  messageIds: readonly number[];
}

/**
 * Queues messages of a flow once more whose outcome is unknown. They stay `unknown` until they have an outcome.
 * @returns how many were queued, and the backlogs to wake `send` with after the commit
 */
export async function requeueUnknownOfFlow(
  trx: Queryable,
  { accountId, channel, domainId, providerId, messageIds }: ResentMessages,
): Promise<{ requeued: number; backlogs: string[] }> {
  const { rows } = await trx.query<{ providerId: number }>({
    ...requeueUnknownOfFlowSql,
    values: [accountId, channel, domainId, providerId, messageIds],
  });
  const providers = new Set(rows.map((row) => row.providerId));
  const backlogOf = (id: number) =>
    backlogName({ channel, class: messageClasses.flow, accountId, providerId: id });
  return { requeued: rows.length, backlogs: [...providers].map(backlogOf) };
}
