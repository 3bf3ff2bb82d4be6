/** Locks and reads the messages that facts are about. */
import type { Queryable } from '../../../platform/db/queryable.ts';
import { defineSql } from '../../../platform/db/sql/define.ts';
import { intentsOfSql } from '../ownership/open-intents.ts';
import type { DeliveryFact } from './delivery-fact.ts';
import type { ReportedMessage } from './fact-changes.ts';

export const lockReportedMessages = defineSql(import.meta.url, './lock_reported_messages.sql', {
  table: undefined,
  regions: { intents: () => intentsOfSql('l') },
});

type LockedMessage = Omit<ReportedMessage, 'earlier'>;

/** Adds when messages bounced. This is needed only if a message has bounced and its delivery is reported now. */
async function addBounceTimes(
  client: Queryable,
  messages: readonly LockedMessage[],
  facts: readonly DeliveryFact[],
): Promise<void> {
  const delivered = new Set(
    facts.filter(({ type }) => type === 'delivered').map(({ messageId }) => messageId),
  );
  const wanted = messages.filter(({ status, messageId }) => status === 'bounced' && delivered.has(messageId));
  if (wanted.length === 0) return;
  const { rows } = await client.query<{ message_id: number; occurred_at: Date }>(
    `select message_id, max(occurred_at) as occurred_at from message_events
     where message_id = any($1) and type = 'bounced' group by message_id`,
    [wanted.map(({ messageId }) => messageId)],
  );
  const times = new Map(rows.map((row) => [row.message_id, row.occurred_at]));
  for (const message of wanted) message.bouncedAt = times.get(message.messageId) ?? null;
}

/**
 * Adds the providers that had a message before it was moved to another provider, from its events. Events are read only
 * if the provider that reports about a message does not have it now.
 */
async function addEarlierProviders(
  client: Queryable,
  messages: readonly LockedMessage[],
  facts: readonly DeliveryFact[],
): Promise<ReportedMessage[]> {
  const byId = new Map(messages.map((message) => [message.messageId, message]));
  const ids = new Set<number>();
  const providers = new Set<string>();
  for (const { accountId, messageId, source } of facts) {
    const message = byId.get(messageId);
    if (source.kind !== 'callback' || message?.accountId !== accountId) continue;
    if (source.provider === message.provider || source.provider === message.intendedProvider) continue;
    ids.add(messageId);
    providers.add(source.provider);
  }
  const earlier = new Map<number, Map<string, number>>();
  if (ids.size > 0) {
    const { rows } = await client.query<{ message_id: number; provider: string; attempt: number }>(
      `select message_id, data ->> 'provider' as provider, max(attempt) as attempt from message_events
       where message_id = any($1) and data ->> 'provider' = any($2) group by 1, 2`,
      [[...ids], [...providers]],
    );
    for (const { message_id, provider, attempt } of rows) {
      const { provider: present, intendedProvider } = byId.get(message_id) ?? {};
      if (provider === present || provider === intendedProvider) continue;
      earlier.set(message_id, (earlier.get(message_id) ?? new Map<string, number>()).set(provider, attempt));
    }
  }
  const none = new Map<string, number>();
  return messages.map((message) => ({ ...message, earlier: earlier.get(message.messageId) ?? none }));
}

/**
 * Locks the messages that facts are about, in the order of their ids, and reads the state that the facts are judged by.
 * Unknown messages are left out.
 */
export async function lockMessages(
  client: Queryable,
  facts: readonly DeliveryFact[],
): Promise<ReportedMessage[]> {
  const ids = [...new Set(facts.map(({ messageId }) => messageId))];
  const { rows } = await client.query<LockedMessage>({
    ...lockReportedMessages,
    values: [ids, Math.min(...ids), Math.max(...ids)],
  });
  await addBounceTimes(client, rows, facts);
  return addEarlierProviders(client, rows, facts);
}
