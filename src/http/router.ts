import type { HttpMethod, RouteDefinition } from './route.ts';

/** What a path answers to; `params` are raw, still to be parsed by the route's schema. */
export type RouteMatch =
  | { kind: 'route'; route: RouteDefinition; params: Record<string, string> }
  | { kind: 'wrong_method'; allow: string }
  | { kind: 'unknown' };

interface Resource {
  segments: string[];
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
      segments: route.path.split('/'),
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

/** @returns null where a segment differs, an empty parameter included; a broken percent-encoding stays as it is */
function paramsOf(pattern: string[], segments: string[]): Record<string, string> | null {
  const params: Record<string, string> = {};
  for (const [index, expected] of pattern.entries()) {
    const given = segments[index] ?? '';
    if (!expected.startsWith(':')) {
      if (expected !== given) return null;
    } else {
      if (given === '') return null;
      params[expected.slice(1)] = decoded(given);
    }
  }
  return params;
}

function decoded(segment: string): string {
  if (!segment.includes('%')) return segment;
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}

/**
 * Look-ups by exact path first, then by number of segments: static paths, the busy ones, cost one Map access.
 * Where a static and a parametric path both fit, the static one wins.
 * @throws Error where two routes have the same method and path
 */
export function createRouter(routes: RouteDefinition[]): Router {
  const all = collect(routes);
  const fixed = new Map([...all].filter(([path]) => !path.includes('/:')));
  const patterns = new Map<number, Resource[]>();
  for (const [path, resource] of all) {
    if (fixed.has(path)) continue;
    const { length } = resource.segments;
    patterns.set(length, [...(patterns.get(length) ?? []), resource]);
  }

  function find(path: string): { resource: Resource; params: Record<string, string> } | null {
    const exact = fixed.get(path);
    if (exact) return { resource: exact, params: NO_PARAMS };
    const segments = path.split('/');
    for (const resource of patterns.get(segments.length) ?? []) {
      const params = paramsOf(resource.segments, segments);
      if (params) return { resource, params };
    }
    return null;
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
