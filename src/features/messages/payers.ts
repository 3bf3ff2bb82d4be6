import { LRUCache } from 'lru-cache';
import type { MessageDraft } from './draft.ts';
import type { Queryable } from '../../platform/db/queryable.ts';

const MAX_PAYERS = 100_000;

type Paid = Pick<MessageDraft, 'account_id' | 'channel' | 'test'>;

/**
 * The accounts that are known to pay for messages of a channel. Messages of other accounts are written without looking
 * up prices: the statement refuses them if their account pays, see `UNPRICED`.
 */
export interface Payers {
  pays(message: Paid): boolean;
  /** Looks up what the accounts pay for. */
  learn(accountIds: readonly number[]): Promise<void>;
  /** Forgets the account and channel of a message that turned out to cost nothing. */
  forget(message: Paid): void;
}

const nameOf = (accountId: number, channel: string) => `${accountId}/${channel}`;

export function createPayers(db: Queryable): Payers {
  const names = new LRUCache<string, true>({ max: MAX_PAYERS });
  return {
    pays: ({ account_id, channel, test }) => !test && names.get(nameOf(account_id, channel)) === true,
    async learn(accountIds) {
      const { rows } = await db.query<{ id: number; kind: string }>({
        name: 'find_payers',
        text: `
        select distinct a.id, p.kind from accounts a join prices p on p.tier = a.tier
        where a.id = any($1) and a.kind = 'customer' and not a.comped and (p.kind = 'sms' or p.millicents > 0)`,
        values: [accountIds],
      });
      for (const { id, kind } of rows) names.set(nameOf(id, kind), true);
    },
    forget: ({ account_id, channel }) => void names.delete(nameOf(account_id, channel)),
  };
}
