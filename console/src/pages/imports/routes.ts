import { createRoute, lazyRouteComponent } from '@tanstack/react-router';
import { brandRoute } from '../../shell/root-route.tsx';
import { listSearch } from '../../ui/list-search.ts';

export const importRoutes = [
  createRoute({
    getParentRoute: () => brandRoute,
    path: '/imports',
    validateSearch: listSearch,
    component: lazyRouteComponent(() => import('./imports-page.tsx'), 'ImportsPage'),
  }),
  createRoute({
    getParentRoute: () => brandRoute,
    path: '/imports/new',
    component: lazyRouteComponent(() => import('./new-import-page.tsx'), 'NewImportPage'),
  }),
  createRoute({
    getParentRoute: () => brandRoute,
    path: '/imports/$importId',
    component: lazyRouteComponent(() => import('./import-page.tsx'), 'ImportPage'),
  }),
];
