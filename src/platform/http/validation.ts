import type { z } from 'zod';
import { type ValidationErrors, issueMessage } from '../../errors.ts';

/** Letters to change, add, drop or swap with the next to get from one word to the other. */
function distance(from: string, to: string): number {
  let beforeLast: number[] = [];
  let last = Array.from({ length: to.length + 1 }, (_, index) => index);
  for (let row = 1; row <= from.length; row += 1) {
    const current = [row];
    for (let column = 1; column <= to.length; column += 1) {
      const same = from[row - 1] === to[column - 1];
      let best = Math.min(
        (last[column] ?? 0) + 1,
        (current[column - 1] ?? 0) + 1,
        (last[column - 1] ?? 0) + (same ? 0 : 1),
      );
      const swapped = from[row - 1] === to[column - 2] && from[row - 2] === to[column - 1];
      if (row > 1 && column > 1 && swapped) best = Math.min(best, (beforeLast[column - 2] ?? 0) + 1);
      current.push(best);
    }
    beforeLast = last;
    last = current;
  }
  return last[to.length] ?? 0;
}

/**
 * The known name a client probably meant: a slip of a letter or two, or other spelling of the words.
 * @returns null where nothing is near
 */
export function nearestName(given: string, known: readonly string[]): string | null {
  if (given.length > 64) return null;
  const plain = (name: string) => name.toLowerCase().replaceAll(/[^a-z0-9]/g, '');
  const same = known.find((name) => plain(name) === plain(given));
  if (same) return same;
  const ranked = known
    .map((name) => ({ name, far: distance(given.toLowerCase(), name.toLowerCase()) }))
    .sort((one, other) => one.far - other.far);
  const best = ranked[0];
  return best && best.far <= Math.max(1, Math.floor(given.length / 3)) ? best.name : null;
}

export type Parsed<T> = { ok: true; value: T } | { ok: false; errors: ValidationErrors };

/** What a value is called in messages about names that nobody knows. */
export type Part = 'field' | 'query parameter';

/** A body may have a hundred thousand wrong fields; nobody reads of so many, and telling takes time. */
const MOST_TOLD = 100;

/** Whether problems enough are told. */
export function isFull(errors: ValidationErrors): boolean {
  return Object.keys(errors).length >= MOST_TOLD;
}

const parseOptions = { error: issueMessage };

function fieldPath(path: PropertyKey[]): string {
  return path.length === 0 ? 'body' : path.map(String).join('.');
}

/** The names an object schema knows at `path`; through optional, union, array and the like. */
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
  // A field may be called `constructor`.
  const messages = (Object.hasOwn(errors, path) ? errors[path] : undefined) ?? [];
  if (!messages.includes(message)) errors[path] = [...messages, message];
}

/** Of a union's branches, the one whose problems are told: the one that got furthest with the fewest of them. */
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
      const known = knownNames(schema, path);
      for (const key of issue.keys.slice(0, MOST_TOLD)) {
        const near = nearestName(key, known);
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

/** Parse by a schema, telling the problems of 100 fields by their dotted paths (`user.email`, `links.0.url`). */
export function parseWith(schema: z.ZodType, value: unknown, part: Part): Parsed<unknown> {
  const parsed = schema.safeParse(value, parseOptions);
  if (parsed.success) return { ok: true, value: parsed.data };
  const errors: ValidationErrors = {};
  collect(schema, parsed.error.issues, [], part, errors);
  return { ok: false, errors };
}

/** The body without what a client may send back unchanged but nobody may set. */
export function withoutReadOnly(body: unknown, readOnly: readonly string[]): unknown {
  if (typeof body !== 'object' || body === null || Array.isArray(body)) return body;
  // Most bodies have none: they pass as they are, for an object with names deleted from it is slow to read.
  if (!readOnly.some((name) => Object.hasOwn(body, name))) return body;
  return Object.fromEntries(Object.entries(body).filter(([name]) => !readOnly.includes(name)));
}
