import { useRouter } from '@tanstack/react-router';
import { signedInQuery } from '../api/session.ts';
import type { RouterContext } from './root-route.tsx';

/** Returns a function that loads again who is signed in, with accounts and brands, and shows it everywhere. */
export function useReloadSignedIn(): () => Promise<void> {
  const router = useRouter();
  return async () => {
    // Brands have query clients of their own; the routes read from this one.
    const { queryClient } = router.options.context as RouterContext;
    await queryClient.fetchQuery({ ...signedInQuery, staleTime: 0 });
    await router.invalidate();
  };
}
