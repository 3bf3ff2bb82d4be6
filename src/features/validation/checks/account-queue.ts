/** A queue in which accounts take turns: it gives out one item of each, and then the next of each. */
export class AccountQueue<T> {
  /** Least recently served first; none is empty. */
  readonly #byAccount = new Map<string, T[]>();

  push(accountId: string, item: T): void {
    const items = this.#byAccount.get(accountId);
    if (items) items.push(item);
    else this.#byAccount.set(accountId, [item]);
  }

  /** The account whose turn is next; undefined if the queue is empty. */
  get next(): string | undefined {
    return this.#byAccount.keys().next().value;
  }

  shift(): T | undefined {
    const accountId = this.next;
    if (accountId === undefined) return undefined;
    const items = this.#byAccount.get(accountId) ?? [];
    const item = items.shift();
    this.#byAccount.delete(accountId);
    if (items.length > 0) this.#byAccount.set(accountId, items);
    return item;
  }
}
