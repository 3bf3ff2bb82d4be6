import {
  allHandlersFinished,
  condition,
  continueAsNew,
  defineQuery,
  defineSignal,
  isCancellation,
  log,
  proxyActivities,
  setCurrentDetails,
  setHandler,
  workflowInfo,
} from '@temporalio/workflow';
import {
  domainQueries,
  domainSignals,
  type DomainActivities,
  type DomainCheckStep,
  type DomainWatchState,
  type WatchDomainInput,
} from './contract.ts';
import { describeWatch } from './details.ts';

/** Retries while the database is unavailable. */
const retry = { initialInterval: '500ms', maximumInterval: '10s' } as const;

/** Each look-up ends after ten seconds, and those of one domain run concurrently. */
const { checkDomain, releaseDomainMail } = proxyActivities<DomainActivities>({
  startToCloseTimeout: '1 minute',
  retry,
});
/** A provider may be down for long. After these attempts, the next round asks it again. */
const { registerDomain } = proxyActivities<DomainActivities>({
  startToCloseTimeout: '2 minutes',
  retry: { initialInterval: '2s', maximumAttempts: 5 },
});
/** A registration that stays with a provider costs little, so give up if it cannot be removed within three days. */
const { unregisterDomain } = proxyActivities<DomainActivities>({
  startToCloseTimeout: '2 minutes',
  scheduleToCloseTimeout: '3 days',
  retry: { initialInterval: '2s', maximumInterval: '1 hour' },
});

const wake = defineSignal(domainSignals.wake);
const recheck = defineSignal(domainSignals.recheck);
const stateQuery = defineQuery<DomainWatchState>(domainQueries.state);

/** A round adds about 16 events. */
const MAX_ROUNDS = 250;
const MAX_RUN_MS = 7 * 24 * 3_600_000;

interface Run {
  domainId: number;
  accountId: number;
  state: DomainWatchState;
  /** Whether a signal has arrived since the row was last read. */
  woken: boolean;
  /** Whether an operator wants a check that is not due. */
  forced: boolean;
}

function startRun({ domainId, accountId }: WatchDomainInput): Run {
  const run: Run = {
    domainId,
    accountId,
    woken: false,
    forced: false,
    state: {
      phase: 'checking',
      status: 'pending',
      registration: 'waiting',
      providerError: null,
      problems: [],
      failingSince: null,
      unansweredSince: null,
      nextCheckAt: null,
      checks: 0,
    },
  };
  setHandler(wake, () => void (run.woken = true));
  setHandler(recheck, () => void (run.woken = run.forced = true));
  setHandler(stateQuery, () => run.state);
  return run;
}

function showDomain(run: Run, changes: Partial<DomainWatchState>): void {
  run.state = { ...run.state, ...changes };
  setCurrentDetails(describeWatch(run.domainId, run.state));
}

function now(): string {
  return new Date().toISOString();
}

/** If the provider is unavailable, the domain waits for the next round. */
async function register(run: Run, forced: boolean): Promise<void> {
  if (run.state.registration === 'done') return;
  showDomain(run, { phase: 'registering' });
  try {
    await registerDomain(run.domainId, now(), forced);
  } catch (error) {
    if (isCancellation(error)) throw error;
    log.warn('the domain is not registered yet', { domainId: run.domainId });
  }
}

async function runCheck(run: Run, forced: boolean): Promise<DomainCheckStep> {
  showDomain(run, { phase: 'checking' });
  const step = await checkDomain(run.domainId, now(), forced);
  const { gone: _gone, releaseDue: _releaseDue, ...shown } = step;
  showDomain(run, { ...shown, checks: run.state.checks + 1 });
  return step;
}

async function unregister(run: Run): Promise<void> {
  showDomain(run, { phase: 'unregistering' });
  try {
    await unregisterDomain(run.domainId);
  } catch (error) {
    if (isCancellation(error)) throw error;
    log.warn('the domain stays registered with its provider', { domainId: run.domainId });
  }
}

async function release(run: Run): Promise<void> {
  showDomain(run, { phase: 'releasing' });
  const { domainId, accountId } = run;
  while (!(await releaseDomainMail({ domainId, accountId })));
}

/**
 * Registers the domain unless that is done, checks it once, and waits until the next check.
 * @returns whether the domain is gone
 */
async function runRound(run: Run): Promise<boolean> {
  const { forced } = run;
  run.woken = run.forced = false;
  await register(run, forced);
  const step = await runCheck(run, forced);
  if (step.releaseDue) await release(run);
  if (step.gone) return true;
  showDomain(run, { phase: 'sleeping' });
  const waitMs = Math.max(1, Date.parse(step.nextCheckAt) - Date.now());
  await condition(() => run.woken, waitMs, { summary: 'the next check of the DNS records' });
  return false;
}

/**
 * Watches the DNS records of one sending domain: often while it is pending, then less often as long as it exists. Every
 * check reads the row again, so a second run is harmless.
 * @returns the result of the last check, for the engine's UI
 */
export async function watchDomain(input: WatchDomainInput): Promise<DomainWatchState> {
  const run = startRun(input);
  const startedAt = Date.now();
  for (let round = 1; ; round += 1) {
    if (await runRound(run)) break;
    const old = round >= MAX_ROUNDS || Date.now() - startedAt >= MAX_RUN_MS;
    if (old || workflowInfo().continueAsNewSuggested) {
      await condition(allHandlersFinished, '1 minute');
      // The next run begins by reading the row, so no wake-up is lost.
      if (!run.forced) await continueAsNew<typeof watchDomain>(input);
    }
  }
  await unregister(run);
  showDomain(run, { phase: 'done' });
  return run.state;
}
