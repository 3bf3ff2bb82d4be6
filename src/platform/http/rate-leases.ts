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
   * Takes one token. Queries the database only if this process's block is nearly used up.
   * @param perSecond rate at which the bucket of all processes fills
   * @param burst its size, at least 1
   * @throws the database's error
   */
  take(caller: string, perSecond: number, burst: number): RateVerdict | Promise<RateVerdict>;
}

/** Fills the bucket for the time since the last query, and takes a block from it, or as much as there is. */
const leaseSql = `
  insert into rate_limit_buckets as b (caller, tokens, granted, filled_at)
  values ($1, $3::float8 - $4::float8, $4::float8, clock_timestamp())
  on conflict (caller) do update set
    (tokens, granted, filled_at) = (
      select f.tokens - f.granted, f.granted, f.now
      from (
        select n.tokens, least($4::float8, floor(n.tokens)) as granted, n.now
        from (
          select least($3::float8, b.tokens
            + greatest(0, extract(epoch from t.now - b.filled_at)) * $2::float8) as tokens, t.now
          from (select clock_timestamp() as now) t) n) f)
  returning granted, tokens as left`;

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
    lease.askedAtMs = nowMs();
    const { rows } = await db.query<{ granted: number; left: number }>({
      name: 'lease_rate_tokens',
      text: leaseSql,
      values: [caller, perSecond, burst, block],
    });
    const { granted = 0, left = 0 } = rows[0] ?? {};
    lease.tokens += granted;
    lease.left = left;
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
    take(caller, perSecond, burstWanted) {
      const burst = Math.max(1, burstWanted);
      const lease = find(caller);
      return takeFrom(lease, perSecond, burst) ?? takeAfterAsking(caller, lease, perSecond, burst);
    },
  };
}
