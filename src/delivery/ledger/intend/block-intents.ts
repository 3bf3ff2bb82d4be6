import type { Queryable } from '../../../platform/db/queryable.ts';
import type { BatchMessage, BatchRequest } from './batch.ts';
import { intendBatches, intendBlock } from './block-batch.ts';
import type { BlockClaim } from '../ownership/claims.ts';

/** Maximum number of batches in one statement. A pause waits until the statement ends. */
const MAX_BATCHES = 8;
/** Maximum number of concurrent statements for one block. */
const MAX_AT_ONCE = 2;

interface Waiting {
  request: BatchRequest;
  resolve: (messages: BatchMessage[]) => void;
  reject: (error: unknown) => void;
}

/** The batches of a block that wait for a statement. */
interface Group {
  block: BlockClaim;
  waiting: Waiting[];
  running: number;
}

const keyOf = ({ campaignId, n, epoch }: BlockClaim, { owner, provider, reportSeconds }: BatchRequest) =>
  `${campaignId}/${n}/${epoch}/${owner}/${reportSeconds ?? 0}/${provider}`;

async function intendAll(client: Queryable, batches: readonly Waiting[], block: BlockClaim): Promise<void> {
  const [first, ...others] = batches.map(({ request }) => request);
  if (!first) return;
  try {
    const results =
      others.length === 0
        ? [await intendBlock(client, first, block)]
        : await intendBatches(client, [first, ...others], block);
    for (const [n, { resolve }] of batches.entries()) resolve(results[n] ?? []);
  } catch (error) {
    for (const { reject } of batches) reject(error);
  }
}

/**
 * Returns a function that checks a batch of a block and writes its intent, see `intendBatches`. Batches that arrive
 * while statements of the block are running share the next one; a lone batch does not wait.
 */
export function createBlockIntents(
  client: Queryable,
): (request: BatchRequest, block: BlockClaim) => Promise<BatchMessage[]> {
  const groups = new Map<string, Group>();

  function run(key: string, group: Group): void {
    while (group.waiting.length > 0 && group.running < MAX_AT_ONCE) {
      group.running += 1;
      void intendAll(client, group.waiting.splice(0, MAX_BATCHES), group.block).then(() => {
        group.running -= 1;
        if (group.waiting.length > 0) run(key, group);
        else if (group.running === 0 && groups.get(key) === group) groups.delete(key);
      });
    }
  }

  return (request, block) =>
    new Promise((resolve, reject) => {
      const key = keyOf(block, request);
      const group = groups.get(key) ?? { block, waiting: [], running: 0 };
      groups.set(key, group);
      group.waiting.push({ request, resolve, reject });
      // Workers whose records were committed together call this in the same turn of the event loop, so they share one.
      if (group.waiting.length === 1) setImmediate(() => run(key, group));
    });
}
