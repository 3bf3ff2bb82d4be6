/** The hourly upkeep. This file imports nothing. */

/** The Schedule's id, and the prefix of the ids of the workflows that it starts each hour. */
export const housekeepingScheduleId = 'housekeeping';
export const housekeepingWorkflowType = 'housekeeping';

/** The result of one run, by the task's name. */
export type HousekeepingReport = Record<string, { rows: number } | { error: string }>;

export interface HousekeepingActivities {
  /** @returns the names of all tasks, in the order to run them */
  listHousekeepingTasks(): Promise<string[]>;
  /**
   * @param name of the task
   * @param asOf the workflow's time, ISO 8601
   * @returns how many rows were changed or removed
   */
  runHousekeepingTask(name: string, asOf: string): Promise<number>;
}
