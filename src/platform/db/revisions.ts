/**
 * Revisions of a row that several people edit. Each change raises the row's `revision`, which clients see as the `ETag`
 * of the resource. A client that sends it back in `If-Match` changes the resource only as it has seen it.
 */
import { isDeepStrictEqual } from 'node:util';
import { raw } from 'objection';
import { z } from 'zod';
import { AppError } from '../../errors.ts';

/**
 * What a request requires of a resource: in `If-Match`, one of entity tags, or `*` for any; `none` that it does not
 * exist, by `If-None-Match: *`. Null: the client does not ask.
 */
export type IfMatch = '*' | 'none' | readonly string[] | null;

/** The field `revision` of a resource. */
export const revisionField = z.int().meta({
  description:
    'Raised by each change. The `ETag` is this number in quotes: send it in `If-Match` with a change.',
});

/** The entity tag of a revision. */
export const etagOf = (revision: number): string => `"${revision}"`;

const isAmong = (etag: string, ifMatch: '*' | readonly string[]) => ifMatch === '*' || ifMatch.includes(etag);

/**
 * Requires that a resource is one that the client has seen. Call it in the transaction of the change, once the row is
 * locked.
 * @param row null: the resource does not exist yet
 * @throws AppError precondition_failed with the present ETag
 */
export function requireRevision(ifMatch: IfMatch, row: { revision: number } | null): void {
  if (ifMatch === null) return;
  const present = row && etagOf(row.revision);
  if (ifMatch === 'none' ? present === null : present !== null && isAmong(present, ifMatch)) return;
  throw new AppError('precondition_failed', 'it has changed since you read it; read it again', {
    headers: present === null ? {} : { ETag: present },
  });
}

/** SQL for a statement that changes a row. */
export const RAISE_REVISION = 'revision = revision + 1';

/** The same as {@link RAISE_REVISION}, for a patch of a model. */
export const raisedRevision = () => ({ revision: raw('revision + 1') });

/**
 * The values that differ from those of a row. A request that changes nothing raises no revision.
 * @param values `undefined` leaves a column unchanged
 * @returns null if none differs
 */
export function changedValues<Row extends object, Values extends Partial<Row>>(
  row: Row,
  values: Values,
): Values | null {
  const changed = Object.entries(values).filter(
    ([name, value]) => value !== undefined && !isDeepStrictEqual(value, row[name as keyof Row]),
  );
  return changed.length === 0 ? null : (Object.fromEntries(changed) as Values);
}
