import { createRoute, lazyRouteComponent } from '@tanstack/react-router';
import { brandRoute } from '../../shell/root-route.tsx';
import { listSearch } from '../../ui/list-search.ts';

export const segmentRoutes = [
  createRoute({
    getParentRoute: () => brandRoute,
    path: '/segments',
    validateSearch: listSearch,
    component: lazyRouteComponent(() => import('./segments-page.tsx'), 'SegmentsPage'),
  }),
  createRoute({
    getParentRoute: () => brandRoute,
    path: '/segments/new',
    component: lazyRouteComponent(() => import('./new-segment-page.tsx'), 'NewSegmentPage'),
  }),
  createRoute({
    getParentRoute: () => brandRoute,
    path: '/segments/$segmentId',
    validateSearch: listSearch,
    component: lazyRouteComponent(() => import('./segment-page.tsx'), 'SegmentPage'),
  }),
  createRoute({
    getParentRoute: () => brandRoute,
    path: '/segments/$segmentId/edit',
    component: lazyRouteComponent(() => import('./segment-edit-page.tsx'), 'SegmentEditPage'),
  }),
];
