import KoaRouter from '@koa/router';
import type { HttpMethod, RouteDefinition } from './route.ts';

/** What a path answers to; `params` are raw, still to be parsed by the route's schema. */
export type RouteMatch =
  | { kind: 'route'; route: RouteDefinition; params: Record<string, string> }
  | { kind: 'wrong_method'; allow: string }
  | { kind: 'unknown' };

interface Resource {
  byMethod: Map<string, RouteDefinition>;
  allow: string;
}

export interface Router {
  /** @param path without query, still percent-encoded */
  match(method: string, path: string): RouteMatch;
}

const NO_PARAMS: Record<string, string> = {};
const unknown: RouteMatch = { kind: 'unknown' };

function allowOf(byMethod: Map<string, RouteDefinition>): string {
  const methods = [...byMethod.keys()];
  if (byMethod.has('GET')) methods.push('HEAD');
  return [...methods, 'OPTIONS'].sort().join(', ');
}

function collect(routes: RouteDefinition[]): Map<string, Resource> {
  const resources = new Map<string, Resource>();
  for (const route of routes) {
    const resource = resources.get(route.path) ?? {
      byMethod: new Map<HttpMethod, RouteDefinition>(),
      allow: '',
    };
    if (resource.byMethod.has(route.method))
      throw new Error(`${route.method} ${route.path} is declared twice`);
    resource.byMethod.set(route.method, route);
    resource.allow = allowOf(resource.byMethod);
    resources.set(route.path, resource);
  }
  return resources;
}

/**
 * Paths with parameters are matched by @koa/router; paths without, the busy ones, by one Map access. Where both fit,
 * the one without wins.
 * @throws Error where two routes have the same method and path
 */
export function createRouter(routes: RouteDefinition[]): Router {
  const all = collect(routes);
  const patterns = new KoaRouter({ sensitive: true, strict: true });
  for (const path of all.keys()) {
    if (path.includes('/:')) patterns.register(path, ['GET'], () => undefined, { name: path });
  }

  function find(path: string): { resource: Resource; params: Record<string, string> } | null {
    const exact = path.includes('/:') ? undefined : all.get(path);
    if (exact) return { resource: exact, params: NO_PARAMS };
    const [layer] = patterns.match(path, 'GET').path;
    const resource = layer?.name === undefined ? undefined : all.get(layer.name);
    if (!layer || !resource) return null;
    return { resource, params: layer.params(path, layer.captures(path)) };
  }

  return {
    match(method, path) {
      const found = find(path);
      if (!found) return unknown;
      const route = found.resource.byMethod.get(method === 'HEAD' ? 'GET' : method);
      if (!route) return { kind: 'wrong_method', allow: found.resource.allow };
      return { kind: 'route', route, params: found.params };
    },
  };
}
