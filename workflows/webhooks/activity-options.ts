import type { ActivityOptions } from '@temporalio/workflow';

/** Reading and writing the webhook's row; tried for as long as the database is away. */
export const planOptions: ActivityOptions = {
  startToCloseTimeout: '30s',
  retry: { initialInterval: '500ms', maximumInterval: '10s' },
};

/** Attempts of up to two minutes; a worker that was killed is noticed by its missing heartbeats. */
export const deliverOptions: ActivityOptions = {
  taskQueue: 'bulk',
  startToCloseTimeout: '10m',
  heartbeatTimeout: '10s',
  retry: { initialInterval: '500ms', maximumInterval: '10s' },
};
