import type { z } from 'zod';
import { isFull, issueMessage, MAX_REPORTED, type ValidationErrors } from '../../errors.ts';
import { createNameFinder } from './nearest-name.ts';

export type Parsed<T> = { ok: true; value: T } | { ok: false; errors: ValidationErrors };

/** The word for a value in messages about unknown names. */
export type Part = 'field' | 'query parameter';

const parseOptions = { error: issueMessage };

/**
 * Maximum number of an object's unknown names for which a known one is suggested; this takes a hundred times as long as
 * the rest.
 */
const MAX_HINTS = 10;

/** A part that begins with a bracket is the rest of a path that the schema writes itself: `steps[2].yes[0].duration`. */
function fieldPath(path: PropertyKey[]): string {
  if (path.length === 0) return 'body';
  return path
    .map((part, place) => `${place === 0 || String(part).startsWith('[') ? '' : '.'}${String(part)}`)
    .join('');
}

/** The names that a schema knows at `path`. Looks inside optional, union, array and similar schemas. */
export function knownNames(schema: z.core.$ZodType, path: PropertyKey[]): string[] {
  const { def } = (schema as z.core.$ZodTypes)._zod;
  switch (def.type) {
    case 'object': {
      const [head, ...rest] = path;
      if (head === undefined) return Object.keys(def.shape);
      const inner = Object.hasOwn(def.shape, head) ? def.shape[String(head)] : undefined;
      return inner ? knownNames(inner, rest) : [];
    }
    case 'array':
      return knownNames(def.element, path.slice(1));
    case 'record':
      return knownNames(def.valueType, path.slice(1));
    case 'union':
      return def.options.flatMap((option) => knownNames(option, path));
    case 'optional':
    case 'nullable':
    case 'default':
    case 'prefault':
    case 'nonoptional':
    case 'readonly':
    case 'catch':
      return knownNames(def.innerType, path);
    case 'pipe':
      return knownNames(def.in, path);
    case 'lazy':
      return knownNames(def.getter(), path);
    default:
      return [];
  }
}

function add(errors: ValidationErrors, path: string, message: string): void {
  // A field may have the name of an inherited property, such as `constructor`.
  const messages = (Object.hasOwn(errors, path) ? errors[path] : undefined) ?? [];
  if (!messages.includes(message)) errors[path] = [...messages, message];
}

/** The branch of a union whose problems are reported: the one that matched deepest, with the fewest problems. */
function nearestBranch(branches: z.core.$ZodIssue[][]): z.core.$ZodIssue[] {
  const depth = (issues: z.core.$ZodIssue[]) => Math.max(0, ...issues.map((issue) => issue.path.length));
  const ranked = branches
    .filter((issues) => issues.length > 0)
    .sort((one, other) => depth(other) - depth(one) || one.length - other.length);
  const best = ranked[0] ?? [];
  return depth(best) > 0 ? best : [];
}

function collect(
  schema: z.core.$ZodType,
  issues: z.core.$ZodIssue[],
  prefix: PropertyKey[],
  part: Part,
  errors: ValidationErrors,
): void {
  for (const issue of issues) {
    if (isFull(errors)) return;
    const path = [...prefix, ...issue.path];
    if (issue.code === 'unrecognized_keys') {
      const nearestName = createNameFinder(knownNames(schema, path));
      for (const [place, key] of issue.keys.slice(0, MAX_REPORTED).entries()) {
        const near = place < MAX_HINTS ? nearestName(key) : null;
        const hint = near ? `; did you mean ${near}?` : '';
        add(errors, fieldPath([...path, key]), `is not a known ${part}${hint}`);
      }
      continue;
    }
    const branch = issue.code === 'invalid_union' ? nearestBranch(issue.errors) : [];
    if (branch.length > 0) collect(schema, branch, path, part, errors);
    else add(errors, fieldPath(path), issue.message);
  }
}

/** Parses by a schema. Reports the problems of up to 100 fields by their dotted paths (`user.email`, `links.0.url`). */
export function parseWith(schema: z.ZodType, value: unknown, part: Part): Parsed<unknown> {
  const parsed = schema.safeParse(value, parseOptions);
  if (parsed.success) return { ok: true, value: parsed.data };
  const errors: ValidationErrors = {};
  collect(schema, parsed.error.issues, [], part, errors);
  return { ok: false, errors };
}
