import { createRoute, lazyRouteComponent } from '@tanstack/react-router';
import { leave } from '../../shell/leave.ts';
import { sessionRoute } from '../../shell/root-route.tsx';

/** Opens the user's first brand. */
export const homeRoute = createRoute({
  getParentRoute: () => sessionRoute,
  path: '/',
  component: lazyRouteComponent(() => import('./no-brand-page.tsx'), 'NoBrandPage'),
  beforeLoad({ context }) {
    const brand = context.signedIn.accounts.flatMap(({ brands }) => brands)[0];
    if (brand) leave(`/brands/${brand.id}`);
  },
});
