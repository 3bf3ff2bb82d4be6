import { createRoute, lazyRouteComponent } from '@tanstack/react-router';
import { brandRoute } from '../../shell/root-route.tsx';
import { listSearch } from '../../ui/list-search.ts';

export const campaignRoutes = [
  createRoute({
    getParentRoute: () => brandRoute,
    path: 'campaigns',
    validateSearch: listSearch,
    component: lazyRouteComponent(() => import('./campaigns-page.tsx'), 'CampaignsPage'),
  }),
  createRoute({
    getParentRoute: () => brandRoute,
    path: 'campaigns/$campaignId',
    component: lazyRouteComponent(() => import('./campaign-page.tsx'), 'CampaignPage'),
  }),
  createRoute({
    getParentRoute: () => brandRoute,
    path: 'campaigns/$campaignId/recipients',
    validateSearch: listSearch,
    component: lazyRouteComponent(() => import('./campaign-recipients-page.tsx'), 'CampaignRecipientsPage'),
  }),
];
