import { createRoute, lazyRouteComponent } from '@tanstack/react-router';
import { brandRoute } from '../../shell/root-route.tsx';
import { listSearch } from '../../ui/list-search.ts';

export const overviewRoutes = [
  createRoute({
    getParentRoute: () => brandRoute,
    path: '/',
    validateSearch: listSearch,
    component: lazyRouteComponent(() => import('./overview-page.tsx'), 'OverviewPage'),
  }),
];
