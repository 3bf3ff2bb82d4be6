import { LRUCache } from 'lru-cache';
import type { MessageDraft } from './draft.ts';

const MAX_PAYERS = 100_000;

type Paid = Pick<MessageDraft, 'account_id' | 'channel' | 'test'>;

const nameOf = ({ account_id, channel }: Paid) => `${account_id}/${channel}`;

/**
 * The accounts that are known to pay for messages of a channel. Messages of other accounts are written without locking
 * money: those that cost something all the same are left out, and their accounts are known from then on.
 */
export class Payers {
  readonly #names = new LRUCache<string, true>({ max: MAX_PAYERS });

  pays(message: Paid): boolean {
    return !message.test && this.#names.get(nameOf(message)) === true;
  }

  /** Remembers the account and channel of a message that turned out to cost something. */
  add(message: Paid): void {
    this.#names.set(nameOf(message), true);
  }

  /** Forgets the account and channel of a message that turned out to cost nothing. */
  forget(message: Paid): void {
    this.#names.delete(nameOf(message));
  }
}
