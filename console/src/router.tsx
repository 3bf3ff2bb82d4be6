/** Every page, one line per folder of `pages/`. */
import type { QueryClient } from '@tanstack/react-query';
import { createRouter } from '@tanstack/react-router';
import { accountRoutes } from './pages/account/routes.ts';
import { apiKeyRoutes } from './pages/api-keys/routes.ts';
import { brandPageRoutes } from './pages/brand/routes.ts';
import { campaignRoutes } from './pages/campaigns/routes.ts';
import { contactRoutes } from './pages/contacts/routes.ts';
import { domainRoutes } from './pages/domains/routes.ts';
import { exportRoutes } from './pages/exports/routes.ts';
import { fileRoutes } from './pages/files/routes.ts';
import { flowRoutes } from './pages/flows/routes.ts';
import { homeRoutes } from './pages/home/routes.tsx';
import { importRoutes } from './pages/imports/routes.ts';
import { inboxRoutes } from './pages/inbox/routes.ts';
import { invitationRoutes } from './pages/invitations/routes.ts';
import { listRoutes } from './pages/lists/routes.ts';
import { mcpRoutes } from './pages/mcp/routes.ts';
import { messageRoutes } from './pages/messages/routes.ts';
import { overviewRoutes } from './pages/overview/routes.ts';
import { profileRoutes } from './pages/profile/routes.ts';
import { segmentRoutes } from './pages/segments/routes.ts';
import { signInRoutes } from './pages/sign-in/routes.ts';
import { suppressionRoutes } from './pages/suppressions/routes.ts';
import { teamRoutes } from './pages/team/routes.ts';
import { templateRoutes } from './pages/templates/routes.ts';
import { validationRoutes } from './pages/validations/routes.ts';
import { webhookRoutes } from './pages/webhooks/routes.ts';
import { brandRoute, rootRoute, sessionRoute } from './shell/root-route.tsx';

const brandPages = [
  // One line each, so that changes to it meet less often.
  ...overviewRoutes,
  ...messageRoutes,
  ...flowRoutes,
  ...campaignRoutes,
  ...templateRoutes,
  ...fileRoutes,
  ...contactRoutes,
  ...listRoutes,
  ...segmentRoutes,
  ...importRoutes,
  ...exportRoutes,
  ...suppressionRoutes,
  ...validationRoutes,
  ...domainRoutes,
  ...webhookRoutes,
  ...inboxRoutes,
  ...profileRoutes,
  ...mcpRoutes,
  ...apiKeyRoutes,
  ...teamRoutes,
  ...accountRoutes,
  ...brandPageRoutes,
];

const routeTree = rootRoute.addChildren([
  ...signInRoutes,
  ...invitationRoutes,
  sessionRoute.addChildren([...homeRoutes, brandRoute.addChildren(brandPages)]),
]);

export const createConsoleRouter = (queryClient: QueryClient) =>
  createRouter({
    routeTree,
    basepath: '/console',
    context: { queryClient },
    defaultPreload: 'intent',
    // What was typed or opened on the page of one resource must not appear on that of the next one.
    defaultRemountDeps: ({ params }) => params,
    scrollRestoration: true,
  });
