/** The routes above all pages: what is open to everyone, what needs a session, and what is about one brand. */
import { createRootRouteWithContext, createRoute, lazyRouteComponent } from '@tanstack/react-router';
import type { QueryClient } from '@tanstack/react-query';
import { ApiError } from '../api/errors.ts';
import { accountOfBrand, signedInQuery } from '../api/session.ts';
import { Failure } from './failure.tsx';
import { leave } from './leave.ts';
import { NotFound } from './not-found.tsx';
import { RootFrame } from './root-frame.tsx';

export interface RouterContext {
  queryClient: QueryClient;
}

export const rootRoute = createRootRouteWithContext<RouterContext>()({
  component: RootFrame,
  notFoundComponent: NotFound,
  errorComponent: Failure,
});

/** Loads who is signed in; others go to the sign-in page, and come back. */
export const sessionRoute = createRoute({
  getParentRoute: () => rootRoute,
  id: 'session',
  async beforeLoad({ context, location }) {
    try {
      return { signedIn: await context.queryClient.fetchQuery(signedInQuery) };
    } catch (error) {
      if (!(error instanceof ApiError) || error.status !== 401) throw error;
      return leave('/sign-in', { return_to: location.href });
    }
  },
});

/** Pages about one brand. Its id is in the URL, so that two tabs are never mixed up. */
export const brandRoute = createRoute({
  getParentRoute: () => sessionRoute,
  path: 'brands/$brandId',
  component: lazyRouteComponent(() => import('./brand-frame.tsx'), 'BrandFrame'),
  beforeLoad({ context, params }) {
    const brandId = Number(params.brandId);
    const account = accountOfBrand(context.signedIn.accounts, brandId);
    if (!account) return leave('/');
    return { brandId, account, role: account.role };
  },
});
