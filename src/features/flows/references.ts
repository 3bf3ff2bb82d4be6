/** Checks that the lists and segments that a flow names belong to its brand. */
import type { Problems } from '../../errors.ts';
import type { BrandScope } from '../../platform/db/model.ts';
import type { Queryable } from '../../platform/db/queryable.ts';
import { referenceProblems } from '../segments/index.ts';
import type { FlowRow } from './model.ts';
import { fieldPath } from './paths.ts';
import { referencesOf } from './steps/index.ts';
import type { AnyStep } from './steps/step.ts';

/** Adds an error for each list or segment that steps name but the brand does not have. */
export async function addForeignReferences(
  db: Queryable,
  scope: BrandScope,
  steps: readonly { step: AnyStep; path: string }[],
  problems: Problems,
): Promise<void> {
  const named = steps.map(({ step, path }) => ({ ...referencesOf(step), path }));
  const listIds = named.flatMap(({ listId }) => listId ?? []);
  const lists = await knownLists(db, scope, listIds);
  for (const { listId, filters, received = false, path } of named) {
    if (listId !== undefined && !lists.has(listId)) {
      problems.add({ [fieldPath(path, 'list_id')]: ['is not a list of the brand'] });
    }
    if (!filters) continue;
    for (const problem of await referenceProblems(db, scope, filters, { steps: null, received })) {
      problems.add({ [fieldPath(path, ['filters', ...problem.path].join('.'))]: [problem.message] });
    }
  }
}

/** Returns those of the ids that are lists of the brand, and locks them against deletion until the transaction ends. */
async function knownLists(
  db: Queryable,
  { accountId, brandId }: BrandScope,
  ids: readonly number[],
): Promise<Set<number>> {
  if (ids.length === 0) return new Set();
  const { rows } = await db.query<{ id: number }>(
    'select id from lists where account_id = $1 and brand_id = $2 and id = any($3) and removed_at is null order by id for share',
    [accountId, brandId, ids],
  );
  return new Set(rows.map(({ id }) => id));
}

async function hasSegment(db: Queryable, { accountId, brandId }: BrandScope, id: number): Promise<boolean> {
  // Keeps the segment from being deleted until the transaction ends.
  const { rows } = await db.query(
    'select 1 from segments where account_id = $1 and brand_id = $2 and id = $3 for key share',
    [accountId, brandId, id],
  );
  return rows.length > 0;
}

type Trigger = Pick<FlowRow, 'trigger_event' | 'contact_list_id' | 'segment_id' | 'trigger_data'>;

/** Adds the problems of a trigger. */
export async function addTriggerProblems(
  db: Queryable,
  scope: BrandScope,
  { trigger_event: event, contact_list_id: listId, segment_id: segmentId, trigger_data: data }: Trigger,
  problems: Problems,
): Promise<void> {
  if (listId !== null && !(await knownLists(db, scope, [listId])).has(listId)) {
    problems.add({ 'trigger.contact_list_id': ['is not a list of the brand'] });
  }
  if (segmentId !== null && !(await hasSegment(db, scope, segmentId))) {
    problems.add({ 'trigger.segment_id': ['is not a segment of the brand'] });
  }
  if (data.reentry === 'every_time' && event === null && (listId ?? segmentId) !== null) {
    problems.add({
      'trigger.data.reentry': [
        'must not be every_time, which is for event triggers only; use after_seconds instead',
      ],
    });
  }
  for (const name of ['filters', 'exit_filters'] as const) {
    const flow = { steps: null, received: false };
    for (const { path, message } of await referenceProblems(db, scope, data[name] ?? [], flow)) {
      problems.add({ [['trigger', 'data', name, ...path].join('.')]: [message] });
    }
  }
}
