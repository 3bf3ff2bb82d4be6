import { BLOCKS_CLASS } from '../../terms/backlog.ts';
import { isLetterQueue, type QueueChannel } from '../../terms/channels/queue-channel.ts';
import { MAX_WEIGHT_AT_ONCE } from '../../content/templates/content-weight.ts';
import { messageClasses } from '../../terms/message.ts';
import type { Claim } from '../../ledger/ownership/claims.ts';

/** Maximum weight of a heavy batch: about 0.3 s of a thread at worst. A heavier message makes a batch of its own. */
const MAX_HEAVY_BATCH = 16 * MAX_WEIGHT_AT_ONCE;

const MIB = 1_048_576;
/** Maximum number of letters in a batch, and bytes of their files. A letter with larger files makes a batch of its own. */
const MAX_LETTERS = 10;
const MAX_FILES = 4 * MIB;
/** From this size on, files keep a connection busy for long. */
const MANY_BYTES = MIB;

/** Bytes of the files of letters, not folded. */
export const fileBytesOf = (claims: readonly Claim[]): number =>
  claims.reduce((sum, { letter }) => sum + (letter?.fileBytes ?? 0), 0);

/** Whether the batch keeps a connection busy for long with its files. */
export const isLong = (claims: readonly Claim[]): boolean => fileBytesOf(claims) > MANY_BYTES;

/** Whether a thread has to prepare the message's content. */
export function isHeavyClaim({ weight }: Claim): boolean {
  return weight > MAX_WEIGHT_AT_ONCE;
}

/** Whether the claim may wait for a thread, or for memory or a connection for its files, while others are handed over. */
const isSlow = (claim: Claim): boolean => isHeavyClaim(claim) || fileBytesOf([claim]) > 0;

/** Bounds of a batch. */
export interface BatchBounds {
  messages: number;
  /** Maximum bytes of the batch's contents. A larger message makes a batch of its own. */
  bytes: number;
  /** Maximum number of messages of one account before the next account's turn. */
  inARow: number;
  /** Whether there is room in memory for contents of this size. */
  hasRoom: (bytes: number) => boolean;
  /** Whether there is room in memory for files of this size. */
  hasFileRoom: (bytes: number) => boolean;
  /** Whether a heavy batch may be cut. */
  heavy: boolean;
  /** Whether a batch with more than 1 MiB of files may be cut. */
  long: boolean;
  /** Whether a batch of a campaign may be cut. */
  campaigns: boolean;
}

/**
 * The waiting claims of a class: a queue for each account, in the order of their turns. Heavy claims have queues of
 * their own, see {@link keyOf}.
 */
interface ClassQueue {
  class: number;
  accounts: Map<number, Claim[]>;
}

/** More than any id of an account. */
const LETTERS = 2 ** 52;

/**
 * An account's heavy claims wait under its negative id, and those of letters under another number, so that its other
 * claims do not wait for them.
 */
function keyOf(claim: Claim): number {
  const key = claim.letter ? claim.accountId + LETTERS : claim.accountId;
  return isHeavyClaim(claim) ? -key : key;
}

const keysOf = (accountId: number, queue: QueueChannel | undefined): readonly number[] => {
  const key = isLetterQueue(queue) ? accountId + LETTERS : accountId;
  return [key, -key];
};

const isOfCampaign = ({ class: priority }: { class: number }) => priority >= messageClasses.campaign;

const isOfFlow = ({ class: priority }: { class: number }) => priority === messageClasses.flow;

/** Whether one intent may cover both: all messages of one block, retries of campaigns, messages of flows, or others. */
const shareIntent = (one: Claim, other: Claim) =>
  one.block === other.block && isOfCampaign(one) === isOfCampaign(other) && isOfFlow(one) === isOfFlow(other);

/** A batch that is being put together. Either all of its claims are heavy or none, and either all are of letters or none. */
class Batch {
  readonly claims: Claim[] = [];
  readonly #bounds: BatchBounds;
  #bytes = 0;
  #files = 0;
  /** Whether a letter waits for room. Later ones must not go before it: it might never find enough. */
  #filesWait = false;
  #weight = 0;

  constructor(bounds: BatchBounds) {
    this.#bounds = bounds;
  }

