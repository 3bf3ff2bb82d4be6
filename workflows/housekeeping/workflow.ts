import { proxyActivities, setCurrentDetails, rootCause, isCancellation } from '@temporalio/workflow';
import type { HousekeepingActivities } from '../../activities/housekeeping.ts';
import { listOptions, taskOptions } from './activity-options.ts';
import type { HousekeepingReport } from './contract.ts';

const { listHousekeepingTasks } = proxyActivities<HousekeepingActivities>(listOptions);
const { runHousekeepingTask } = proxyActivities<HousekeepingActivities>(taskOptions);

function describe(report: HousekeepingReport, running?: string): string {
  const done = Object.entries(report).map(([name, result]) =>
    'rows' in result ? `- ${name}: ${result.rows} rows` : `- ${name}: **failed**: ${result.error}`,
  );
  return [...done, ...(running ? [`- ${running}: running`] : [])].join('\n');
}

/** Retention and upkeep, each task alone: one that fails is named in the result and holds up no other. */
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
