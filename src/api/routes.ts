import { createAuthRoutes } from '../auth/routes.ts';
import type { RouteDefinition } from '../http/route.ts';
import type { ApiDeps } from './deps.ts';

/**
 * Every route of the service. A new room adds one line here; OpenAPI, the tenant test and the metrics follow.
 */
export function createRoutes(deps: ApiDeps): RouteDefinition[] {
  return [...createAuthRoutes(deps)];
}
