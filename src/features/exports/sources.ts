import { recipientKey } from '../../delivery/terms/channels/recipient.ts';
import type { Channel } from '../../delivery/terms/message.ts';
import type { IdScan, ScannedIds } from '../../platform/db/id-scan.ts';
import type { Queryable } from '../../platform/db/queryable.ts';
import {
  type ContactScope,
  countDataKeys,
  highestContactId,
  presentContacts,
  scanContacts,
} from '../contacts/service.ts';
import { filtersOf, highestMessageId, presentMessages, scanMessages } from '../messages/service.ts';
import { highestSuppressionId, presentSuppressions, scanSuppressions } from '../suppressions/service.ts';
import { canBeColumn, contactCells, contactHeader, MAX_COLUMN_KEY_BYTES } from './contacts.ts';
import type { Held } from './held.ts';
import type { ExportRow } from './model.ts';
import { exportFilters, type ExportResource } from './schema.ts';

export type Cells = (string | null)[];

/** A source of rows for exports. */
export interface ExportSource {
  /** @returns 0 if there are no rows */
  highestId(db: Queryable, scope: ContactScope): Promise<number>;
  /** @param filters in the form that {@link exportFilters} parses */
  scan(
    db: Queryable,
    scope: ContactScope,
    filters: Record<string, string>,
    scan: IdScan,
  ): Promise<ScannedIds>;
  /** @param dataColumns keys of `data` that have a column of their own */
  header(dataColumns: readonly string[]): string[];
  /** @returns the records of the rows that still exist, ordered by id */
  records(
    db: Queryable,
    scope: ContactScope,
    ids: readonly number[],
    dataColumns: readonly string[],
  ): Promise<Cells[]>;
  /**
   * Returns the contact or address that a record concerns; null if there is none to erase. Missing if nothing of the
   * source is ever erased.
   */
  heldBy?(cells: Cells): Held | null;
  /** Counts the most frequent keys of `data` in these rows. Missing if the source has no such data. */
  countKeys?(
    db: Queryable,
    scope: ContactScope,
    ids: readonly number[],
    maxKeys: number,
  ): Promise<Map<string, number>>;
}

export const scopeOf = (row: ExportRow): ContactScope => ({
  accountId: row.account_id,
  brandId: row.brand_id,
  // Periods of segments, such as the last 30 days, must not move while the export is written.
  asOf: row.started_at ?? row.created_at,
});

/** Returns a value as a cell: text unchanged, anything else as JSON. */
function cellOf(value: unknown): string | null {
  if (value === null || value === undefined) return null;
  return typeof value === 'string' ? value : JSON.stringify(value);
}

/** Returns the cells of a resource that is exported as the API shows it. */
function cells(item: Readonly<Record<string, unknown>>, columns: readonly string[]): Cells {
  return columns.map((name) => cellOf(item[name]));
}

const SUPPRESSION_COLUMNS = [
  'id',
  'email',
  'phone',
  'reason',
  'source_provider',
  'diagnostic',
  'active',
  'expires_at',
  'created_at',
] as const;

const suppressions: ExportSource = {
  highestId: highestSuppressionId,
  scan: (db, scope, filters, scan) =>
    scanSuppressions(db, scope, exportFilters.suppressions.parse(filters), scan),
  header: () => [...SUPPRESSION_COLUMNS],
  async records(db, scope, ids) {
    const rows = await presentSuppressions(db, scope, ids);
    return rows.map((row) => cells(row, SUPPRESSION_COLUMNS));
  },
};

const MESSAGE_COLUMNS = [
  'id',
  'channel',
  'status',
  'to',
  'from',
  'reply_to',
  'subject',
  'template_id',
  'contact_id',
  'campaign_id',
  'flow_id',
  'tags',
  'idempotency_key',
  'provider',
  'provider_message_id',
  'segments',
  'test',
  'failure_code',
  'failure_message',
  'bounce_type',
  'bounce_subtype',
  'bounce_diagnostic',
  'queued_at',
  'scheduled_at',
  'sent_at',
  'delivered_at',
  'opened_at',
  'clicked_at',
  'created_at',
  'updated_at',
] as const;

const messages: ExportSource = {
  highestId: highestMessageId,
  scan: (db, scope, filters, scan) =>
    scanMessages(db, scope, filtersOf(exportFilters.messages.parse(filters)), scan),
  header: () => [...MESSAGE_COLUMNS],
  async records(db, scope, ids) {
    const rows = await presentMessages(db, scope, ids);
    return rows.map(({ failure, bounce, ...row }) => {
      const reasons = {
        failure_code: failure?.code,
        failure_message: failure?.message,
        bounce_type: bounce?.type,
        bounce_subtype: bounce?.subtype,
        bounce_diagnostic: bounce?.diagnostic,
      };
      return cells({ ...row, ...reasons }, MESSAGE_COLUMNS);
    });
  },
  heldBy(record) {
    const to = record[MESSAGE_COLUMNS.indexOf('to')];
    const channel = record[MESSAGE_COLUMNS.indexOf('channel')] as Channel;
    const addressKey = to ? recipientKey(channel, to) : null;
    return addressKey === null ? null : { addressKey };
  },
};

const contacts: ExportSource = {
  highestId: highestContactId,
  scan: (db, scope, filters, scan) => scanContacts(db, scope, exportFilters.contacts.parse(filters), scan),
  header: contactHeader,
  async records(db, scope, ids, dataColumns) {
    const rows = await presentContacts(db, scope.brandId, ids);
    return rows.map((contact) => contactCells(contact, dataColumns));
  },
  heldBy: ([id]) => ({ contactId: Number(id) }),
  async countKeys(db, scope, ids, maxKeys) {
    const counts = await countDataKeys(db, scope, ids, { maxKeys, maxBytes: MAX_COLUMN_KEY_BYTES });
    return new Map([...counts].filter(([key]) => canBeColumn(key)));
  },
};

export const exportSources: Record<ExportResource, ExportSource> = { contacts, suppressions, messages };
