/** What recipients do with messages: they open them, click links, and unsubscribe. */
import type pg from 'pg';
import { optOutHashes } from '../../src/delivery/ledger/consent/opt-outs.ts';
import { decideFetches } from '../../src/features/tracking/decisions.ts';
import { createUnsubscribe } from '../../src/features/unsubscribe/service.ts';
import { testEvents } from './events.ts';
import type { QueuedAccount } from './queued.ts';
import { testKeyring } from './webhooks.ts';

export interface LinkFetched {
  messageId: number;
  /** 0: the pixel. */
  link: number;
  at: Date;
}

/** Persons fetch links. Whether they are the first is decided at once. */
export async function fetchLinks(
  pool: pg.Pool,
  { accountId }: QueuedAccount,
  fetches: readonly LinkFetched[],
): Promise<void> {
  await pool.query(
    `insert into tracking_fetches (message_id, link, fetched_at, account_id, links, due_at, url)
     select message_id, link, date_trunc('second', at), $1, 1, now(), 'https://a.test'
     from unnest($2::bigint[], $3::smallint[], $4::timestamptz[]) as f (message_id, link, at)
     on conflict do nothing`,
    [
      accountId,
      fetches.map(({ messageId }) => messageId),
      fetches.map(({ link }) => link),
      fetches.map(({ at }) => at),
    ],
  );
  await decideFetches({ pool, events: testEvents }, new Date(Date.now() + 60_000));
}

/**
 * A recipient follows the unsubscribe link of a message and confirms.
 * @param address null: it is no longer known
 */
export async function unsubscribeBy(
  pool: pg.Pool,
  { accountId, brandId }: QueuedAccount,
  messageId: number,
  address: string | null,
): Promise<void> {
  const of = { brandId, channel: 'email', address: address ?? 'gone@example.com' } as const;
  const [addressHash = Buffer.alloc(0)] = optOutHashes(testKeyring, of);
  const fence = { wait: () => Promise.resolve() };
  const deps = { pool, keyring: testKeyring, fence, plusAddresses: false };
  const target = { accountId, brandId, source: { messageId }, addressHash };
  const brand = { company_name: null, brand_color: null, text_color: null, bg_color: null };
  await createUnsubscribe(deps).unsubscribe({ target, brand, address });
}
