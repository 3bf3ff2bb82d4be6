import type pg from 'pg';
import type { Logger } from 'pino';
import type { Pulse } from '../../../platform/processes/pulse.ts';
import { repeat, type Repeating } from '../../../platform/processes/repeat.ts';
import { shareName } from '../../terms/backlog.ts';
import { listProviderRows, type ProviderRow, UnusableProviderError } from '../../wire/providers/named.ts';
import type { Backlogs } from '../turns/backlogs.ts';
import type { FailOver, UnusableShare } from '../failover/fail-over.ts';
import type { ProviderChannel } from '../compose/provider-channel.ts';
import type { ProviderShares } from '../share/shares.ts';

/** How often a sender checks whether providers were added, changed or removed, in ms. */
const FOLLOW_MS = 2_000;

/** SQL: whether there are named providers, or outages of any. */
const PROVIDERS_SQL = `exists (select from providers where removed_at is null)
  or exists (select from provider_outages)`;

/** Keeps the shares of a sender up to date with the named providers, until it is stopped. */
export type FollowProviders = (shares: ProviderShares, backlogs: Backlogs) => Repeating;

export const noNamedProviders: FollowProviders = () => ({
  wake: () => undefined,
  stop: () => Promise.resolve(),
});

export interface FollowDeps {
  pool: pg.Pool;
  /** @throws UnusableProviderError if this process cannot use the row, and ConfigError if its settings are wrong */
  open(row: ProviderRow): ProviderChannel;
  failOver: FailOver;
  pulse: Pulse;
  log: Logger;
  /** How often it checks; by default every two seconds. */
  intervalMs?: number;
}

/** What was opened for a row. The version of a row changes with its settings. */
interface Followed {
  version: number;
  share: string;
  /** Why the provider cannot be used, and since when, in milliseconds of `performance.now()`; null if it can. */
  problem: { reason: string; since: number } | null;
}

const labelOf = ({ channel, name }: ProviderRow) => `${channel}:${name}`;

/** Whether a provider may have failed, or messages may wait for one that this process cannot use. */
function isTroubled(shares: ProviderShares, backlogs: Backlogs): boolean {
  const usable = shares.all().filter(({ channel }) => !channel.missing);
  const names = new Set(usable.map(({ name }) => name));
  return (
    usable.some(({ breaker }) => breaker.openMs() > 0) ||
    [...backlogs.all()].some((backlog) => !names.has(shareName(backlog)))
  );
}

/** The providers that cannot be used. */
function unusable(followed: ReadonlyMap<number, Followed>, rows: readonly ProviderRow[]): UnusableShare[] {
  return rows.flatMap(({ id, name, channel }) => {
    const problem = followed.get(id)?.problem;
    return problem
      ? [{ channel, providerId: id, provider: name, ageMs: performance.now() - problem.since }]
      : [];
  });
}

/** Repeats rounds while there are named providers or outages, or this process needs a round. */
function startRounds(
  { pulse, log, intervalMs }: Pick<FollowDeps, 'pulse' | 'log'> & { intervalMs: number },
  isNeeded: () => boolean,
  round: () => Promise<void>,
): Repeating {
  let noted = true;
  const unwatch = pulse.watch(PROVIDERS_SQL, () => (noted = true));
  const rounds = repeat(
    async () => {
      if (noted || isNeeded()) {
        noted = false;
        await round();
      }
      return intervalMs;
    },
    { log, name: 'looking for named providers', retryMs: intervalMs },
  );
  return {
    wake: () => rounds.wake(),
    stop() {
      unwatch();
      return rounds.stop();
    },
  };
}

/**
 * Opens the channels of named providers, and checks every two seconds which providers were added, changed or removed. A
 * provider that cannot be opened is reported to operators and treated as an outage. The same rounds move messages of
 * providers that fail.
 */
export function createFollowProviders({
  pool,
  open,
  failOver,
  pulse,
  log,
  intervalMs = FOLLOW_MS,
}: FollowDeps): FollowProviders {
  return (shares, backlogs) => {
    const followed = new Map<number, Followed>();

    function openRow(row: ProviderRow): void {
      const share = shareName({ channel: row.channel, providerId: row.id });
      const version = row.updatedAt.getTime();
      try {
        shares.add(open(row));
        followed.set(row.id, { version, share, problem: null });
        log.info({ provider: row.name, kind: row.kind }, 'provider opened');
      } catch (error) {
        shares.remove(share);
        const reason =
          error instanceof UnusableProviderError ? error.message : 'it could not be opened: see the log';
        const since = followed.get(row.id)?.problem?.since ?? performance.now();
        followed.set(row.id, { version, share, problem: { reason, since } });
        log.error({ err: error, provider: row.name, kind: row.kind }, 'provider cannot be used');
      }
    }

    function apply(rows: readonly ProviderRow[]): void {
      const ids = new Set(rows.map(({ id }) => id));
      for (const [id, { share }] of followed) {
        if (ids.has(id)) continue;
        followed.delete(id);
        shares.remove(share);
      }
      for (const row of rows) {
        if (followed.get(row.id)?.version !== row.updatedAt.getTime()) openRow(row);
      }
      const problems = rows.map(
        (row) => [labelOf(row), followed.get(row.id)?.problem?.reason ?? null] as const,
      );
      shares.setUnusable(new Map(problems.flatMap(([name, problem]) => (problem ? [[name, problem]] : []))));
    }

    return startRounds(
      { pulse, log, intervalMs },
      () => followed.size > 0 || isTroubled(shares, backlogs),
      async () => {
        const rows = await listProviderRows(pool);
        apply(rows);
        const liveIds = new Set(rows.map(({ id }) => id));
        await failOver({ shares, backlogs, liveIds, unusable: unusable(followed, rows) });
      },
    );
  };
}
