import { createRoute, lazyRouteComponent } from '@tanstack/react-router';
import { rootRoute } from '../../shell/root-route.tsx';

export const invitationRoutes = [
  createRoute({
    getParentRoute: () => rootRoute,
    path: '/invitations/$token',
    component: lazyRouteComponent(() => import('./invitation-page.tsx'), 'InvitationPage'),
  }),
];
