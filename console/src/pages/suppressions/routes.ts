import { createRoute, lazyRouteComponent } from '@tanstack/react-router';
import { brandRoute } from '../../shell/root-route.tsx';
import { listSearch } from '../../ui/list-search.ts';

export const suppressionRoutes = [
  createRoute({
    getParentRoute: () => brandRoute,
    path: '/suppressions',
    validateSearch: listSearch,
    component: lazyRouteComponent(() => import('./suppressions-page.tsx'), 'SuppressionsPage'),
  }),
];
