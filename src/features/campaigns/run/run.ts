import { setTimeout as delay } from 'node:timers/promises';
import type pg from 'pg';
import type { Logger } from 'pino';
import {
  type CampaignState,
  type CampaignStep,
  campaignWaitMs,
  type OperatorSignal,
} from '../../../../workflows/campaigns/contract.ts';
import { wakeCampaign } from '../../../delivery/ledger/blocks/campaign-blocks.ts';
import type { StopThresholds } from '../../../delivery/ledger/limits/stop-thresholds.ts';
import { campaignCounts, NO_RECIPIENTS } from '../campaign-counts.ts';
import { recountBlocks } from '../../../delivery/ledger/blocks/tallies.ts';
import type { LimitSettings } from '../../../delivery/ledger/limits/authority.ts';
import { inTransaction } from '../../../platform/db/queryable.ts';
import type { Waker } from '../../../platform/db/wake.ts';
import type { EventPublisher, QueuedWork } from '../../../platform/events/publish.ts';
import { filtersOf } from '../audience.ts';
import type { CampaignRow } from '../model.ts';
import { cancelCampaign, pauseCampaign, resumeCampaign } from '../transitions.ts';
import { beginSnapshot, expectEngine, lookMs, MAX_LOOK_MS, nextOf } from './next-step.ts';
import { evaluateInTurn, type Evaluations } from './evaluations.ts';
import { cancelRest, completeCampaign } from './finish.ts';
import { planSnapshot, readCampaign, type SnapshotPlan, wantsPage, writePage } from './page.ts';
import { expandFormerPin, isFormerPin, pauseWithoutAudience } from './pin.ts';
import { startRates, stopIfHarmful, stopIfUnsendable } from './thresholds.ts';
import { giveWinnerIfDue } from './variants.ts';
import { readOpenWork, type Waiting, waitingOf } from './waiting.ts';

export interface CampaignRunDependencies {
  pool: pg.Pool;
  /** Evaluates audiences that depend on events, opens or clicks. */
  evaluations: Evaluations;
  events: EventPublisher;
  waker: Pick<Waker, 'wake'>;
  limits: LimitSettings;
  thresholds: StopThresholds;
  plusAddresses: boolean;
  log: Logger;
  /** Number of contacts per page of the snapshot; for tests. */
  pageContacts?: number;
}

/** How long an activity may run, and how it reports progress. */
export interface Stay {
  /** Called after each look, which happens every 1 to 10 s while the campaign is watched. */
  progress(state: CampaignState): void;
  signal: AbortSignal;
  /** Milliseconds. */
  forMs: number;
}

/** Minimum time between two looks while recipients are written, in ms. */
const LOOK_MS = 1_000;
/** Maximum number of pages of closed blocks that are recounted between two looks. */
const MAX_RECOUNT_PAGES = 25;

/** Wakes the loops that process what was published. */
function wakeFor({ waker }: CampaignRunDependencies, queued: QueuedWork | null): void {
  for (const channel of queued?.keys() ?? []) waker.wake(channel);
}

function wakeSenders(
  { waker }: CampaignRunDependencies,
  { account_id: accountId, channel, provider_id: providerId }: CampaignRow,
): void {
  wakeCampaign(waker, { accountId, channel, providerId: providerId ?? 0 });
}

async function stateOf(
  { pool }: CampaignRunDependencies,
  row: CampaignRow,
  waiting: Waiting | null,
  nextFree: Date | null,
): Promise<CampaignState> {
  const counts = (await campaignCounts(pool, [row.id])).get(row.id) ?? NO_RECIPIENTS;
  return {
    status: row.status,
    phase: row.phase,
    title: titleOf(row),
    cursor: row.cursor,
    maxContactId: row.max_contact_id,
    counts,
    waitingFor: row.status === 'paused' ? 'resume' : (waiting?.reason ?? null),
    until: waiting?.until?.toISOString() ?? null,
    ...(nextFree && { freeAt: nextFree.toISOString() }),
    outcome: row.outcome,
  };
}

