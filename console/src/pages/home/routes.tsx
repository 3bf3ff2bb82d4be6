import { createRoute, lazyRouteComponent } from '@tanstack/react-router';
import { leave } from '../../shell/leave.ts';
import { sessionRoute } from '../../shell/root-route.tsx';

const component = lazyRouteComponent(() => import('./new-brand-page.tsx'), 'NewBrandPage');

export const homeRoutes = [
  /** Opens the user's first brand; without one, asks for it. */
  createRoute({
    getParentRoute: () => sessionRoute,
    path: '/',
    component,
    beforeLoad({ context }) {
      const brand = context.signedIn.accounts.flatMap(({ brands }) => brands)[0];
      if (brand) leave(`/brands/${brand.id}`);
    },
  }),
  createRoute({ getParentRoute: () => sessionRoute, path: '/new-brand', component }),
];
