import {
  allHandlersFinished,
  condition,
  continueAsNew,
  defineQuery,
  defineSignal,
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

/** Retried for as long as the database is unavailable. */
const retry = { initialInterval: '500ms', maximumInterval: '10s' } as const;

/** Look-ups end after ten seconds each, and those of one domain run side by side. */
const { checkDomain, releaseDomainMail } = proxyActivities<DomainActivities>({
  startToCloseTimeout: '1 minute',
  retry,
});
/** A provider may be down for long, or refuse its credentials until an operator changes them. */
const { registerDomain } = proxyActivities<DomainActivities>({
  startToCloseTimeout: '1 minute',
  retry: { initialInterval: '1s', maximumInterval: '5 minutes' },
});

const wake = defineSignal(domainSignals.wake);
const recheck = defineSignal(domainSignals.recheck);
const stateQuery = defineQuery<DomainWatchState>(domainQueries.state);

/** A round adds about 13 events. */
const MAX_ROUNDS = 250;
const MAX_RUN_MS = 7 * 24 * 3_600_000;

interface Run {
  domainId: number;
  accountId: number;
  state: DomainWatchState;
  /** A signal has arrived since the last look at the row. */
  woken: boolean;
  /** An operator wants a check that is not due. */
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

function show(run: Run, changes: Partial<DomainWatchState>): void {
  run.state = { ...run.state, ...changes };
  setCurrentDetails(describeWatch(run.domainId, run.state));
}

function now(): string {
  return new Date().toISOString();
}

async function check(run: Run): Promise<DomainCheckStep> {
  const { forced } = run;
  run.woken = run.forced = false;
  show(run, { phase: 'checking' });
  const step = await checkDomain(run.domainId, now(), forced);
  const { status, problems, failingSince, unansweredSince, nextCheckAt } = step;
  show(run, { status, problems, failingSince, unansweredSince, nextCheckAt, checks: run.state.checks + 1 });
  return step;
}

async function release(run: Run): Promise<void> {
  show(run, { phase: 'releasing' });
  const { domainId, accountId } = run;
  while (!(await releaseDomainMail({ domainId, accountId })));
}

/** Checks once, and waits until the next check. @returns whether the domain is gone */
async function runRound(run: Run): Promise<boolean> {
  const step = await check(run);
  if (step.releaseDue) await release(run);
  if (step.gone) return true;
  show(run, { phase: 'sleeping' });
  const waitMs = Math.max(1, Date.parse(step.nextCheckAt) - Date.now());
  await condition(() => run.woken, waitMs, { summary: 'the next check of the DNS records' });
  return false;
}

/**
 * Watches the DNS records of one sending domain: often while it is pending, then for as long as it exists. Every check
 * reads the row again, so that a second run does no harm.
 */
export async function watchDomain(input: WatchDomainInput): Promise<void> {
  const run = startRun(input);
  const startedAt = Date.now();
  await registerDomain(run.domainId);
  for (let round = 1; ; round += 1) {
    if (await runRound(run)) break;
    const old = round >= MAX_ROUNDS || Date.now() - startedAt >= MAX_RUN_MS;
    if (old || workflowInfo().continueAsNewSuggested) {
      await condition(allHandlersFinished, '1 minute');
      // The next run begins with a look at the row, so no wake-up is lost.
      if (!run.forced) await continueAsNew<typeof watchDomain>(input);
    }
  }
  show(run, { phase: 'done' });
}
