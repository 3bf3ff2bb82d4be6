import { createRoute, lazyRouteComponent } from '@tanstack/react-router';
import { brandRoute } from '../../shell/root-route.tsx';
import { listSearch } from '../../ui/list-search.ts';

export const exportRoutes = [
  createRoute({
    getParentRoute: () => brandRoute,
    path: '/exports',
    validateSearch: listSearch,
    component: lazyRouteComponent(() => import('./exports-page.tsx'), 'ExportsPage'),
  }),
  createRoute({
    getParentRoute: () => brandRoute,
    path: '/exports/$exportId',
    component: lazyRouteComponent(() => import('./export-page.tsx'), 'ExportPage'),
  }),
];
