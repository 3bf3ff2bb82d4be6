import type pg from 'pg';
import type { Logger } from 'pino';
import type { Queryable } from '../../../platform/db/queryable.ts';
import { defineSql } from '../../../platform/db/sql/define.ts';
import { limits } from '../limits/authority.ts';
import { closingRegions } from './campaign-blocks.ts';
import type { BlockClaim, Claim } from '../ownership/claims.ts';

export const endClaimOfBlock = defineSql(import.meta.url, './end_claim_of_block.sql', {
  table: limits,
  regions: closingRegions,
});

/**
 * Ends the claim of a block, unless one of its intents is open. A block without open recipients is closed.
 * @param owner null: the block has no owner and no open recipients
 * @returns whether the claim has ended; false: one of its intents is open
 */
export async function endBlockClaim(
  db: Queryable,
  owner: number | null,
  { campaignId, n, epoch }: BlockClaim,
): Promise<boolean> {
  const { rows } = await db.query<{ open: boolean }>({
    ...endClaimOfBlock,
    values: [owner, campaignId, n, epoch],
  });
  return rows[0]?.open !== true;
}

interface OpenBlock {
  block: BlockClaim;
  owner: number;
  /** The messages whose batches have not ended. */
  left: Set<number>;
}

const keyOf = ({ campaignId, n, epoch }: BlockClaim) => `${campaignId}/${n}/${epoch}`;

/**
 * The blocks that a process has claimed. The claim of a block ends with the last batch of its messages. Messages that
 * were given back wait for this: an intent of another process must not cover a message of a batch under way.
 */
export class ClaimedBlocks {
  readonly #pool: pg.Pool;
  readonly #log: Logger;
  readonly #open = new Map<string, OpenBlock>();
  readonly #over = new Map<string, OpenBlock>();
  /**
   * Blocks that the last sweep found in the database only. A claim just committed may look the same, so a sweep ends
   * those that it finds twice.
   */
  #strays = new Set<string>();
  #ending: Promise<void> | null = null;

  constructor(pool: pg.Pool, log: Logger) {
    this.#pool = pool;
    this.#log = log;
  }

  add(owner: number, claims: readonly Claim[]): void {
    for (const { block, messageId } of claims) {
      if (!block) continue;
      const key = keyOf(block);
      const open = this.#open.get(key) ?? { block, owner, left: new Set<number>() };
      this.#open.set(key, open);
      open.left.add(messageId);
    }
  }

  /**
   * Call it when the batches of claims have ended, or the claims were given back. Claims without a block are ignored.
   */
  settle(claims: readonly Claim[]): void {
    for (const { block, messageId } of claims) {
      if (!block) continue;
      const key = keyOf(block);
      const open = this.#open.get(key);
      if (!open?.left.delete(messageId) || open.left.size > 0) continue;
      this.#open.delete(key);
      this.#over.set(key, open);
    }
    if (this.#over.size > 0) {
      this.finish().catch((error: unknown) => this.#log.warn({ err: error }, 'block not given back yet'));
    }
  }

  /**
   * Ends the claims of all blocks whose batches have ended.
   * @throws Error of the database; the next call tries again
   */
  async finish(): Promise<void> {
    while (this.#ending) await this.#ending;
    if (this.#over.size === 0) return;
    this.#ending = this.#endAll().finally(() => (this.#ending = null));
    await this.#ending;
  }

  /** Ends claims that the database has but this process does not, because the reply to the claim was lost. */
  async sweep(owner: number): Promise<void> {
    await this.finish();
    const { rows } = await this.#pool.query<BlockClaim>({
      name: 'list_owned_blocks',
      text: 'select campaign_id as "campaignId", n, claim_epoch as epoch from campaign_blocks where owner = $1',
      values: [owner],
    });
    const unknown = rows.filter((block) => !this.#open.has(keyOf(block)) && !this.#over.has(keyOf(block)));
    const strays = unknown.filter((block) => this.#strays.has(keyOf(block)));
    this.#strays = new Set(unknown.map(keyOf));
    for (const block of strays) await endBlockClaim(this.#pool, owner, block);
  }

  async #endAll(): Promise<void> {
    for (const [key, { owner, block }] of this.#over) {
      if (await endBlockClaim(this.#pool, owner, block)) this.#over.delete(key);
    }
  }
}
