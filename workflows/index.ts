/** Exports every workflow under the name by which it is started. Each feature adds one line. */
export * from './brands/workflow.ts';
export * from './bulk-actions/workflow.ts';
export * from './campaigns/workflow.ts';
export * from './domains/workflow.ts';
export * from './exports/workflow.ts';
export * from './flows/audience.ts';
export * from './flows/cohort.ts';
export * from './flows/workflow.ts';
export * from './housekeeping/workflow.ts';
export * from './imports/workflow.ts';
export * from './inbox/workflow.ts';
export * from './lanes/workflow.ts';
export * from './topups/workflow.ts';
export * from './validation/workflow.ts';
export * from './webhooks/workflow.ts';
