/** A queue in which accounts take turns: it returns one item of each account, then the next item of each. */
export class AccountQueue<T> {
  /** The least recently served account first. No list is empty. */
  readonly #byAccount = new Map<string, T[]>();

  push(accountId: string, item: T): void {
    const items = this.#byAccount.get(accountId);
    if (items) items.push(item);
    else this.#byAccount.set(accountId, [item]);
  }

  /** Returns the next item of the account whose turn it is; undefined if the queue is empty. */
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
