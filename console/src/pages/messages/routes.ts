import { createRoute, lazyRouteComponent } from '@tanstack/react-router';
import { brandRoute } from '../../shell/root-route.tsx';
import { listSearch } from '../../ui/list-search.ts';

export const messageRoutes = [
  createRoute({
    getParentRoute: () => brandRoute,
    path: '/messages',
    validateSearch: listSearch,
    component: lazyRouteComponent(() => import('./messages-page.tsx'), 'MessagesPage'),
  }),
  createRoute({
    getParentRoute: () => brandRoute,
    path: '/messages/$messageId',
    component: lazyRouteComponent(() => import('./message-page.tsx'), 'MessagePage'),
  }),
];
