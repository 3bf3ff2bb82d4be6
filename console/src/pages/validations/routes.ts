import { createRoute, lazyRouteComponent } from '@tanstack/react-router';
import { brandRoute } from '../../shell/root-route.tsx';
import { listSearch } from '../../ui/list-search.ts';

export const validationRoutes = [
  createRoute({
    getParentRoute: () => brandRoute,
    path: '/validations',
    validateSearch: listSearch,
    component: lazyRouteComponent(() => import('./validations-page.tsx'), 'ValidationsPage'),
  }),
  createRoute({
    getParentRoute: () => brandRoute,
    path: '/validations/$validationId',
    validateSearch: listSearch,
    component: lazyRouteComponent(() => import('./validation-page.tsx'), 'ValidationPage'),
  }),
];
