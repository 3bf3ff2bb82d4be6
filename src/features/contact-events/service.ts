import { AppError, notFound, type ValidationErrors } from '../../errors.ts';
import type { Tenant } from '../../platform/auth/tenant.ts';
import { createCoalescer } from '../../platform/db/coalescer.ts';
import type { Page, RowCount } from '../../platform/db/paging.ts';
import type { Queryable } from '../../platform/db/queryable.ts';
import { clientSource, draftEvent, type EventDraft } from './draft.ts';
import { type ListDeps, listEvents } from './list.ts';
import { deleteEvent, findEvent } from './model.ts';
import { presentEvent, presentNewEvent } from './presenter.ts';
import { deleteEventsOf } from './removal.ts';
import type { BatchResult, EventResource, ListEventsQuery, TrackEventBody } from './schema.ts';
import { createTracker, type TrackDeps, type Tracked, type TrackResult } from './track.ts';

export { lockBrands, lockContacts, type TrackedEvent, type TrackedEventConsumer } from './consumers.ts';
export { type ChainedResult, trackChained } from './chained.ts';
export { trackGenerated } from './generated.ts';
export type { CausingMail } from './draft.ts';
export { causedByMailSql } from './model.ts';
export type { EnsureContacts } from './track.ts';

const MAX_GROUP = 200;
const MAX_GROUP_BYTES = 4 * 1024 * 1024;
/** How long events gather under a steady load, in ms: the statement itself costs as much as several events. */
const GROUP_INTERVAL_MS = 2;
/** Maximum number of batches that are written at the same time. Each is a group of its own. */
const BATCHES_AT_ONCE = 2;
/** Approximate size of an event in the statement without its `data`, in bytes. */
const EVENT_BYTES = 1_000;

/** An event of a batch: parsed, or its errors. */
export type BatchItem = { body: TrackEventBody } | { errors: ValidationErrors };

export interface EventService {
  /**
   * Tracks an event. It is committed when this resolves. If an earlier event took the key, that one is returned.
   * @throws AppError validation_error, unavailable
   */
  track(
    tenant: Tenant,
    body: TrackEventBody,
    headerKey: string | null,
  ): Promise<{ event: EventResource; replayed: boolean }>;
  /**
   * Tracks events, each on its own. They are committed when this resolves.
   * @param headerKey events without a key get this one, with their index
   * @throws AppError unavailable: some events may have been tracked
   */
  trackBatch(tenant: Tenant, items: readonly BatchItem[], headerKey: string | null): Promise<BatchResult[]>;
  /** @throws AppError validation_error if it takes too long, rate_limited */
  list(
    tenant: Tenant,
    query: ListEventsQuery,
    page: Page,
  ): Promise<{ events: EventResource[]; count: RowCount }>;
  /** @throws AppError not_found */
  get(tenant: Tenant, id: number): Promise<EventResource>;
  /** Deletes an event and frees its key. @throws AppError not_found */
  remove(tenant: Tenant, id: number): Promise<EventResource>;
}

/** @returns the key of the header or the body; errors if they differ */
function keyOf(body: TrackEventBody, headerKey: string | null): string | null | { errors: ValidationErrors } {
  const own = body.idempotency_key ?? null;
  if (own === null || headerKey === null || own === headerKey) return own ?? headerKey;
  return { errors: { idempotency_key: ['differs from the header Idempotency-Key'] } };
}

function invalid(errors: ValidationErrors): AppError {
  const [field, messages] = Object.entries(errors)[0] ?? ['event', ['is invalid']];
  return new AppError('validation_error', `${field} ${messages[0]}`, { validationErrors: errors });
}

function batchResult(index: number, result: TrackResult): BatchResult {
  switch (result.status) {
    case 'failed':
      throw result.error;
    case 'invalid':
      return { index, status: 'invalid', id: null, errors: result.errors };
    case 'created':
      return { index, status: 'created', id: result.event.id, errors: {} };
    case 'existing':
      return { index, status: 'existing', id: result.kept.id, errors: {} };
  }
}

const resultOf = async (tracked: Tracked): Promise<TrackResult> =>
  'now' in tracked ? tracked.now : tracked.later;

/** @param tracked the results of the parsed items, in their order */
function batchResults(items: readonly BatchItem[], tracked: readonly TrackResult[]): BatchResult[] {
  const left = tracked.values();
  return items.map((item, index) =>
    batchResult(
      index,
      'errors' in item
        ? { status: 'invalid', errors: item.errors }
        : (left.next().value as unknown as TrackResult),
    ),
  );
}

export function createEventService(deps: TrackDeps & ListDeps): EventService {
  const { pool } = deps;
  const trackAll = createTracker(deps);
  const single = createCoalescer<{ draft: EventDraft; bytes: number }, Tracked>({
    maxGroupSize: MAX_GROUP,
    bytes: { of: ({ bytes }) => bytes, max: MAX_GROUP_BYTES },
    // One group at a time: while it commits, the next one gathers, and larger groups cost less per event.
    concurrency: 1,
    intervalMs: GROUP_INTERVAL_MS,
    run: (group) => trackAll(group.map(({ draft }) => draft)),
  });
  const batches = createCoalescer<EventDraft[], Tracked[]>({
    maxGroupSize: 1,
    concurrency: BATCHES_AT_ONCE,
    run: ([drafts]) => trackAll(drafts ?? []).then((results) => [results]),
  });

  return {
    async track(tenant, body, headerKey) {
      const key = keyOf(body, headerKey);
      if (key !== null && typeof key !== 'string') throw invalid(key.errors);
      const bytes = EVENT_BYTES + (body.data ? JSON.stringify(body.data).length : 0);
      const result = await resultOf(
        await single.submit({ draft: draftEvent(clientSource(tenant), body, key), bytes }),
      );
      if (result.status === 'failed') throw result.error;
      if (result.status === 'invalid') throw invalid(result.errors);
      if (result.status === 'created') {
        return { event: presentNewEvent(result.event, result.outcome), replayed: false };
      }
      const kept = await findEvent(pool, tenant, result.kept.id);
      if (!kept) throw new AppError('unavailable', 'the event of this key was just deleted; try again');
      return { event: presentEvent(kept), replayed: true };
    },
    async trackBatch(tenant, items, headerKey) {
      const drafts = items.flatMap((item, index) => {
        if ('errors' in item) return [];
        const derived = headerKey === null ? null : `${headerKey}/${index}`;
        return [draftEvent(clientSource(tenant), item.body, item.body.idempotency_key ?? derived)];
      });
      const tracked = drafts.length > 0 ? await batches.submit(drafts) : [];
      return batchResults(items, await Promise.all(tracked.map(resultOf)));
    },
    async list(tenant, query, page) {
      const { rows, count } = await listEvents(deps, tenant, query, page);
      return { events: rows.map(presentEvent), count };
    },
    async get(tenant, id) {
      const row = await findEvent(pool, tenant, id);
      if (!row) throw notFound('event');
      return presentEvent(row);
    },
    async remove(tenant, id) {
      const row = await deleteEvent(pool, tenant, id);
      if (!row) throw notFound('event');
      return presentEvent(row);
    },
  };
}

/**
 * Deletes events of a contact with their idempotency keys, oldest first. Call it after the contact's row is locked or
 * deleted, so that no more events of the contact are written. Repeat it until it returns less than `limit`.
 * @param limit maximum number of events in one call
 * @returns the number of deleted events
 */
export function deleteContactEvents(db: Queryable, contactId: number, limit: number): Promise<number> {
  return deleteEventsOf(db, contactId, limit);
}
