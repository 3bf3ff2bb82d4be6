import { createRoute, lazyRouteComponent } from '@tanstack/react-router';
import { brandRoute } from '../../shell/root-route.tsx';
import { listSearch } from '../../ui/list-search.ts';

export const fileRoutes = [
  createRoute({
    getParentRoute: () => brandRoute,
    path: '/files',
    validateSearch: listSearch,
    component: lazyRouteComponent(() => import('./files-page.tsx'), 'FilesPage'),
  }),
];
