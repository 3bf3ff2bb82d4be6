import {
  type ActivityOptions,
  proxyActivities,
  setCurrentDetails,
  rootCause,
  isCancellation,
} from '@temporalio/workflow';
import type { HousekeepingActivities, HousekeepingReport } from './contract.ts';

/** A task may take long, because it works on many rows in small batches; it sends a heartbeat after each. */
const taskOptions: ActivityOptions = {
  taskQueue: 'bulk',
  startToCloseTimeout: '30m',
  heartbeatTimeout: '1m',
  retry: { initialInterval: '10s', maximumInterval: '2m', maximumAttempts: 5 },
};

const listOptions: ActivityOptions = {
  startToCloseTimeout: '10s',
  retry: { initialInterval: '1s', maximumInterval: '10s' },
  scheduleToCloseTimeout: '10m',
};

const { listHousekeepingTasks } = proxyActivities<HousekeepingActivities>(listOptions);
const { runHousekeepingTask } = proxyActivities<HousekeepingActivities>(taskOptions);

function describe(report: HousekeepingReport, running?: string): string {
  const done = Object.entries(report).map(([name, result]) =>
    'rows' in result ? `- ${name}: ${result.rows} rows` : `- ${name}: **failed**: ${result.error}`,
  );
  return [...done, ...(running ? [`- ${running}: running`] : [])].join('\n');
}

/**
 * Runs retention and upkeep, each task in its own activity. If a task fails, the result names it, and the others still
 * run.
 */
export async function housekeeping(): Promise<HousekeepingReport> {
  const report: HousekeepingReport = {};
  for (const name of await listHousekeepingTasks()) {
    setCurrentDetails(describe(report, name));
    try {
      report[name] = { rows: await runHousekeepingTask(name, new Date().toISOString()) };
    } catch (error) {
      if (isCancellation(error)) throw error;
      report[name] = { error: rootCause(error) ?? 'unknown' };
    }
  }
  setCurrentDetails(describe(report));
  return report;
}
