import { ApplicationFailure, heartbeat } from '@temporalio/activity';
import type { HousekeepingDependencies, HousekeepingTask } from '../src/platform/housekeeping/task.ts';
import type { HousekeepingActivities } from '../workflows/housekeeping/contract.ts';

/** Runs one hourly task by its name. Each has its own activity, so that a failing task does not stop the others. */
export function createHousekeepingActivities(
  deps: HousekeepingDependencies & { tasks: readonly HousekeepingTask[] },
): HousekeepingActivities {
  return {
    listHousekeepingTasks: async () => deps.tasks.map((task) => task.name),

    async runHousekeepingTask(name, asOf) {
      const task = deps.tasks.find((candidate) => candidate.name === name);
      if (!task) throw ApplicationFailure.nonRetryable(`no housekeeping task ${name}`, 'unknown_task');
      return task.run(deps, new Date(asOf), () => heartbeat());
    },
  };
}
