import type { ActivityOptions } from '@temporalio/workflow';

/** Small batches over possibly many rows: long, but heartbeating. */
export const taskOptions: ActivityOptions = {
  taskQueue: 'bulk',
  startToCloseTimeout: '30m',
  heartbeatTimeout: '1m',
  retry: { initialInterval: '10s', maximumInterval: '2m', maximumAttempts: 5 },
};

export const listOptions: ActivityOptions = {
  startToCloseTimeout: '10s',
  retry: { initialInterval: '1s', maximumInterval: '10s' },
  scheduleToCloseTimeout: '10m',
};
