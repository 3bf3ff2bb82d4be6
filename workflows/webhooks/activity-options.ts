import type { ActivityOptions } from '@temporalio/workflow';

/** A worker that was killed is noticed by its missing heartbeats, in time for another to go on within seconds. */
const heartbeatTimeout = '5s';

/** Reading and writing the webhook's row; tried for as long as the database is away. */
export const planOptions: ActivityOptions = {
  startToCloseTimeout: '30s',
  heartbeatTimeout,
  retry: { initialInterval: '500ms', maximumInterval: '10s' },
};

/** Attempts of up to two minutes. */
export const deliverOptions: ActivityOptions = {
  taskQueue: 'bulk',
  startToCloseTimeout: '10m',
  heartbeatTimeout,
  retry: { initialInterval: '500ms', maximumInterval: '10s' },
};
