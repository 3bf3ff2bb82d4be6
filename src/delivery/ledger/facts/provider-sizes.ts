/** The largest messages that mail servers take. Letters go only to providers that take them. */
import type { Queryable } from '../../../platform/db/queryable.ts';

const LEARN = `
insert into provider_sizes (provider_id, max_bytes) values ($1, $2)
on conflict (provider_id) do update set max_bytes = excluded.max_bytes, learned_at = now()
where provider_sizes.max_bytes <> excluded.max_bytes`;

/** Forgets what a provider's server says, because the provider has another server from now on, or none. */
export async function forgetSize(db: Queryable, providerId: number): Promise<void> {
  await db.query('delete from provider_sizes where provider_id = $1', [providerId]);
}

/** How long a sender remembers what it has stored. Another one may store something else meanwhile. */
const REMEMBER_MS = 60_000;

/**
 * Stores what a mail server says at each connection (SIZE of RFC 1870), at most once a minute unless it says something
 * else than before.
 * @param providerId as in `send_queue`
 * @param now returns milliseconds of a monotonic clock
 * @returns to be called with the maximum size in bytes; null: the server names none. It returns at once and never
 *   throws: what could not be stored is stored at the next connection.
 */
export function createSizeRecorder(
  db: Queryable,
  providerId: number,
  now: () => number = () => performance.now(),
): (maxBytes: number | null) => void {
  let stored: { maxBytes: number | null; at: number } | null = null;
  return (maxBytes) => {
    if (stored && maxBytes === stored.maxBytes && now() - stored.at < REMEMBER_MS) return;
    stored = { maxBytes, at: now() };
    const storing: Promise<unknown> =
      maxBytes === null ? forgetSize(db, providerId) : db.query(LEARN, [providerId, maxBytes]);
    storing.catch(() => (stored = null));
  };
}
