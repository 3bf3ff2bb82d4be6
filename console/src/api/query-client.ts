import { QueryClient } from '@tanstack/react-query';
import { ApiError } from './errors.ts';

/** Pages that show work under way ask again after this time, and never while the tab is hidden. */
export const POLL_MS = 2_000;
const MAX_RETRIES = 2;
const FIRST_WAIT_MS = 1_000;
const LONGEST_WAIT_MS = 60_000;
const TOO_MANY_REQUESTS = 429;

const isWorthAnotherTry = (error: unknown) =>
  !(error instanceof ApiError) || error.status === 0 || error.status >= 500;

/** How long to wait after a refusal because of too many requests; null for any other refusal. */
function limitedForMs(error: unknown): number | null {
  const isLimited = error instanceof ApiError && error.status === TOO_MANY_REQUESTS;
  return isLimited ? (error.retryAfterMs ?? FIRST_WAIT_MS) : null;
}

/** For queries that are sent while the user types: after too many requests, one is sent again when the service allows it. */
export const retryWhenAllowed = {
  retry(count: number, error: Error): boolean {
    const waitMs = limitedForMs(error);
    return count < MAX_RETRIES && (waitMs === null ? isWorthAnotherTry(error) : waitMs <= LONGEST_WAIT_MS);
  },
  retryDelay: (count: number, error: Error): number => limitedForMs(error) ?? FIRST_WAIT_MS * 2 ** count,
};

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