  /** Whether no further claim may be added to the batch. */
  get full(): boolean {
    const [first] = this.claims;
    if (!first) return false;
    const most = first.letter ? Math.min(MAX_LETTERS, this.#bounds.messages) : this.#bounds.messages;
    return this.claims.length >= most || first.losses > 0;
  }

  /**
   * Whether one batch may contain the claim and those added so far. A message that may have ended a connection is
   * handed over alone, so that it cannot harm other messages again.
   */
  suits(claim: Claim): boolean {
    const [first] = this.claims;
    if (!first) return true;
    return claim.losses === 0 && shareIntent(first, claim) && this.#bytes + claim.bytes <= this.#bounds.bytes;
  }

  /** Whether the kind of the claim, its weight and its files allow it in this batch. */
  takesKind(claim: Claim): boolean {
    const [first] = this.claims;
    if (first && !first.letter !== !claim.letter) return false;
    if (claim.letter && !this.#takesFiles(claim.letter.fileBytes)) return false;
    if (!isHeavyClaim(claim)) return !first || !isHeavyClaim(first);
    if (!first) return this.#bounds.heavy;
    return isHeavyClaim(first) && this.#weight + claim.weight <= MAX_HEAVY_BATCH;
  }

  #takesFiles(bytes: number): boolean {
    if (this.#filesWait && bytes > 0) return false;
    if (this.claims.length > 0 && this.#files + bytes > MAX_FILES) return false;
    return this.#bounds.long || this.#files + bytes <= MANY_BYTES;
  }

  hasRoomFor({ bytes, letter }: Claim): boolean {
    if (letter && !this.#bounds.hasFileRoom(this.#files + letter.fileBytes)) {
      this.#filesWait ||= this.claims.length === 0;
      return false;
    }
    return this.#bounds.hasRoom(this.#bytes + bytes);
  }

  add(claim: Claim): void {
    this.claims.push(claim);
    this.#bytes += claim.bytes;
    this.#files += claim.letter?.fileBytes ?? 0;
    this.#weight += claim.weight;
  }

  /**
   * Adds the first claims of an account: at most `inARow` of them, or, of a block, as many as the batch has room for.
   * @returns how many were added
   */
  addFrom(queue: Claim[]): number {
    const inARow = queue[0]?.block ? this.#bounds.messages : this.#bounds.inARow;
    let taken = 0;
    for (let next = queue[0]; next && taken < inARow && !this.full; next = queue[0]) {
      if (!this.suits(next) || !this.takesKind(next) || !this.hasRoomFor(next)) break;
      this.add(next);
      queue.shift();
      taken += 1;
    }
    return taken;
  }
}

/** Cuts waiting claims into batches: by class and, within a class, in turn between the accounts. */
export class BatchCutter {
  #classes: ClassQueue[] = [];
  #length = 0;
  #slow = 0;
  #ofBlocks = 0;

  get length(): number {
    return this.#length;
  }

  /** How many of the claims are heavy or have files. */
  get slow(): number {
    return this.#slow;
  }

  /** How many of the claims are messages of blocks. */
  get ofBlocks(): number {
    return this.#ofBlocks;
  }

  /** How many accounts have claims of this class. */
  accountsOf(wanted: number): number {
    return this.#classes.find(({ class: priority }) => priority === wanted)?.accounts.size ?? 0;
  }

  /** Whether claims of the account wait in this class, and in this queue; by default in one that has no letters. */
  has(wanted: { class: number; accountId: number; queue?: QueueChannel }): boolean {
    return this.#classes.some(
      ({ class: priority, accounts }) =>
        priority === wanted.class && keysOf(wanted.accountId, wanted.queue).some((key) => accounts.has(key)),
    );
  }

  add(claims: readonly Claim[]): void {
    for (const claim of claims) {
      const { accounts } = this.#queueOf(claim.class);
      const queue = accounts.get(keyOf(claim));
      if (queue) queue.push(claim);
      else accounts.set(keyOf(claim), [claim]);
    }
    this.#length += claims.length;
    this.#slow += claims.filter(isSlow).length;
    this.#ofBlocks += claims.filter(({ block }) => block).length;
  }

  /** Takes out the next batch. It is empty if nothing waits, or if there is no room for what waits. */
  cut(bounds: BatchBounds): Claim[] {
    const batch = new Batch(bounds);
    for (const queue of this.#classes) {
      if (isOfCampaign(queue) && !bounds.campaigns) break;
      if (!this.#cutFrom(queue.accounts, batch)) break;
    }
    this.#length -= batch.claims.length;
    this.#slow -= batch.claims.filter(isSlow).length;
    if (batch.claims[0]?.block) this.#ofBlocks -= batch.claims.length;
    return batch.claims;
  }

  /** Takes out all claims of messages of blocks. */
  drainBlocks(): Claim[] {
    const blocks = this.#classes.find(({ class: priority }) => priority === BLOCKS_CLASS);
    if (!blocks) return [];
    this.#classes = this.#classes.filter((each) => each !== blocks);
    const claims = [...blocks.accounts.values()].flat();
    this.#length -= claims.length;
    this.#ofBlocks = 0;
    return claims;
  }

  /** Takes out all claims. */
  drain(): Claim[] {
    const claims = this.#classes.flatMap(({ accounts }) => [...accounts.values()].flat());
    this.#classes = [];
    this.#length = 0;
    this.#slow = 0;
    this.#ofBlocks = 0;
    return claims;
  }

  /**
   * Gives the accounts their turns. An account that had its turn goes to the end, where the iteration reaches it again.
   * An account whose next message has no room, or is too heavy or of the wrong kind for this batch, keeps its place.
   * @returns whether claims of the next class may be added to the batch
   */
  #cutFrom(accounts: Map<number, Claim[]>, batch: Batch): boolean {
    for (const [key, queue] of accounts) {
      const [next] = queue;
      if (batch.full) return false;
      if (next && !batch.takesKind(next)) continue;
      if (next && !batch.suits(next)) return false;
      if (batch.addFrom(queue) === 0) continue;
      accounts.delete(key);
      if (queue.length > 0) accounts.set(key, queue);
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
