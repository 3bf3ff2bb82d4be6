import { createRoute, lazyRouteComponent } from '@tanstack/react-router';
import { brandRoute } from '../../shell/root-route.tsx';
import { listSearch } from '../../ui/list-search.ts';

export const accountRoutes = [
  createRoute({
    getParentRoute: () => brandRoute,
    path: '/account',
    component: lazyRouteComponent(() => import('./account-page.tsx'), 'AccountPage'),
  }),
  createRoute({
    getParentRoute: () => brandRoute,
    path: '/wallet',
    validateSearch: listSearch,
    component: lazyRouteComponent(() => import('./wallet-page.tsx'), 'WalletPage'),
  }),
];
