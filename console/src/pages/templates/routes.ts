import { createRoute, lazyRouteComponent } from '@tanstack/react-router';
import { brandRoute } from '../../shell/root-route.tsx';
import { listSearch } from '../../ui/list-search.ts';

export const templateRoutes = [
  createRoute({
    getParentRoute: () => brandRoute,
    path: 'templates',
    validateSearch: listSearch,
    component: lazyRouteComponent(() => import('./templates-page.tsx'), 'TemplatesPage'),
  }),
  createRoute({
    getParentRoute: () => brandRoute,
    path: 'templates/$templateId',
    validateSearch: listSearch,
    component: lazyRouteComponent(() => import('./template-page.tsx'), 'TemplatePage'),
  }),
  createRoute({
    getParentRoute: () => brandRoute,
    path: 'templates/$templateId/edit',
    component: lazyRouteComponent(() => import('./template-edit-page.tsx'), 'TemplateEditPage'),
  }),
];
