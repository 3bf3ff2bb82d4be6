import { createRoute, lazyRouteComponent } from '@tanstack/react-router';
import { brandRoute } from '../../shell/root-route.tsx';
import { listSearch } from '../../ui/list-search.ts';

export const domainRoutes = [
  createRoute({
    getParentRoute: () => brandRoute,
    path: 'domains',
    validateSearch: listSearch,
    component: lazyRouteComponent(() => import('./domains-page.tsx'), 'DomainsPage'),
  }),
  createRoute({
    getParentRoute: () => brandRoute,
    path: 'domains/$domainId',
    component: lazyRouteComponent(() => import('./domain-page.tsx'), 'DomainPage'),
  }),
];
