import type { ActivityOptions } from '@temporalio/workflow';
import { ActivityCancellationType } from '@temporalio/workflow';

/**
 * The one long activity of a lane. A sender that was killed is noticed by its missing heartbeats, and the lane
 * moves on after a second; the activity ends by itself well before the start-to-close time-out.
 */
export const attachOptions: ActivityOptions = {
  taskQueue: 'delivery',
  startToCloseTimeout: '1h',
  scheduleToCloseTimeout: '1d',
  heartbeatTimeout: '10s',
  cancellationType: ActivityCancellationType.WAIT_CANCELLATION_COMPLETED,
  retry: { initialInterval: '1s', maximumInterval: '2s', backoffCoefficient: 1.5 },
};

/** Reading and writing the lane's row. */
export const modeOptions: ActivityOptions = {
  taskQueue: 'orchestration',
  startToCloseTimeout: '10s',
  retry: { initialInterval: '500ms', maximumInterval: '10s' },
};
