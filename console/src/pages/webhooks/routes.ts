import { createRoute, lazyRouteComponent } from '@tanstack/react-router';
import { brandRoute } from '../../shell/root-route.tsx';
import { listSearch } from '../../ui/list-search.ts';

export const webhookRoutes = [
  createRoute({
    getParentRoute: () => brandRoute,
    path: 'webhooks',
    validateSearch: listSearch,
    component: lazyRouteComponent(() => import('./webhooks-page.tsx'), 'WebhooksPage'),
  }),
  createRoute({
    getParentRoute: () => brandRoute,
    path: 'webhooks/$webhookId',
    validateSearch: listSearch,
    component: lazyRouteComponent(() => import('./webhook-page.tsx'), 'WebhookPage'),
  }),
  createRoute({
    getParentRoute: () => brandRoute,
    path: 'webhooks/$webhookId/deliveries/$deliveryId',
    component: lazyRouteComponent(() => import('./delivery-page.tsx'), 'DeliveryPage'),
  }),
];
