import type { IncomingMessage } from 'node:http';
import { etagOf, type IfMatch } from '../db/revisions.ts';
import type { Parsed } from '../input/validation.ts';
import type { JsonResult } from './reply.ts';
import type { RouteDefinition } from './route.ts';

/** One entity tag, weak or strong (RFC 9110, section 8.8.3), and what separates it from the next. */
const ENTITY_TAG = /[ \t]*((?:W\/)?"[\x21\x23-\x7e\x80-\xff]*")[ \t]*(?:,|$)/y;
/** Clients name one revision, or the few that they know. */
const MAX_TAGS = 100;

/**
 * Parses `If-Match` (RFC 9110, section 13.1.1), and `If-None-Match: *`. The comparison is strong, so a weak tag matches
 * nothing: a proxy that compresses responses may weaken tags.
 * @returns null if the route does not check the headers, or the client sent none
 */
export function parseIfMatch(
  { etag, mayCreate }: RouteDefinition,
  { headers }: IncomingMessage,
): Parsed<IfMatch> {
  const { 'if-match': given, 'if-none-match': unless } = headers;
  if (mayCreate && unless !== undefined) {
    return unless.trim() === '*'
      ? { ok: true, value: 'none' }
      : { ok: false, errors: { 'If-None-Match': ['must be *'] } };
  }
  if (etag !== 'checked' || given === undefined) return { ok: true, value: null };
  if (given.trim() === '*') return { ok: true, value: '*' };
  const tags: string[] = [];
  ENTITY_TAG.lastIndex = 0;
  while (tags.length < MAX_TAGS) {
    const tag = ENTITY_TAG.exec(given)?.[1];
    if (tag === undefined) break;
    tags.push(tag);
    if (ENTITY_TAG.lastIndex === given.length) return { ok: true, value: tags };
  }
  return { ok: false, errors: { 'If-Match': ['must be * or a list of entity tags, such as "7"'] } };
}

/** Adds the `ETag` of the resource that a response shows. */
export function withEtag<Result extends JsonResult>(
  { etag, method }: RouteDefinition,
  result: Result,
): Result {
  const { revision } = (result.body ?? {}) as { revision?: unknown };
  // A deleted resource has no revision any more.
  if (etag === undefined || method === 'DELETE' || typeof revision !== 'number') return result;
  return { ...result, headers: { ...result.headers, ETag: etagOf(revision) } };
}
