/**
 * Projects what would happen to the next email of an account. The SQL of claims and of accept decides on a row that is
 * never written.
 */
import type { Queryable } from '../../../platform/db/queryable.ts';
import { defineSql } from '../../../platform/db/sql/define.ts';
import {
  acceptRules,
  type LimitName,
  limits,
  type Limits,
  type LimitSettings,
  limitsOf,
} from './authority.ts';
import { messageClasses } from '../../terms/message.ts';
import { furtherCtes, settingIn } from '../../terms/sql-parts.ts';
import { decidedSql, figuresCtes, heldSql } from './claim-decision.ts';
import type { CountedMessage } from './limit.ts';

/** What would happen to a message that is accepted or written now, with no other message waiting. */
export interface Projection {
  /** `refuse`: POST /messages responds with 422, flows write no message, and campaigns send none. */
  outcome: 'send' | 'hold' | 'refuse';
  /** The limit that decides; null: the message is sent. */
  limit: LimitName | null;
  /** When a hold ends, if that is known. */
  until: Date | null;
}

export interface Projections {
  transactional: Projection;
  /** Messages of campaigns and flows. */
  marketing: Projection;
}

/** Limits that refuse a message at accept instead of holding it later. */
const refusing = (table: Limits) => table.filter((limit) => limit.refusal !== undefined);

export const projectNextSql = defineSql(import.meta.url, './project_next.sql', {
  table: limits,
  regions: {
    figures: (table) => furtherCtes(figuresCtes(settingIn('$3::jsonb'), table)),
    refusing_decided: (table) => decidedSql(refusing(table)),
    transactional_decided: (table) => decidedSql(limitsOf(messageClasses.transactional, table)),
    transactional_held: (table) => heldSql(limitsOf(messageClasses.transactional, table)),
    marketing_decided: (table) => decidedSql(table),
    marketing_held: (table) => heldSql(table),
    left: () => acceptRules.map(({ left }) => left(settingIn('$3::jsonb'))).join(', '),
  },
});

interface Hold {
  reason: LimitName;
  until: string | null;
}

interface Row {
  refused_by: LimitName | null;
  transactional: Hold | null;
  marketing: Hold | null;
  left: (number | null)[];
}

const SEND: Projection = { outcome: 'send', limit: null, until: null };

const refuse = (limit: LimitName): Projection => ({ outcome: 'refuse', limit, until: null });

function holdBy(hold: Hold | null): Projection {
  if (hold === null) return SEND;
  return { outcome: 'hold', limit: hold.reason, until: hold.until === null ? null : new Date(hold.until) };
}

/** The first limit of the table that refuses the message by what its accounts have left. */
function refusedAtAccept({ left }: Row, message: CountedMessage): LimitName | null {
  const rule = acceptRules.find((each, n) => each.takes(message) > (left[n] ?? Infinity));
  const limit = rule && (limits as Limits).find(({ accept }) => accept === rule);
  return limit ? (limit.name as LimitName) : null;
}

/**
 * Projects what would happen to the next email. It reserves nothing, takes no lock and does not read the queue.
 * @param domainId the domain of its sender; null: an address of the service
 * @throws Error if the account does not exist
 */
export async function projectNext(
  db: Queryable,
  { accountId, domainId }: { accountId: number; domainId: number | null },
  settings: LimitSettings,
): Promise<Projections> {
  const { rows } = await db.query<Row>({
    ...projectNextSql,
    values: [accountId, domainId, JSON.stringify(settings)],
  });
  const row = rows[0];
  if (!row) throw new Error(`no account ${accountId}`);
  const message = { account_id: accountId, channel: 'email', test: false, domain_id: domainId } as const;
  const atAccept = refusedAtAccept(row, message);
  if (atAccept !== null) return { transactional: refuse(atAccept), marketing: refuse(atAccept) };
  return {
    transactional: row.refused_by === null ? holdBy(row.transactional) : refuse(row.refused_by),
    marketing: holdBy(row.marketing),
  };
}
