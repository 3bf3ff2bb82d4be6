/**
 * Finds the contacts of opt-outs that have only the HMAC of the address. A walk reads the contacts of a brand
 * in pages, in laps, for all such opt-outs of the brand together. An opt-out that arrives during a lap joins the walk
 * where it is. It has been compared with every contact when the walk reaches the same place in the next lap.
 */
import { channelFacts } from '../../delivery/terms/channels/index.ts';
import type pg from 'pg';
import type { Logger } from 'pino';
import type { Channel } from '../../delivery/terms/message.ts';
import { acceptedHashes, type OptOutSource } from '../../delivery/ledger/consent/opt-outs.ts';
import { inTransaction, isConnectionError, type Queryable } from '../../platform/db/queryable.ts';
import type { Pulse } from '../../platform/processes/pulse.ts';
import type { Repeating } from '../../platform/processes/repeat.ts';
import { changeSubscription, type ConsentDeps, lockConsent } from './consent.ts';

/** Number of contacts per page: computing their HMACs takes some ten milliseconds of CPU time. */
const PAGE_SIZE = 2_000;
/** After a failed page, the walk waits for a minute, then twice as long after each further failure in a row. */
const RETRY_MS = 60_000;
const MAX_RETRY_MS = 60 * RETRY_MS;

// Conditions in SQL at a point in time.
const walkIsDue = (at: string) => `due_at <= ${at}`;
/** An opt-out that is to join the walk of its brand. */
const isNew = (at: string) => `lap is null and begins_at <= ${at}`;
/** An opt-out that was applied more than a minute ago. */
const isOver = (at: string) => `applied_at < ${at} - interval '1 minute'`;

interface Walk {
  brand_id: number;
  channel: Channel;
  lap: number;
  after_id: number;
  failures: number;
}

/** An opt-out that has joined the walk, with its columns of the ledger. */
interface Sought {
  address_hash: Buffer;
  account_id: number;
  source: OptOutSource;
  message_id: number | null;
}

export interface WalkOptions {
  deps: ConsentDeps;
  asOf: Date;
  log: Logger;
  pageSize?: number;
}

/** Starts walks for brands with new opt-outs, and deletes opt-outs that were applied more than a minute ago. */
async function prepare(pool: pg.Pool, asOf: Date): Promise<void> {
  await pool.query(
    `insert into opt_out_walks (brand_id, channel, due_at)
     select distinct brand_id, channel, $1::timestamptz from unapplied_opt_outs
     where ${isNew('$1')} order by 1, 2 on conflict do nothing`,
    [asOf],
  );
  await pool.query(`delete from unapplied_opt_outs where ${isOver('$1::timestamptz')}`, [asOf]);
}

async function takeWalk(trx: Queryable, asOf: Date): Promise<Walk | null> {
  const { rows } = await trx.query<Walk>(
    `select * from opt_out_walks where ${walkIsDue('$1')} order by due_at limit 1 for update skip locked`,
    [asOf],
  );
  return rows[0] ?? null;
}

/**
 * Lets new opt-outs join the walk where it is. A contact created by a transaction that did not see them in the ledger
 * is committed before the consent lock is granted, so the following pages include it.
 */
async function takeUp(trx: Queryable, walk: Walk, asOf: Date): Promise<void> {
  const values = [walk.brand_id, walk.channel];
  const { rows } = await trx.query<{ address_hash: Buffer }>(
    `select address_hash from unapplied_opt_outs
     where brand_id = $1 and channel = $2 and ${isNew('$3')}`,
    [...values, asOf],
  );
  if (rows.length === 0) return;
  await lockConsent(trx, walk.brand_id, 'alone');
  await trx.query(
    `update unapplied_opt_outs set lap = $4, start_id = $5
     where brand_id = $1 and channel = $2 and address_hash = any($3) and lap is null`,
    [...values, rows.map(({ address_hash: hash }) => hash), walk.lap, walk.after_id],
  );
}

/** Finds the opt-outs of the walk that have not ended meanwhile. */
async function findSought(trx: Queryable, { brand_id: brandId, channel }: Walk): Promise<Sought[]> {
  const { rows } = await trx.query<Sought>(
    `select address_hash, o.account_id, o.source, o.message_id
     from unapplied_opt_outs u join opt_outs o using (brand_id, channel, address_hash)
     where u.brand_id = $1 and u.channel = $2 and u.lap is not null and u.applied_at is null and o.ended_at is null`,
    [brandId, channel],
  );
  return rows;
}

interface Found {
  /** The form in which addresses are compared. */
  key: string;
  sought: Sought;
}

interface Page {
  /** The first contact with one of the opt-outs. */
  found: Found | null;
  /** The next page begins after this id; null: at the first contact. */
  next: number | null;
}

