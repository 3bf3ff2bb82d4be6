import { createRoute, lazyRouteComponent } from '@tanstack/react-router';
import { brandRoute } from '../../shell/root-route.tsx';
import { listSearch } from '../../ui/list-search.ts';

export const mcpRoutes = [
  createRoute({
    getParentRoute: () => brandRoute,
    path: '/mcp',
    validateSearch: listSearch,
    component: lazyRouteComponent(() => import('./mcp-page.tsx'), 'McpPage'),
  }),
  createRoute({
    getParentRoute: () => brandRoute,
    path: '/mcp/calls',
    validateSearch: listSearch,
    component: lazyRouteComponent(() => import('./calls-page.tsx'), 'McpCallsPage'),
  }),
];
