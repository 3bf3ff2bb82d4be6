import { queryOptions } from '@tanstack/react-query';
import { api, call } from './client.ts';
import type { operations } from './schema.d.ts';

export type DeliveryStatus = operations['getDeliveryStatus']['responses'][200]['content']['application/json'];

const REFRESH_MS = 10_000;

/** What may be sent now, and which limits apply. */
export const deliveryStatusQuery = queryOptions({
  queryKey: ['delivery', 'status'],
  queryFn: ({ signal }) => call(() => api.GET('/v1/my/delivery/status', { signal })),
  refetchInterval: REFRESH_MS,
});

/** Why no message leaves although no limit holds any; null if senders run. */
export const stoppedText: Record<DeliveryStatus['senders'], { text: string; advice: string } | null> = {
  running: null,
  paused: {
    text: 'An operator has paused the senders of this service. Messages are accepted and wait.',
    advice: 'Ask the operator to resume the senders. Nothing has to be sent again.',
  },
  stopped: {
    text: 'No sender of this service is running. Messages are accepted and wait.',
    advice: 'Ask the operator to start a sender. Nothing has to be sent again.',
  },
};
