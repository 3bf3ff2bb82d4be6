import { createRoute, lazyRouteComponent } from '@tanstack/react-router';
import { brandRoute } from '../../shell/root-route.tsx';

export const brandPageRoutes = [
  createRoute({
    getParentRoute: () => brandRoute,
    path: '/brand',
    component: lazyRouteComponent(() => import('./brand-page.tsx'), 'BrandPage'),
  }),
];
