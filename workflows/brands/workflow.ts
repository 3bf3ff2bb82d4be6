import {
  allHandlersFinished,
  CancellationScope,
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
  type ScrapeActivities,
  type ScrapeBrandInput,
  scrapeQueries,
  scrapeSignals,
  type ScrapeState,
} from './contract.ts';

/** Retries while the database is unavailable. */
const { nextBrandScrape, failBrandScrape } = proxyActivities<ScrapeActivities>({
  startToCloseTimeout: '1 minute',
  retry: { initialInterval: '500ms', maximumInterval: '10s' },
});
/** A website takes at most a minute. If the process dies, another one starts over. */
const { runBrandScrape } = proxyActivities<ScrapeActivities>({
  taskQueue: 'bulk',
  startToCloseTimeout: '5 minutes',
  scheduleToCloseTimeout: '30 minutes',
  heartbeatTimeout: '15s',
  retry: { initialInterval: '1s', maximumInterval: '30s', maximumAttempts: 8 },
});

const scrape = defineSignal<[scrapeId: number]>(scrapeSignals.scrape);
const stateQuery = defineQuery<ScrapeState>(scrapeQueries.state);

/** A scrape adds about 20 events. */
const MAX_ROUNDS = 100;
/** Longer than any scrape takes. */
const MAX_WAIT = '1 hour';

interface Run {
  state: ScrapeState;
  /** The newest scrape named by a signal. */
  newest: number;
}

const phases: Record<ScrapeState['phase'], string> = {
  looking: 'looks for the scrape to do',
  scraping: 'reads the website',
  failing: 'could not be carried out',
  done: 'has ended',
};

function showScrape(run: Run, changes: Partial<ScrapeState>): void {
  run.state = { ...run.state, ...changes };
  const { phase, scrapeId, replaced } = run.state;
  setCurrentDetails(
    `Scrape ${scrapeId ?? ''} ${phases[phase]}.\n\n- replaced by newer scrapes in this run: ${replaced}`,
  );
}

/** Executes one scrape, until it ends or a newer one replaces it. */
async function runOne(run: Run, scrapeId: number): Promise<void> {
  showScrape(run, { phase: 'scraping', scrapeId });
  const scope = new CancellationScope();
  let ended = false;
  let fault: unknown = null;
  const work = scope
    .run(() => runBrandScrape(scrapeId))
    .catch((error: unknown) => void (fault = error))
    .finally(() => void (ended = true));
  await condition(() => ended || run.newest > scrapeId, MAX_WAIT, { summary: 'the website' });
  const replaced = !ended;
  if (replaced) scope.cancel();
  await work;
  if (replaced) showScrape(run, { replaced: run.state.replaced + 1 });
  else if (fault !== null) {
    if (isCancellation(fault)) throw fault as Error;
    log.warn('the scrape could not be carried out', { scrapeId });
    showScrape(run, { phase: 'failing' });
    await failBrandScrape(scrapeId);
  }
}

/**
 * Executes the scrapes of one brand, of which only the newest counts. Each step reads the rows again, so a second run
 * is harmless.
 * @returns the final state, for the engine's UI
 */
export async function scrapeBrand(input: ScrapeBrandInput): Promise<ScrapeState> {
  const run: Run = { state: { phase: 'looking', scrapeId: null, replaced: 0 }, newest: 0 };
  setHandler(scrape, (scrapeId) => void (run.newest = Math.max(run.newest, scrapeId)));
  setHandler(stateQuery, () => run.state);
  for (let round = 1; ; round += 1) {
    showScrape(run, { phase: 'looking' });
    const { newest } = run;
    const scrapeId = await nextBrandScrape(input.brandId);
    if (scrapeId !== null) await runOne(run, scrapeId);
    else if (run.newest === newest) break;
    if (round >= MAX_ROUNDS || workflowInfo().continueAsNewSuggested) {
      await condition(allHandlersFinished, '1 minute');
      await continueAsNew<typeof scrapeBrand>(input);
    }
  }
  showScrape(run, { phase: 'done' });
  return run.state;
}
