import { ApplicationFailure, heartbeat } from '@temporalio/activity';
import { housekeepingTasks } from '../src/features/upkeep.ts';
import type { HousekeepingDependencies } from '../src/platform/housekeeping/task.ts';

export type HousekeepingActivities = ReturnType<typeof createHousekeepingActivities>;

/** The hourly tasks, run by name, one activity each, so that one that fails holds up no other. */
export function createHousekeepingActivities(deps: HousekeepingDependencies) {
  return {
    /** @returns names of all tasks, in the order to run them */
    async listHousekeepingTasks(): Promise<string[]> {
      return housekeepingTasks.map((task) => task.name);
    },

    /**
     * @param name of the task
     * @param asOf the workflow's time, ISO 8601
     * @returns rows changed or removed
     */
    async runHousekeepingTask(name: string, asOf: string): Promise<number> {
      const task = housekeepingTasks.find((candidate) => candidate.name === name);
      if (!task) throw ApplicationFailure.nonRetryable(`no housekeeping task ${name}`, 'unknown_task');
      return task.run(deps, new Date(asOf), () => heartbeat());
    },
  };
}