/** Does the periodic work of a campaign that is being sent: counts, stop thresholds and the A/B winner. */
async function tend(deps: CampaignRunDependencies, row: CampaignRow, asOf: Date): Promise<void> {
  const { pool, events, waker, thresholds, log } = deps;
  for (let page = 0; page < MAX_RECOUNT_PAGES; page += 1) {
    if ((await recountBlocks(pool, row.id)) === 0) break;
  }
  await startRates(pool, row.id);
  const stopped =
    (await stopIfHarmful(pool, events, row, thresholds, asOf)) ?? (await stopIfUnsendable(pool, row, asOf));
  if (stopped) {
    log.warn({ campaign_id: row.id, account_id: row.account_id }, 'campaign stopped');
    waker.wake('outbox');
    wakeFor(deps, stopped);
    return;
  }
  if (await giveWinnerIfDue(pool, row, asOf)) wakeSenders(deps, row);
}

/** Pauses a campaign whose audience cannot be selected any more, because a list or segment of it was deleted. */
async function stopWithoutAudience(
  { pool, waker, log }: CampaignRunDependencies,
  campaignId: number,
  asOf: Date,
): Promise<void> {
  if (!(await pauseWithoutAudience(pool, campaignId, asOf))) return;
  log.warn({ campaign_id: campaignId }, 'campaign stopped: a list or segment of its audience was deleted');
  waker.wake('outbox');
}

/** Reads the row, and expands an audience of the former form. */
async function readExpanded(
  deps: CampaignRunDependencies,
  campaignId: number,
  asOf: Date,
): Promise<CampaignRow | null> {
  const row = await readCampaign(deps.pool, campaignId);
  if (!row || !isFormerPin(row)) return row;
  if (!(await expandFormerPin(deps.pool, campaignId))) await stopWithoutAudience(deps, campaignId, asOf);
  return readCampaign(deps.pool, campaignId);
}

/** The result of a look. */
interface Look extends CampaignStep {
  /** The pause before the next look of the same activity. */
  againMs: number;
}

/**
 * Reads the row, begins the snapshot if it is due, tends the campaign if it is being sent, and decides the next step.
 */
async function look(deps: CampaignRunDependencies, campaignId: number, asOf: Date): Promise<Look> {
  const { pool, limits: settings } = deps;
  let row = await readExpanded(deps, campaignId, asOf);
  if (row && (await beginSnapshot(pool, row, asOf))) row = await readCampaign(pool, campaignId);
  const sends = row?.status === 'active' && (row.phase === 'snapshot' || row.phase === 'sending');
  if (row && sends && row.approval_state !== 'pending') {
    await tend(deps, row, asOf);
    row = await readCampaign(pool, campaignId);
  }
  if (!row) return { next: 'done', state: goneState(campaignId), againMs: MAX_LOOK_MS };
  const work = await readOpenWork(pool, campaignId, asOf);
  const known = { settings, asOf, work: new Map([[campaignId, work]]) };
  const waiting = (await waitingOf(pool, [row], known)).get(campaignId) ?? null;
  const state = await stateOf(deps, row, waiting, work.nextFree);
  const next = nextOf(row, work, waiting, asOf);
  const wakeMs = next === 'wait' ? campaignWaitMs(state, asOf.getTime()) : MAX_LOOK_MS;
  if (next !== 'done') await expectEngine(pool, campaignId, wakeMs);
  return { next, state, againMs: lookMs(row, work, waiting, asOf) };
}

const stepOf = ({ next, state }: Look): CampaignStep => ({ next, state });

/** The step that an activity repeats. */
interface Repeated {
  campaignId: number;
  /** The workflow's time when the activity began. */
  begun: Date;
  kind: 'snapshot' | 'watch';
  /** @returns null if no look is needed yet */
  each: (asOf: Date) => Promise<Look | null>;
}

/** Repeats a step until a step of another kind follows, the time is up, or the process stops. */
async function repeat(
  deps: CampaignRunDependencies,
  { campaignId, begun, kind, each }: Repeated,
  { progress, signal, forMs }: Stay,
): Promise<CampaignStep> {
  const startedAt = Date.now();
  for (;;) {
    const elapsed = Date.now() - startedAt;
    const asOf = new Date(begun.getTime() + elapsed);
    const step = await each(asOf);
    if (step) progress(step.state);
    if (step && step.next !== kind) return stepOf(step);
    if (signal.aborted || elapsed >= forMs) return stepOf(step ?? (await look(deps, campaignId, asOf)));
    if (kind === 'watch') {
      const pauseMs = Math.min(step?.againMs ?? LOOK_MS, forMs - elapsed);
      await delay(pauseMs, undefined, { signal }).catch(() => undefined);
    }
  }
}

