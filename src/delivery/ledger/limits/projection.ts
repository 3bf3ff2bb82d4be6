/**
 * Projects what would happen to the next email of an account. The SQL of claims and of accept decides on a row that is
 * never written.
 */
import type { Queryable } from '../../../platform/db/queryable.ts';
import { defineStatement } from '../../../platform/db/statements.ts';
import { messageClasses } from '../../terms/message.ts';
import {
  acceptRules,
  type LimitName,
  limits,
  limitsOf,
  type Limits,
  type LimitSettings,
} from './authority.ts';
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

/** SQL: a queue row of the class, as it would be written now for the account $1 and the domain $2. */
const rowSql = (given: number): string => `
    select q.* from jsonb_populate_record(null::send_queue, jsonb_build_object(
      'message_id', 1, 'account_id', $1::bigint, 'domain_id', $2::bigint, 'channel', 'email', 'class', ${given},
      'provider_id', 0, 'queued_at', now(), 'due_at', now())) q`;

/** SQL: what the limits of the table decide about such a row. @param result SQL: a select of one row over `decided` */
const decisionSql = (given: number, table: Limits, result: string): string => `(
    with picked as (${rowSql(given)}
    ), decided as materialized (${decidedSql(table)}
    )
    ${result})`;

const holdOf = (given: number, table: Limits): string =>
  decisionSql(given, table, `select hold from (${heldSql(table)}) h`);

/** Limits that refuse a message at accept instead of holding it later. */
const refusing = (limits as Limits).filter((limit) => limit.refusal !== undefined);

const projectSql = `
  with account as materialized (
    select * from accounts where id = $1
  )${furtherCtes(figuresCtes(settingIn('$3::jsonb')))}
  select ${decisionSql(messageClasses.transactional, refusing, 'select held_by from decided')} as refused_by,
    ${holdOf(messageClasses.transactional, limitsOf(messageClasses.transactional))} as transactional,
    ${holdOf(messageClasses.flow, limits)} as marketing,
    json_build_array(${acceptRules.map(({ left }) => left(settingIn('$3::jsonb'))).join(', ')}) as "left"
  from account a`;

export const projectStatement = defineStatement({
  from: import.meta.url,
  sentBy: 'projectNext',
  does: 'Projects what the limits decide about the next email of an account.',
  parameters: [
    'bigint: the account',
    'bigint: the domain of the sender, or null',
    'jsonb: the settings of the limits',
  ],
  shapes: { project_next: {} },
  compose: () => projectSql,
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
    ...projectStatement.prepared('project_next'),
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
