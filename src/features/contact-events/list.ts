import type pg from 'pg';
import { recipientKey } from '../../delivery/terms/channels/recipient.ts';
import { invalid } from '../../errors.ts';
import type { Tenant } from '../../platform/auth/tenant.ts';
import type { Page, RowCount } from '../../platform/db/paging.ts';
import { onClient, type Queryable } from '../../platform/db/queryable.ts';
import { withLimit } from '../../platform/db/statement-limit.ts';
import { type HeavyReads, HEAVY_READ_MS } from '../../platform/processes/heavy-reads.ts';
import {
  countEvents,
  type EventFilters,
  type EventRow,
  findContactByEmail,
  findEvents,
  findNameId,
  planEvents,
} from './model.ts';
import type { ListEventsQuery } from './schema.ts';

/** How long the statements of a list may take. A slower page is refused, a slower count is estimated. */
export interface ListLimits {
  pageMs: number;
  countMs: number;
}
const LIMITS: ListLimits = { pageMs: HEAVY_READ_MS, countMs: 2_000 };

/** The connections that lists of events are read on. */
export interface ListDeps {
  pool: pg.Pool;
  heavyReads: HeavyReads;
}

const FILTERS = ['event', 'contact_id', 'contact_email', 'test', 'created_after', 'created_before'] as const;

/** Filters that read no other events than they return: an index has these in the order of the list. */
const QUICK = [[], ['event'], ['contact_id'], ['contact_email']];

async function filtersOf(db: Queryable, tenant: Tenant, query: ListEventsQuery): Promise<EventFilters> {
  const { event, contact_id: contactId, contact_email: email, test } = query;
  const contactIds = contactId === undefined ? [] : [contactId];
  if (email !== undefined) {
    const key = recipientKey('email', email);
    contactIds.push(key === null ? 0 : await findContactByEmail(db, tenant, key));
  }
  return {
    nameId: event === undefined ? undefined : await findNameId(db, tenant, event),
    contactIds,
    test: test === undefined ? undefined : test === 'true',
    createdAfter: query.created_after,
    createdBefore: query.created_before,
  };
}

/**
 * Finds one page of a brand's events, ordered by the time of the event, newest first, and counts them.
 * @throws AppError validation_error if the page takes longer than five seconds; rate_limited if the account reads many
 *   filtered lists at once
 */
export function listEvents(
  { pool, heavyReads }: ListDeps,
  tenant: Tenant,
  query: ListEventsQuery,
  page: Page,
  { pageMs, countMs }: ListLimits = LIMITS,
): Promise<{ rows: EventRow[]; count: RowCount }> {
  const names = FILTERS.filter((name) => query[name] !== undefined);
  const read = async (client: Queryable) => {
    const filters = await filtersOf(client, tenant, query);
    const rows = await withLimit(client, pageMs, (trx) => findEvents(trx, tenant, filters, page));
    if (!rows) {
      const message = `takes longer than ${HEAVY_READ_MS / 1_000} seconds: add a filter that fewer events match`;
      throw invalid({ [names[0] ?? 'page']: [message] });
    }
    const counted = await withLimit(client, countMs, (trx) => countEvents(trx, tenant, filters));
    if (counted) return { rows, count: counted };
    const planned = await planEvents(client, tenant, filters);
    return { rows, count: { total: Math.max(planned, 1), estimated: true } };
  };
  const isQuick = QUICK.some((quick) => quick.join() === names.join());
  return isQuick
    ? onClient(pool, read)
    : heavyReads.run({ accountId: tenant.accountId, what: 'filtered lists of events' }, read);
}