async function snapshot(
  deps: CampaignRunDependencies,
  campaignId: number,
  begun: Date,
  stay: Stay,
): Promise<CampaignStep> {
  const row = await readCampaign(deps.pool, campaignId);
  if (!wantsPage(row)) return stepOf(await look(deps, campaignId, begun));
  const startedAt = Date.now();
  const isEvaluated = await evaluateInTurn(deps, row, stay);
  const evaluatedAt = new Date(begun.getTime() + Date.now() - startedAt);
  if (!isEvaluated) return stepOf(await look(deps, campaignId, evaluatedAt));
  const plan: SnapshotPlan = await planSnapshot(deps.pool, row);
  let lookedAt = Date.now();
  const each = async (asOf: Date) => {
    const page = await writePage(deps, campaignId, plan, asOf);
    if (page.recipients > 0) wakeSenders(deps, row);
    if (page.state === 'gone') await stopWithoutAudience(deps, campaignId, asOf);
    if (page.state === 'more' && Date.now() - lookedAt < LOOK_MS) return null;
    lookedAt = Date.now();
    return look(deps, campaignId, asOf);
  };
  return repeat(deps, { campaignId, begun: evaluatedAt, kind: 'snapshot', each }, stay);
}

async function finishCampaign(
  deps: CampaignRunDependencies,
  campaignId: number,
  asOf: Date,
  signal: AbortSignal,
): Promise<CampaignStep> {
  const { pool, events } = deps;
  const row = await readCampaign(pool, campaignId);
  if (row?.outcome === 'canceled' && row.phase !== 'done') await cancelRest(pool, campaignId, signal);
  wakeFor(deps, await completeCampaign(pool, events, campaignId, asOf));
  return stepOf(await look(deps, campaignId, asOf));
}

const transitions = { pause: pauseCampaign, resume: resumeCampaign, cancel: cancelCampaign };

async function change(
  deps: CampaignRunDependencies,
  campaignId: number,
  signal: OperatorSignal,
  asOf: Date,
): Promise<void> {
  const row = await inTransaction(deps.pool, (trx) => transitions[signal](trx, { id: campaignId }, { asOf }));
  if (!row) return;
  deps.log.info(
    { campaign_id: campaignId, account_id: row.account_id, signal },
    'campaign changed by an operator',
  );
  deps.waker.wake('outbox');
  wakeSenders(deps, row);
}

/** The steps of the workflow `campaign/<id>`. Every step reads the row first, so repeating one is harmless. */
export function createCampaignRun(deps: CampaignRunDependencies) {
  return {
    look: async (campaignId: number, asOf: Date) => stepOf(await look(deps, campaignId, asOf)),
    snapshot: (campaignId: number, begun: Date, stay: Stay) => snapshot(deps, campaignId, begun, stay),
    watch: (campaignId: number, begun: Date, stay: Stay) => {
      const each = (asOf: Date) => look(deps, campaignId, asOf);
      return repeat(deps, { campaignId, begun, kind: 'watch', each }, stay);
    },
    finish: (campaignId: number, asOf: Date, signal: AbortSignal) =>
      finishCampaign(deps, campaignId, asOf, signal),
    change: (campaignId: number, signal: OperatorSignal, asOf: Date) =>
      change(deps, campaignId, signal, asOf),
  };
}

function titleOf(row: CampaignRow): string {
  const { id, name, contact_list_id: listId, segment_id: segmentId } = row;
  const parts = [
    ...(listId === null ? [] : [`list ${listId}`]),
    ...(segmentId === null ? [] : [`segment ${segmentId}`]),
    ...(filtersOf(row) ? ['filters'] : []),
  ];
  return `Campaign ${id} '${name.slice(0, 80)}' → ${parts.join(' and ') || 'nobody'}`;
}

function goneState(campaignId: number): CampaignState {
  return {
    status: 'draft',
    phase: 'draft',
    title: `Campaign ${campaignId}`,
    cursor: 0,
    maxContactId: null,
    counts: NO_RECIPIENTS,
    waitingFor: null,
    until: null,
    outcome: null,
  };
}
