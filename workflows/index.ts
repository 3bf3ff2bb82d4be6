/** Every workflow, under the name by which it is started; a feature adds one line. */
export * from './campaigns/workflow.ts';
export * from './domains/workflow.ts';
export * from './exports/workflow.ts';
export * from './housekeeping/workflow.ts';
export * from './imports/workflow.ts';
export * from './lanes/workflow.ts';
export * from './webhooks/workflow.ts';
