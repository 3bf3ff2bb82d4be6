import { createRoute, lazyRouteComponent } from '@tanstack/react-router';
import { brandRoute } from '../../shell/root-route.tsx';
import { listSearch } from '../../ui/list-search.ts';

export const inboxRoutes = [
  createRoute({
    getParentRoute: () => brandRoute,
    path: 'inbox',
    validateSearch: listSearch,
    component: lazyRouteComponent(() => import('./conversations-page.tsx'), 'ConversationsPage'),
  }),
  createRoute({
    getParentRoute: () => brandRoute,
    path: 'inbox/inboxes',
    validateSearch: listSearch,
    component: lazyRouteComponent(() => import('./inboxes-page.tsx'), 'InboxesPage'),
  }),
  createRoute({
    getParentRoute: () => brandRoute,
    path: 'inbox/quarantine',
    validateSearch: listSearch,
    component: lazyRouteComponent(() => import('./quarantine-page.tsx'), 'QuarantinePage'),
  }),
  createRoute({
    getParentRoute: () => brandRoute,
    path: 'inbox/blocks',
    validateSearch: listSearch,
    component: lazyRouteComponent(() => import('./blocks-page.tsx'), 'BlocksPage'),
  }),
  createRoute({
    getParentRoute: () => brandRoute,
    path: 'inbox/$conversationId',
    validateSearch: listSearch,
    component: lazyRouteComponent(() => import('./conversation-page.tsx'), 'ConversationPage'),
  }),
];
