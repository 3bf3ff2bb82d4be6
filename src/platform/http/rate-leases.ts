import type { Queryable } from '../db/queryable.ts';
import { type RateVerdict, verdictOf } from '../processes/rate-verdict.ts';

/** A block has the tokens of this time span, so that a busy caller costs a process at most ten statements a second. */
const BLOCK_SECONDS = 0.1;
/** How long a bucket that was found empty is not queried again. */
const DRY_MS = 100;
const SWEEP_MS = 60_000;

/** This process's share of a caller's bucket. */
interface Lease {
  tokens: number;
  /** Tokens that the bucket had left for all processes at this process's last query. */
  left: number;
  askedAtMs: number;
  dryUntilMs: number;
  asking: Promise<void> | null;
}

/** Token buckets in the database, from which each process takes blocks of tokens. */
export interface RateLeases {
  /**
   * Takes tokens: all that are wanted, or none. Queries the database only if this process's block has too few.
   * @param perSecond rate at which the bucket of all processes fills
   * @param burst its size, at least 1
   * @param tokens how many are wanted, at most `burst`; 1 by default
   * @throws the database's error
   */
  take(caller: string, perSecond: number, burst: number, tokens?: number): RateVerdict | Promise<RateVerdict>;
  /**
   * Puts tokens that were taken back into the bucket of all processes.
   * @throws the database's error
   */
  giveBack(caller: string, tokens: number): Promise<void>;
}

/**
 * Fills the bucket for the time since the last query, and takes a block ($4) from it, or as much as there is. It takes
 * nothing if there is less than $5: two requests that want many must not get half of it each.
 */
const leaseSql = `
  insert into rate_limit_buckets as b (caller, tokens, granted, filled_at)
  values ($1, $3::float8 - $4::float8, $4::float8, clock_timestamp())
  on conflict (caller) do update set
    (tokens, granted, filled_at) = (
      select f.tokens - f.granted, f.granted, f.now
      from (
        select n.tokens, n.now,
          case when floor(n.tokens) >= $5::float8 then least($4::float8, floor(n.tokens)) else 0 end as granted
        from (
          select least($3::float8, b.tokens
            + greatest(0, extract(epoch from t.now - b.filled_at)) * $2::float8) as tokens, t.now
          from (select clock_timestamp() as now) t) n) f)
  returning granted, tokens as left`;

/** The next statement of the bucket removes what is more than its size. */
const giveBackSql = 'update rate_limit_buckets set tokens = tokens + $2::float8 where caller = $1';

interface LeaseDeps {
  db: Queryable;
  nowMs: () => number;
}

interface Want {
  perSecond: number;
  burst: number;
  least: number;
  most: number;
}

/**
 * Takes tokens from the bucket of all processes into the lease.
 * @returns how many of at least `least` and at most `most` the bucket has granted, or 0
 */
async function lend(
  { db, nowMs }: LeaseDeps,
  caller: string,
  lease: Lease,
  { perSecond, burst, least, most }: Want,
): Promise<number> {
  lease.askedAtMs = nowMs();
  const { rows } = await db.query<{ granted: number; left: number }>({
    name: 'lease_rate_tokens',
    text: leaseSql,
    values: [caller, perSecond, burst, most, least],
  });
  const { granted = 0, left = 0 } = rows[0] ?? {};
  lease.tokens += granted;
  lease.left = left;
  return granted;
}

/** Takes what this process has left of its block, and the rest from the bucket of all. */
async function takeMany(
  deps: LeaseDeps,
  caller: string,
  lease: Lease,
  { perSecond, burst, tokens }: { perSecond: number; burst: number; tokens: number },
): Promise<RateVerdict> {
  // Set them aside at once: other requests take tokens while this one waits.
  const own = Math.min(Math.floor(lease.tokens), tokens);
  const missing = tokens - own;
  lease.tokens -= own;
  let granted = 0;
  try {
    if (missing > 0)
      granted = await lend(deps, caller, lease, { perSecond, burst, least: missing, most: missing });
  } finally {
    lease.tokens += own;
  }
  const allowed = granted === missing;
  if (allowed) lease.tokens -= tokens;
  return verdictOf(Math.min(burst, lease.tokens + lease.left), allowed, perSecond, burst, tokens);
}

/**
 * @param db may be a pool
 * @param nowMs a monotonic clock
 */
export function createRateLeases(db: Queryable, nowMs: () => number = () => performance.now()): RateLeases {
  const leases = new Map<string, Lease>();
  let sweptAtMs = nowMs();

  function find(caller: string): Lease {
    const now = nowMs();
    if (now - sweptAtMs > SWEEP_MS) {
      sweptAtMs = now;
      for (const [name, each] of leases) if (now - each.askedAtMs > SWEEP_MS) leases.delete(name);
    }
    const known = leases.get(caller);
    if (known) return known;
    const lease = { tokens: 0, left: 0, askedAtMs: now, dryUntilMs: 0, asking: null };
    leases.set(caller, lease);
    return lease;
  }

  async function ask(caller: string, lease: Lease, perSecond: number, burst: number): Promise<void> {
    const block = Math.min(Math.floor(burst), Math.max(1, Math.round(perSecond * BLOCK_SECONDS)));
    const granted = await lend({ db, nowMs }, caller, lease, { perSecond, burst, least: 1, most: block });
    const { left } = lease;
    const untilNextMs = ((1 - left) / perSecond) * 1_000;
    if (granted < block) lease.dryUntilMs = nowMs() + Math.max(DRY_MS, untilNextMs);
  }

  /** Requests that need tokens at the same time wait for the same statement. */
  function askOnce(caller: string, lease: Lease, perSecond: number, burst: number): Promise<void> {
    lease.asking ??= ask(caller, lease, perSecond, burst).finally(() => (lease.asking = null));
    return lease.asking;
  }

  function takeFrom(lease: Lease, perSecond: number, burst: number): RateVerdict | null {
    const isDry = nowMs() < lease.dryUntilMs;
    if (lease.tokens < 1 && !isDry) return null;
    const allowed = lease.tokens >= 1;
    if (allowed) lease.tokens -= 1;
    return verdictOf(Math.min(burst, lease.tokens + lease.left), allowed, perSecond, burst);
  }

  async function takeAfterAsking(
    caller: string,
    lease: Lease,
    perSecond: number,
    burst: number,
  ): Promise<RateVerdict> {
    for (;;) {
      await askOnce(caller, lease, perSecond, burst);
      const taken = takeFrom(lease, perSecond, burst);
      if (taken) return taken;
    }
  }

  return {
    async giveBack(caller, tokens) {
      await db.query({ name: 'give_back_rate_tokens', text: giveBackSql, values: [caller, tokens] });
    },
    take(caller, perSecond, burstWanted, tokens = 1) {
      const burst = Math.max(1, burstWanted);
      const lease = find(caller);
      if (tokens > 1) return takeMany({ db, nowMs }, caller, lease, { perSecond, burst, tokens });
      return takeFrom(lease, perSecond, burst) ?? takeAfterAsking(caller, lease, perSecond, burst);
    },
  };
}
