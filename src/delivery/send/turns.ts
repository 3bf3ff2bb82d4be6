import type { Claim } from './claim.ts';

/** Bounds of a batch. */
export interface BatchBounds {
  messages: number;
  /** Bytes of the batch's contents. A message that is larger makes a batch of its own. */
  bytes: number;
  /** Messages of one account before the next account has its turn. */
  turn: number;
  /** Whether contents of this size may be read now. */
  hasRoom: (bytes: number) => boolean;
}

/** The waiting claims of a class: a queue for each account, in the order in which the accounts have their turns. */
interface ClassQueue {
  class: number;
  accounts: Map<number, Claim[]>;
}

/** A batch that is being put together. */
class Batch {
  readonly claims: Claim[] = [];
  readonly #bounds: BatchBounds;
  #bytes = 0;

  constructor(bounds: BatchBounds) {
    this.#bounds = bounds;
  }

  /** Whether no further claim may be added to the batch. */
  get full(): boolean {
    return this.claims.length >= this.#bounds.messages || (this.claims[0]?.losses ?? 0) > 0;
  }

  /** A message that may have ended a connection is handed over alone, so that no other message suffers again. */
  suits({ bytes, losses }: Claim): boolean {
    return this.claims.length === 0 || (losses === 0 && this.#bytes + bytes <= this.#bounds.bytes);
  }

  hasRoomFor({ bytes }: Claim): boolean {
    return this.#bounds.hasRoom(this.#bytes + bytes);
  }

  add(claim: Claim): void {
    this.claims.push(claim);
    this.#bytes += claim.bytes;
  }

  /** Adds the first claims of an account, at most those of one turn. @returns how many */
  addTurn(queue: Claim[]): number {
    let taken = 0;
    for (let next = queue[0]; next && taken < this.#bounds.turn && !this.full; next = queue[0]) {
      if (!this.suits(next) || !this.hasRoomFor(next)) break;
      this.add(next);
      queue.shift();
      taken += 1;
    }
    return taken;
  }
}

/** Claims in the order in which they are handed over: by class and, within a class, in turn between the accounts. */
export class Turns {
  #classes: ClassQueue[] = [];
  #length = 0;

  get length(): number {
    return this.#length;
  }

  /** Whether claims of the account wait in this class. */
  has(wanted: { class: number; accountId: number }): boolean {
    return this.#classes.some(
      (queue) => queue.class === wanted.class && queue.accounts.has(wanted.accountId),
    );
  }

  add(claims: readonly Claim[]): void {
    for (const claim of claims) {
      const { accounts } = this.#queueOf(claim.class);
      const queue = accounts.get(claim.accountId);
      if (queue) queue.push(claim);
      else accounts.set(claim.accountId, [claim]);
    }
    this.#length += claims.length;
  }

  /** Takes out the next batch. It is empty if nothing waits, or if there is no room for what waits. */
  cut(bounds: BatchBounds): Claim[] {
    const batch = new Batch(bounds);
    for (const { accounts } of this.#classes) {
      if (!this.#cutFrom(accounts, batch)) break;
    }
    this.#length -= batch.claims.length;
    return batch.claims;
  }

  /** Takes out all claims. */
  drain(): Claim[] {
    const claims = this.#classes.flatMap(({ accounts }) => [...accounts.values()].flat());
    this.#classes = [];
    this.#length = 0;
    return claims;
  }

  /**
   * Gives one account after the other its turn. An account that had one goes to the end, where the iteration meets it
   * again. An account whose next message has no room keeps its place.
   * @returns whether claims of the next class may be added to the batch
   */
  #cutFrom(accounts: Map<number, Claim[]>, batch: Batch): boolean {
    for (const [accountId, queue] of accounts) {
      const [next] = queue;
      if (batch.full || (next && !batch.suits(next))) return false;
      if (batch.addTurn(queue) === 0) continue;
      accounts.delete(accountId);
      if (queue.length > 0) accounts.set(accountId, queue);
    }
    return !batch.full;
  }

  #queueOf(priority: number): ClassQueue {
    const known = this.#classes.find((queue) => queue.class === priority);
    if (known) return known;
    const queue = { class: priority, accounts: new Map<number, Claim[]>() };
    this.#classes = [...this.#classes, queue].sort((one, other) => one.class - other.class);
    return queue;
  }
}