async function readPage(
  trx: Queryable,
  walk: Walk,
  sought: readonly Sought[],
  { deps, pageSize = PAGE_SIZE }: WalkOptions,
): Promise<Page> {
  const { brand_id: brandId, channel } = walk;
  const { address, contact } = channelFacts[channel];
  const { rows } = await trx.query<{ id: number; key: string | null; subscribed: boolean }>(
    `select id, ${contact.key} as key, ${contact.kind}_subscribed as subscribed
     from contacts where brand_id = $1 and id > $2 order by id limit $3`,
    [brandId, walk.after_id, pageSize],
  );
  const byHash = new Map(sought.map((each) => [each.address_hash.toString('base64'), each]));
  const recipients = { brandId, channel, plusAddresses: deps.plusAddresses && address.hasTags };
  for (const { id, key, subscribed } of rows) {
    if (key === null || !subscribed) continue;
    for (const hash of acceptedHashes(deps.keyring, { ...recipients, address: key })) {
      const match = byHash.get(hash.toString('base64'));
      if (match) return { found: { key, sought: match }, next: id };
    }
  }
  return { found: null, next: rows.length < pageSize ? null : (rows.at(-1)?.id ?? null) };
}

/**
 * Unsubscribes a contact, unless its opt-out ended since the page was read. This also unsubscribes other contacts that
 * are the same recipient, so the opt-out is then completely applied.
 */
async function applyOptOut(
  trx: Queryable,
  { brand_id: brandId, channel }: Walk,
  { key, sought }: Found,
  { deps, asOf }: WalkOptions,
): Promise<void> {
  await lockConsent(trx, brandId, 'alone');
  const values = [brandId, channel, sought.address_hash];
  const { rowCount } = await trx.query(
    'select 1 from opt_outs where brand_id = $1 and channel = $2 and address_hash = $3 and ended_at is null',
    values,
  );
  const { account_id: accountId, source, message_id: messageId } = sought;
  const change = { accountId, brandId, channel, messageId, of: { key } };
  if (rowCount !== 0) await changeSubscription(trx, deps, { ...change, subscribed: false, source });
  await trx.query(
    'update unapplied_opt_outs set applied_at = $4 where brand_id = $1 and channel = $2 and address_hash = $3',
    [...values, asOf],
  );
}

/**
 * Stores where the walk is, and which opt-outs were compared with every contact. The walk goes behind those of other
 * brands.
 */
async function advance(trx: Queryable, walk: Walk, next: number | null, asOf: Date): Promise<void> {
  const values = [walk.brand_id, walk.channel];
  const lap = next === null ? walk.lap + 1 : walk.lap;
  await trx.query(
    `update unapplied_opt_outs set applied_at = $5
     where brand_id = $1 and channel = $2 and applied_at is null
       and (lap + 1 < $3 or (lap + 1 = $3 and start_id <= $4))`,
    [...values, lap, next ?? 0, asOf],
  );
  const { rowCount } = await trx.query(
    `update opt_out_walks set lap = $3, after_id = $4, failures = 0, due_at = $5
     where brand_id = $1 and channel = $2 and exists (
       select 1 from unapplied_opt_outs u
       where u.brand_id = $1 and u.channel = $2 and u.lap is not null and u.applied_at is null)`,
    [...values, lap, next ?? 0, asOf],
  );
  if (rowCount === 0)
    await trx.query('delete from opt_out_walks where brand_id = $1 and channel = $2', values);
}

/** Postpones a walk whose page failed, so that it does not stop the others. */
async function postpone(pool: pg.Pool, { brand_id, channel, failures }: Walk, asOf: Date): Promise<void> {
  const delay = Math.min(RETRY_MS * 2 ** Math.min(failures, 10), MAX_RETRY_MS);
  await pool.query(
    `update opt_out_walks set failures = least(failures + 1, 100), due_at = $3
     where brand_id = $1 and channel = $2 and failures = $4`,
    [brand_id, channel, new Date(asOf.getTime() + delay), failures],
  );
}

/**
 * Compares one page of contacts with the opt-outs of their brand, in one transaction with the progress: a crash loses
 * at most the page. Several processes may do so at once, each for another brand. A page that fails is logged and
 * retried later.
 * @returns whether there was something to do
 */
export async function walkPage(pool: pg.Pool, options: WalkOptions): Promise<boolean> {
  const { asOf, log } = options;
  const taken: { walk?: Walk } = {};
  await prepare(pool, asOf);
  try {
    await inTransaction(pool, async (trx) => {
      const walk = await takeWalk(trx, asOf);
      if (!walk) return;
      taken.walk = walk;
      await takeUp(trx, walk, asOf);
      const sought = await findSought(trx, walk);
      const { found, next } = await readPage(trx, walk, sought, options);
      if (found) await applyOptOut(trx, walk, found, options);
      await advance(trx, walk, next, asOf);
    });
  } catch (error) {
    if (!taken.walk || isConnectionError(error)) throw error;
    await postpone(pool, taken.walk, asOf);
    log.warn({ err: error, brandId: taken.walk.brand_id }, 'applying opt-outs failed: retrying later');
  }
  return taken.walk !== undefined;
}

/** Applies opt-outs that have only the HMAC to the contacts. Any number of processes may run this. */
export function startOptOutWalk({
  pool,
  pulse,
  log,
  ...deps
}: ConsentDeps & { pool: pg.Pool; pulse: Pulse; log: Logger }): Repeating {
  const queue = {
    name: 'applying opt-outs to contacts',
    waiting: `exists (select from opt_out_walks where ${walkIsDue('now()')})
      or exists (select from unapplied_opt_outs where ${isNew('now()')})
      or exists (select from unapplied_opt_outs where ${isOver('now()')})`,
  };
  return pulse.repeat(queue, () => walkPage(pool, { deps, asOf: new Date(), log }));
}
