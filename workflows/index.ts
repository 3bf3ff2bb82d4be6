/** Every workflow of the engine, by the name it is started under; a room adds one line. */
export * from './housekeeping/workflow.ts';
export * from './lanes/workflow.ts';
export * from './webhooks/workflow.ts';
