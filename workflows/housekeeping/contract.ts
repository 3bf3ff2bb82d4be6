/** The hourly upkeep. This file imports nothing. */

/** The id of the Schedule, and the prefix of the ids of the workflows that it starts every hour. */
export const housekeepingScheduleId = 'housekeeping';
export const housekeepingWorkflowType = 'housekeeping';

/** The results of one run, by the name of the task. */
export type HousekeepingReport = Record<string, { rows: number } | { error: string }>;

export interface HousekeepingActivities {
  /** @returns the names of all tasks, in the order in which to run them */
  listHousekeepingTasks(): Promise<string[]>;
  /**
   * @param name of the task
   * @param asOf the workflow's time, ISO 8601
   * @returns how many rows were changed or deleted
   */
  runHousekeepingTask(name: string, asOf: string): Promise<number>;
}
