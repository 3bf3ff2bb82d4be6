import { QueryClient } from '@tanstack/react-query';
import { ApiError } from './errors.ts';

/** Pages that show work under way ask again after this time, and never while the tab is hidden. */
export const POLL_MS = 2_000;
const MAX_RETRIES = 2;

const isWorthAnotherTry = (error: unknown) =>
  !(error instanceof ApiError) || error.status === 0 || error.status >= 500;

export const createQueryClient = (): QueryClient =>
  new QueryClient({
    defaultOptions: {
      queries: {
        staleTime: 2_000,
        retry: (count, error) => count < MAX_RETRIES && isWorthAnotherTry(error),
        refetchIntervalInBackground: false,
      },
    },
  });
