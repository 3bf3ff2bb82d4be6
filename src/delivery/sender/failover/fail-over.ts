import type pg from 'pg';
import type { Logger } from 'pino';
import type { Waker } from '../../../platform/db/wake.ts';
import {
  type Backlog,
  backlogName,
  BLOCKS_CLASS,
  DEFAULT_PROVIDER,
  type QueueShare,
  shareName,
} from '../../terms/backlog.ts';
import { isLetterQueue } from '../../terms/channels/queue-channel.ts';
import { rerouteLetters } from '../../ledger/intend/reroute-letters.ts';
import { repeatableKinds } from '../../wire/providers/index.ts';
import type { Backlogs } from '../turns/backlogs.ts';
import type { ProviderShare } from '../share/provider-share.ts';
import {
  endOutage,
  holdUnavailable,
  isFullHold,
  isFullPage,
  listOutages,
  moveExpired,
  type Outage,
  recordOutage,
  rerouteBacklog,
} from './reroute.ts';
import { holdUnavailableBlocks, rerouteBlocks } from './reroute-blocks.ts';
import type { ProviderShares } from '../share/shares.ts';

/** How long a breaker must be open before it counts as an outage, and messages go to further providers. */
const OUTAGE_MS = 60_000;
/** The share of the email provider in the settings. */
const DEFAULT_EMAIL_SHARE = shareName({ channel: 'email', providerId: DEFAULT_PROVIDER });
/** How long a provider that cannot be opened is not tested with new messages. */
const UNUSABLE_RETRY_MS = 60_000;

export interface FailOverDeps {
  pool: pg.Pool;
  waker: Pick<Waker, 'wake'>;
  log: Logger;
  /** How long a breaker is open before messages go elsewhere; by default 60 s. */
  outageMs?: number;
}

/** How often the log says that messages of a provider are held. */
const HELD_LOG_MS = 60_000;

/**
 * A provider without a usable channel: a named provider that this process cannot open, whose messages no share claims,
 * or a default provider that is missing in the settings.
 */
export interface UnusableShare extends QueueShare {
  provider: string;
  /** Milliseconds since this process found that it cannot open the provider. */
  ageMs: number;
}

/** What a sender knows about its providers. */
export interface FailOverView {
  shares: ProviderShares;
  backlogs: Backlogs;
  liveIds: ReadonlySet<number>;
  unusable: readonly UnusableShare[];
}

/** Checks the breakers of a sender, and moves messages of providers that fail, cannot be opened or were removed. */
export type FailOver = (view: FailOverView) => Promise<void>;

/** Creates a function that holds the remaining messages of an unusable provider, so that clients see why they wait. */
function createHolding({ pool, log }: Pick<FailOverDeps, 'pool' | 'log'>) {
  /** By share: when the next log about held messages may be written, in milliseconds of a monotonic clock. */
  const heldLogAt = new Map<string, number>();
  return async (share: QueueShare, provider: string, backlogs: readonly Backlog[]): Promise<void> => {
    const name = shareName(share);
    let count = 0;
    for (const backlog of backlogs) {
      if (backlog.class === BLOCKS_CLASS) {
        count += await holdUnavailableBlocks(pool, backlog);
        continue;
      }
      for (let full = true; full;) {
        const page = await holdUnavailable(pool, backlog);
        count += page;
        full = isFullHold(page);
      }
    }
    if (count === 0 || performance.now() < (heldLogAt.get(name) ?? 0)) return;
    heldLogAt.set(name, performance.now() + HELD_LOG_MS);
    log.warn({ provider, held: count }, 'messages are held: their provider cannot be used');
  };
}

/** Default providers that are missing in the settings. Their shares claim messages only to let them expire. */
function absentOf(shares: ProviderShares, ageMs: number): UnusableShare[] {
  return shares
    .all()
    .flatMap(({ channel: { channel, providerId, provider, missing } }) =>
      missing ? [{ channel, providerId, provider, ageMs }] : [],
    );
}

