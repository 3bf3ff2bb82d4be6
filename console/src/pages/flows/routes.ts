import { createRoute, lazyRouteComponent } from '@tanstack/react-router';
import { brandRoute } from '../../shell/root-route.tsx';
import { listSearch } from '../../ui/list-search.ts';

export const flowRoutes = [
  createRoute({
    getParentRoute: () => brandRoute,
    path: 'flows',
    validateSearch: listSearch,
    component: lazyRouteComponent(() => import('./flows-page.tsx'), 'FlowsPage'),
  }),
  createRoute({
    getParentRoute: () => brandRoute,
    path: 'flows/$flowId',
    validateSearch: listSearch,
    component: lazyRouteComponent(() => import('./flow-page.tsx'), 'FlowPage'),
  }),
  createRoute({
    getParentRoute: () => brandRoute,
    path: 'flows/$flowId/edit',
    validateSearch: listSearch,
    component: lazyRouteComponent(() => import('./editor/flow-edit-page.tsx'), 'FlowEditPage'),
  }),
  createRoute({
    getParentRoute: () => brandRoute,
    path: 'flows/$flowId/report',
    validateSearch: listSearch,
    component: lazyRouteComponent(() => import('./flow-report-page.tsx'), 'FlowReportPage'),
  }),
  createRoute({
    getParentRoute: () => brandRoute,
    path: 'flows/$flowId/runs',
    validateSearch: listSearch,
    component: lazyRouteComponent(() => import('./flow-runs-page.tsx'), 'FlowRunsPage'),
  }),
  createRoute({
    getParentRoute: () => brandRoute,
    path: 'flows/$flowId/versions',
    validateSearch: listSearch,
    component: lazyRouteComponent(() => import('./flow-versions-page.tsx'), 'FlowVersionsPage'),
  }),
  createRoute({
    getParentRoute: () => brandRoute,
    path: 'flow-runs/$flowRunId',
    validateSearch: listSearch,
    component: lazyRouteComponent(() => import('./flow-run-page.tsx'), 'FlowRunPage'),
  }),
];
