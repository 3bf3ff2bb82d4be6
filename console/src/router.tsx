/** Every page, one line per folder of `pages/`. */
import type { QueryClient } from '@tanstack/react-query';
import { createRouter } from '@tanstack/react-router';
import { domainRoutes } from './pages/domains/routes.ts';
import { homeRoute } from './pages/home/routes.tsx';
import { overviewRoutes } from './pages/overview/routes.ts';
import { signInRoutes } from './pages/sign-in/routes.ts';
import { webhookRoutes } from './pages/webhooks/routes.ts';
import { brandRoute, rootRoute, sessionRoute } from './shell/root-route.tsx';

const routeTree = rootRoute.addChildren([
  ...signInRoutes,
  sessionRoute.addChildren([
    homeRoute,
    brandRoute.addChildren([...overviewRoutes, ...domainRoutes, ...webhookRoutes]),
  ]),
]);

export const createConsoleRouter = (queryClient: QueryClient) =>
  createRouter({
    routeTree,
    basepath: '/console',
    context: { queryClient },
    defaultPreload: 'intent',
    scrollRestoration: true,
  });
