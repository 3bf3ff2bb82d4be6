import { createRoute, lazyRouteComponent } from '@tanstack/react-router';
import { brandRoute } from '../../shell/root-route.tsx';
import { listSearch } from '../../ui/list-search.ts';

export const contactRoutes = [
  createRoute({
    getParentRoute: () => brandRoute,
    path: '/contacts',
    validateSearch: listSearch,
    component: lazyRouteComponent(() => import('./contacts-page.tsx'), 'ContactsPage'),
  }),
  createRoute({
    getParentRoute: () => brandRoute,
    path: '/contacts/$contactId',
    validateSearch: listSearch,
    component: lazyRouteComponent(() => import('./contact-page.tsx'), 'ContactPage'),
  }),
  createRoute({
    getParentRoute: () => brandRoute,
    path: '/bulk-actions',
    validateSearch: listSearch,
    component: lazyRouteComponent(() => import('./bulk-actions-page.tsx'), 'BulkActionsPage'),
  }),
  createRoute({
    getParentRoute: () => brandRoute,
    path: '/bulk-actions/$bulkActionId',
    component: lazyRouteComponent(() => import('./bulk-action-page.tsx'), 'BulkActionPage'),
  }),
];
