/** The Schedule's id, and the beginning of the ids of the workflows that it starts each hour. */
export const housekeepingScheduleId = 'housekeeping';
export const housekeepingWorkflowType = 'housekeeping';

/** What one run did; shown as its result. */
export type HousekeepingReport = Record<string, { rows: number } | { error: string }>;
