import type { Logger } from 'pino';
import type { Database } from '../db/database.ts';
import type { Waker } from '../db/wake.ts';
import type { Pulse } from '../processes/pulse.ts';
import { repeat } from '../processes/repeat.ts';
import { callEngine, type EngineClient, isRefusal, reasonOf } from '../temporal/connection.ts';
import { type OutboxEntry, taskQueues } from '../temporal/contract.ts';
import { signalWithStart, signalWorkflow, startWorkflow } from '../temporal/start.ts';
import {
  bulkEntriesWaitSql,
  claimBulkEntries,
  type ClaimedEntry,
  claimEntries,
  deleteEntries,
  entriesWaitSql,
  postponeEntry,
  releaseEntries,
} from './claims.ts';

/**
 * Short, so that another dispatcher soon takes over the entries of a killed one. Sending an entry twice does no harm.
 * The start of a run waits no longer than this for the run to begin.
 */
const LEASE_SECONDS = 10;
/**
 * Two loops send the entries, so that those of priorities 0 and 1 never wait for a claim of priority 2 to be sent. The
 * second loop takes few entries at a time, so that other dispatchers get their share and the engine has time for the
 * first loop. A run that it starts in the queue `flows` keeps its lease until it begins: the engine's queue is first
 * in, first out, so if thousands waited there, the runs of another account would wait behind them.
 */
const loops = [
  {
    name: 'dispatching the outbox',
    claim: claimEntries,
    waiting: entriesWaitSql,
    maxClaimed: 64,
    minClaimed: 64,
    parallel: 16,
    isBulk: false,
  },
  // Other dispatchers may have the leases, so a small claim does not mean that no more entries wait.
  {
    name: 'dispatching starts of runs',
    claim: claimBulkEntries,
    waiting: bulkEntriesWaitSql,
    maxClaimed: 16,
    minClaimed: 1,
    parallel: 8,
    isBulk: true,
  },
] as const;
/** While the engine is unavailable, the pause doubles from the first value to the second. */
const RETRY_MIN_MS = 250;
const RETRY_MAX_MS = 4_000;
/** The pause before a refused entry is sent again doubles with each attempt, up to this. */
const REFUSED_MAX_SECONDS = 300;

export interface DispatcherDependencies {
  database: Database;
  client: EngineClient;
  waker: Waker;
  pulse: Pulse;
  log: Logger;
  /** Called when the engine refuses an entry, for example because the engine has lost our search attributes. */
  onRefused?: () => void;
}

export interface Dispatcher {
  stop(): Promise<void>;
}

/** Equal entries of one claim, for which the request is sent once. */
type Group = { entry: OutboxEntry; claims: ClaimedEntry[] };

/** `gone`: the signal's workflow is not running. */
type Result = 'sent' | 'gone' | 'unavailable' | { refused: string };

/** @returns false if a signal finds no workflow */
async function send(client: EngineClient, entry: OutboxEntry): Promise<boolean> {
  switch (entry.kind) {
    case 'start':
      await startWorkflow(client, entry);
      return true;
    case 'signal_with_start':
      await signalWithStart(client, entry);
      return true;
    case 'signal':
      return signalWorkflow(client, entry);
  }
}

async function trySend(client: EngineClient, entry: OutboxEntry): Promise<Result> {
  try {
    return (await callEngine(client, () => send(client, entry))) ? 'sent' : 'gone';
  } catch (error) {
    return isRefusal(error) ? { refused: reasonOf(error) } : 'unavailable';
  }
}

function groupsOf(claims: ClaimedEntry[]): Group[] {
  const groups = new Map<string, Group>();
  for (const claim of claims) {
    if (!claim.entry) continue;
    const key = JSON.stringify(claim.entry);
    const group = groups.get(key) ?? { entry: claim.entry, claims: [] };
    group.claims.push(claim);
    groups.set(key, group);
  }
  return [...groups.values()];
}

