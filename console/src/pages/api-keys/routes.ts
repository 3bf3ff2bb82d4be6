import { createRoute, lazyRouteComponent } from '@tanstack/react-router';
import { brandRoute } from '../../shell/root-route.tsx';
import { listSearch } from '../../ui/list-search.ts';

export const apiKeyRoutes = [
  createRoute({
    getParentRoute: () => brandRoute,
    path: '/api-keys',
    validateSearch: listSearch,
    component: lazyRouteComponent(() => import('./api-keys-page.tsx'), 'ApiKeysPage'),
  }),
];