/** Moves a page of a backlog. @param defaultKind the kind of the email provider in the settings */
async function rerouteOne(
  pool: pg.Pool,
  backlog: Backlog,
  defaultKind: string | null,
): Promise<{ moved: number; providerIds: readonly number[] }> {
  if (isLetterQueue(backlog.queue)) return rerouteLetters(pool, backlog, { repeatableKinds, defaultKind });
  const reroute = backlog.class === BLOCKS_CLASS ? rerouteBlocks : rerouteBacklog;
  const { moved, providerId } = await reroute(pool, backlog);
  return { moved, providerIds: moved > 0 && providerId !== null ? [providerId] : [] };
}

/** Creates a function that moves all messages of backlogs that can go to another provider. */
function createMoving({ pool, waker }: Pick<FailOverDeps, 'pool' | 'waker'>) {
  return async (backlogs: Iterable<Backlog>, shares: ProviderShares): Promise<void> => {
    const ofSetting = shares.all().find(({ name }) => name === DEFAULT_EMAIL_SHARE);
    const defaultKind = ofSetting?.channel.provider ?? null;
    for (const backlog of [...backlogs]) {
      for (;;) {
        const page = await rerouteOne(pool, backlog, defaultKind);
        for (const providerId of page.providerIds)
          waker.wake('send', [backlogName({ ...backlog, providerId })]);
        if (backlog.class === BLOCKS_CLASS || !isFullPage(page)) break;
      }
    }
  };
}

export function createFailOver({ pool, waker, log, outageMs = OUTAGE_MS }: FailOverDeps): FailOver {
  const holdAll = createHolding({ pool, log });
  const moveAll = createMoving({ pool, waker });

  /** Records the outage of a share, or its end. @returns whether its messages are to be moved */
  async function look(share: ProviderShare, outage: Outage | undefined): Promise<boolean> {
    const { channel, breaker } = share;
    const ageMs = breaker.openMs();
    const { provider } = channel;
    if (ageMs >= outageMs || (ageMs > 0 && outage)) {
      if (!outage) log.warn({ provider }, 'provider unavailable: its messages go to further providers');
      await recordOutage(pool, channel, { ageMs, retryMs: breaker.waitMs() });
      return true;
    }
    // An outage ends only if this process has seen the provider work since the outage began.
    if (outage && ageMs === 0 && breaker.workedMs() < outage.ageMs) {
      await endOutage(pool, channel);
      log.info({ provider }, 'provider works again');
    }
    return false;
  }

  /**
   * Treats an unusable provider like one whose breaker is open. Messages that cannot go elsewhere are held. They expire
   * even though no share claims them.
   */
  async function moveUnusable(
    { provider, ageMs, ...share }: UnusableShare,
    backlogs: readonly Backlog[],
    outage: Outage | undefined,
    shares: ProviderShares,
  ): Promise<void> {
    if (ageMs >= outageMs) {
      if (!outage) log.warn({ provider }, 'provider unusable: its messages go to further providers');
      await recordOutage(pool, share, { ageMs, retryMs: UNUSABLE_RETRY_MS });
      await moveAll(backlogs, shares);
      await holdAll(share, provider, backlogs);
    }
    if (share.providerId === DEFAULT_PROVIDER) return;
    for (const backlog of backlogs) {
      const moved = await moveExpired(pool, backlog);
      if (moved > 0) waker.wake('send', [backlogName({ ...backlog, providerId: DEFAULT_PROVIDER })]);
    }
  }

  return async ({ shares, backlogs, liveIds, unusable }) => {
    const outages = new Map((await listOutages(pool)).map((outage) => [shareName(outage), outage]));
    for (const share of shares.all().filter(({ channel }) => !channel.missing)) {
      if (await look(share, outages.get(share.name))) await moveAll(backlogs.due(share.name), shares);
    }
    for (const each of [...unusable, ...absentOf(shares, outageMs)]) {
      const name = shareName(each);
      const due = [...backlogs.all()].filter((backlog) => shareName(backlog) === name);
      // An installation without SMS has no outage until SMS are accepted.
      if (due.length === 0 && each.providerId === DEFAULT_PROVIDER) continue;
      await moveUnusable(each, due, outages.get(name), shares);
    }
    const isLive = (id: number) => id === DEFAULT_PROVIDER || liveIds.has(id);
    const ofRemoved = [...backlogs.all()].filter(({ providerId }) => !isLive(providerId));
    await moveAll(ofRemoved, shares);
  };
}
