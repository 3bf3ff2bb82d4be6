import type { Logger } from 'pino';
import type { Database } from '../db/database.ts';
import type { Waker } from '../db/wake.ts';
import { repeat } from '../processes/repeat.ts';
import { callEngine, type EngineClient, isRefusal, reasonOf } from '../temporal/connection.ts';
import type { OutboxEntry } from '../temporal/contract.ts';
import { signalWithStart, signalWorkflow, startWorkflow } from '../temporal/start.ts';
import { claimEntries, deleteEntries, postponeEntry, releaseEntries, type ClaimedEntry } from './claims.ts';

/** Short, for what a dispatcher that died had claimed must move again soon; a late one does no harm. */
const LEASE_SECONDS = 10;
const BATCH = 64;
const PARALLEL = 16;
const POLL_MS = 1_000;
const AWAY_FIRST_MS = 250;
const AWAY_LONGEST_MS = 4_000;
const REFUSED_LONGEST_SECONDS = 300;

export interface DispatcherDependencies {
  database: Database;
  client: EngineClient;
  waker: Waker;
  log: Logger;
  /** Called when the engine refuses an entry, as it does where it lost our search attributes. */
  onRefused?: () => void;
}

export interface Dispatcher {
  stop(): Promise<void>;
}

/** Entries of one batch that say the same: the engine is told once. */
type Group = { entry: OutboxEntry; claims: ClaimedEntry[] };

type Verdict = 'told' | 'gone' | 'away' | { refused: string };

/** @returns false where a signal finds no workflow */
async function tell(client: EngineClient, entry: OutboxEntry): Promise<boolean> {
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

async function verdictOf(client: EngineClient, entry: OutboxEntry): Promise<Verdict> {
  try {
    return (await callEngine(client, () => tell(client, entry))) ? 'told' : 'gone';
  } catch (error) {
    return isRefusal(error) ? { refused: reasonOf(error) } : 'away';
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

async function refuse(deps: DispatcherDependencies, claim: ClaimedEntry, problem: string): Promise<void> {
  const seconds = Math.min(2 ** Math.min(claim.attemptCount, 10), REFUSED_LONGEST_SECONDS);
  const workflowId = claim.entry?.workflowId;
  deps.log.error({ outbox_id: claim.id, workflow_id: workflowId, problem }, 'outbox entry refused');
  await postponeEntry(deps.database.pool, claim.id, seconds, problem);
  deps.onRefused?.();
}

async function settle(deps: DispatcherDependencies, group: Group, verdict: Verdict): Promise<void> {
  const ids = group.claims.map((claim) => claim.id);
  if (verdict === 'away') return releaseEntries(deps.database.pool, ids);
  if (typeof verdict === 'object') {
    for (const claim of group.claims) await refuse(deps, claim, verdict.refused);
    return;
  }
  if (verdict === 'gone') {
    deps.log.info({ workflow_id: group.entry.workflowId }, 'signal dropped: its workflow is gone');
  }
  await deleteEntries(deps.database.pool, ids);
}

/** @returns whether the engine was there for all of them */
async function dispatch(deps: DispatcherDependencies, claims: ClaimedEntry[]): Promise<boolean> {
  for (const claim of claims) if (claim.problem !== null) await refuse(deps, claim, claim.problem);
  const waiting = groupsOf(claims);
  let away = false;
  const tellNext = async () => {
    for (let group = waiting.shift(); group; group = waiting.shift()) {
      const verdict = away ? 'away' : await verdictOf(deps.client, group.entry);
      if (verdict === 'away') away = true;
      await settle(deps, group, verdict);
    }
  };
  await Promise.all(Array.from({ length: PARALLEL }, tellNext));
  return !away;
}

/**
 * Tell the engine what committed transactions wrote into the outbox, at least once each. No network call happens
 * inside a transaction: rows are leased, told and deleted. Any number of dispatchers may run.
 */
export function createDispatcher(deps: DispatcherDependencies): Dispatcher {
  let awayMs = 0;
  const round = async (): Promise<number> => {
    const claims = await claimEntries(deps.database.pool, BATCH, LEASE_SECONDS);
    if (claims.length === 0) return POLL_MS;
    if (await dispatch(deps, claims)) {
      if (awayMs > 0) deps.log.info('the engine is back');
      awayMs = 0;
      return claims.length < BATCH ? POLL_MS : 0;
    }
    if (awayMs === 0) deps.log.warn('the engine is away: what it is to be told waits in the outbox');
    awayMs = Math.min(awayMs === 0 ? AWAY_FIRST_MS : awayMs * 2, AWAY_LONGEST_MS);
    return awayMs;
  };
  const loop = repeat(round, { log: deps.log, name: 'dispatching the outbox' });
  // While the engine is away a new row is no reason to try sooner.
  const silence = deps.waker.listen('outbox', () => awayMs === 0 && loop.wake());
  return {
    async stop() {
      silence();
      await loop.stop();
    },
  };
}