async function recordRefusal(
  deps: DispatcherDependencies,
  claim: ClaimedEntry,
  problem: string,
): Promise<void> {
  const seconds = Math.min(2 ** Math.min(claim.attemptCount, 10), REFUSED_MAX_SECONDS);
  const workflowId = claim.entry?.workflowId;
  deps.log.error({ outbox_id: claim.id, workflow_id: workflowId, problem }, 'outbox entry refused');
  await postponeEntry(deps.database.pool, claim.id, seconds, problem);
  deps.onRefused?.();
}

/**
 * Whether a bulk entry that was sent stays until its workflow begins. If its lease has ended, the workflow began long
 * ago, or will begin.
 */
const awaitsBeginning = ({ entry, attemptCount }: ClaimedEntry): boolean =>
  entry?.kind === 'start' && entry.taskQueue === taskQueues.flows && attemptCount === 1;

async function recordResult(
  deps: DispatcherDependencies,
  group: Group,
  result: Result,
  isBulk: boolean,
): Promise<void> {
  const ids = group.claims.map((claim) => claim.id);
  if (result === 'unavailable') return releaseEntries(deps.database.pool, ids);
  if (typeof result === 'object') {
    for (const claim of group.claims) await recordRefusal(deps, claim, result.refused);
    return;
  }
  if (result === 'gone') {
    deps.log.info({ workflow_id: group.entry.workflowId }, 'signal dropped: its workflow is gone');
  }
  const done = isBulk ? group.claims.filter((claim) => !awaitsBeginning(claim)) : group.claims;
  await deleteEntries(
    deps.database.pool,
    done.map((claim) => claim.id),
  );
}

/** @returns whether the engine answered every request */
async function dispatch(
  deps: DispatcherDependencies,
  claims: ClaimedEntry[],
  { parallel, isBulk }: Pick<(typeof loops)[number], 'parallel' | 'isBulk'>,
): Promise<boolean> {
  for (const claim of claims) if (claim.problem !== null) await recordRefusal(deps, claim, claim.problem);
  const waiting = groupsOf(claims);
  let unavailable = false;
  const sendAll = async () => {
    for (let group = waiting.shift(); group; group = waiting.shift()) {
      const result = unavailable ? 'unavailable' : await trySend(deps.client, group.entry);
      if (result === 'unavailable') unavailable = true;
      await recordResult(deps, group, result, isBulk);
    }
  };
  await Promise.all(Array.from({ length: parallel }, sendAll));
  return !unavailable;
}

/** Sends the entries that one kind of claim finds. */
function startLoop(deps: DispatcherDependencies, loop: (typeof loops)[number]): Dispatcher {
  const { name, claim, maxClaimed, minClaimed } = loop;
  /** 0 while the engine is available. */
  let retryMs = 0;
  const round = async (): Promise<number> => {
    const claims = await claim(deps.database.pool, maxClaimed, LEASE_SECONDS);
    // Another dispatcher may have sent what this one could not.
    if (claims.length === 0) return retryMs || Infinity;
    if (await dispatch(deps, claims, loop)) {
      if (retryMs > 0) deps.log.info('the engine is available again');
      retryMs = 0;
      return claims.length < minClaimed ? Infinity : 0;
    }
    if (retryMs === 0) deps.log.warn('the engine is unavailable: requests wait in the outbox');
    retryMs = retryMs === 0 ? RETRY_MIN_MS : Math.min(retryMs * 2, RETRY_MAX_MS);
    return retryMs;
  };
  const repeating = repeat(round, { log: deps.log, name });
  // While the engine is unavailable, a new row does not cause an earlier try.
  const wake = () => retryMs === 0 && repeating.wake();
  const unlisten = deps.waker.listen('outbox', wake);
  const unwatch = deps.pulse.watch(loop.waiting, wake);
  return {
    async stop() {
      unlisten();
      unwatch();
      await repeating.stop();
    },
  };
}

/**
 * Sends the requests in the outbox to the engine, each at least once. Rows are leased, sent and deleted, so that no
 * network call happens inside a transaction. Any number of dispatchers may run at once.
 */
export function createDispatcher(deps: DispatcherDependencies): Dispatcher {
  const running = loops.map((loop) => startLoop(deps, loop));
  return {
    async stop() {
      await Promise.all(running.map((loop) => loop.stop()));
    },
  };
}
