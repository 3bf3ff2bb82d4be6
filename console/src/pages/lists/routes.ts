import { createRoute, lazyRouteComponent } from '@tanstack/react-router';
import { brandRoute } from '../../shell/root-route.tsx';
import { listSearch } from '../../ui/list-search.ts';

export const listRoutes = [
  createRoute({
    getParentRoute: () => brandRoute,
    path: '/lists',
    validateSearch: listSearch,
    component: lazyRouteComponent(() => import('./lists-page.tsx'), 'ListsPage'),
  }),
  createRoute({
    getParentRoute: () => brandRoute,
    path: '/lists/$listId',
    validateSearch: listSearch,
    component: lazyRouteComponent(() => import('./list-page.tsx'), 'ListPage'),
  }),
];
