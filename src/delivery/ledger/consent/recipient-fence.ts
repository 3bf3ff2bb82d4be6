import type pg from 'pg';

/** Keeps batches from being sent to recipients who have just been suppressed or have opted out. */
export interface RecipientFence {
  /**
   * Call it after the commit of a suppression or an opt-out, and before the response. Once it resolves, only batches
   * whose intents were written before can still leave for the recipient.
   *
   * It stops no sender. It marks the account, so that intents whose statement began before the commit check their
   * recipients once more after they get their lock, and it waits for the intents that already have their lock.
   */
  wait(accountId: number): Promise<void>;
}

async function fence(pool: pg.Pool, accountId: number): Promise<void> {
  // An intent's statement compares this time with its own start less ten seconds, as the mark may be five seconds old.
  await pool.query(
    `update accounts set recipients_changed_at = clock_timestamp()
     where id = $1 and coalesce(recipients_changed_at, '-infinity') < clock_timestamp() - interval '5 seconds'`,
    [accountId],
  );
  await pool.query('select await_intents($1)', [accountId]);
}

/**
 * Waits for several accounts, one after another, so that a report about many accounts takes one connection.
 * @param accountIds may repeat
 */
export async function waitForEach(fence: RecipientFence, accountIds: Iterable<number>): Promise<void> {
  for (const accountId of new Set(accountIds)) await fence.wait(accountId);
}

interface Rounds {
  current: Promise<void>;
  /** Begins when the current round has ended. Callers that arrive meanwhile share it. */
  next: Promise<void> | null;
}

/** Callers of one account share a round of waiting, so that many suppressions at once cost little. */
export function createRecipientFence(pool: pg.Pool): RecipientFence {
  const byAccount = new Map<number, Rounds>();

  function begin(accountId: number): Promise<void> {
    const current = fence(pool, accountId).finally(() => {
      if (byAccount.get(accountId)?.next === null) byAccount.delete(accountId);
    });
    byAccount.set(accountId, { current, next: null });
    return current;
  }

  return {
    wait(accountId) {
      const rounds = byAccount.get(accountId);
      if (!rounds) return begin(accountId);
      rounds.next ??= rounds.current.then(
        () => begin(accountId),
        () => begin(accountId),
      );
      return rounds.next;
    },
  };
}
