/** Which conversations a bulk action is about. */
import { z } from 'zod';
import { canonicalDomain, parseEmailAddress } from '../../../delivery/terms/addresses/email.ts';
import { filterTime } from '../../../platform/db/filter-time.ts';
import { type IdScan, scanned, type ScannedIds } from '../../../platform/db/id-scan.ts';
import type { BrandScope } from '../../../platform/db/model.ts';
import { MAX_ID } from '../../../platform/db/paging.ts';
import type { Queryable } from '../../../platform/db/queryable.ts';
import { domain, email } from '../blocks/schema.ts';
import { conversationStatuses } from './schema.ts';

const id = z.int().min(1).max(MAX_ID);

export const conversationFilter = z
  .strictObject({
    all: z
      .literal(true)
      .optional()
      .meta({ description: 'Every conversation of the brand, unless other filters are given, too.' }),
    inbox_id: id.optional(),
    contact_id: id.optional(),
    assignee_id: id.optional(),
    status: z.enum(conversationStatuses).optional(),
    unread: z.boolean().optional(),
    email: email.optional().meta({ description: 'The address of a participant.' }),
    domain: domain
      .optional()
      .meta({ description: 'The domain of a participant’s address, or a domain above it.' }),
    proved: z.boolean().optional().meta({
      description:
        '`false`: no mail in it has proof of its sender (`authentication.aligned`); `true`: at least one has.',
    }),
    created_after: filterTime.optional(),
    created_before: filterTime.optional(),
  })
  .superRefine((filter, context) => {
    if (Object.values(filter).some((value) => value !== undefined)) return;
    context.addIssue({
      code: 'custom',
      message: 'must have a filter; for every conversation, send {"all": true}',
    });
  })
  .meta({
    id: 'ConversationFilter',
    minProperties: 1,
    description: 'A conversation must match all of them.',
  });
export type ConversationFilter = z.output<typeof conversationFilter>;

/** SQL about `c`. */
const PROVED = `exists (select from conversation_messages m
  where m.conversation_id = c.id and m.direction = 'inbound' and m.sender_trusted)`;

/** SQL: the conditions of a filter. Its values are added to `values`. */
function conditionsOf(filter: ConversationFilter, values: unknown[]): string {
  const conditions: string[] = [];
  const add = (value: unknown, condition: (parameter: string) => string) => {
    if (value !== undefined) conditions.push(condition(`$${values.push(value)}`));
  };
  add(filter.inbox_id, (given) => `c.inbox_id = ${given}`);
  add(filter.contact_id, (given) => `c.contact_id = ${given}`);
  add(filter.assignee_id, (given) => `c.assignee_id = ${given}`);
  add(filter.status, (given) => `c.status = ${given}`);
  add(filter.unread, (given) => `(c.unread_count > 0) = ${given}`);
  add(filter.created_after, (given) => `c.created_at > ${given}`);
  add(filter.created_before, (given) => `c.created_at < ${given}`);
  add(filter.proved, (given) => `${PROVED} = ${given}`);
  const parsed = filter.email === undefined ? null : parseEmailAddress(filter.email);
  if (parsed !== null) add('error' in parsed ? '' : parsed.key, (given) => `${given} = any(c.participants)`);
  const name = filter.domain === undefined ? undefined : canonicalDomain(filter.domain);
  add(
    typeof name === 'string' || name === undefined ? name : '',
    (given) => `exists (select from unnest(c.participants) p
      where '.' || substring(p from '[^@]*$') like '%.' || ${given})`,
  );
  return conditions.length === 0 ? 'true' : conditions.join(' and ');
}

/** Finds the conversations of a page that match. */
export async function scanConversations(
  db: Queryable,
  { accountId, brandId }: BrandScope,
  filter: ConversationFilter,
  scan: IdScan,
): Promise<ScannedIds> {
  const values: unknown[] = [accountId, brandId, scan.after, scan.upTo, scan.maxRows];
  const conditions = conditionsOf(filter, values);
  const { rows } = await db.query<{ id: number; matches: boolean }>(
    `select c.id, coalesce(${conditions}, false) as matches from (
       select * from conversations where account_id = $1 and brand_id = $2 and id > $3 and id <= $4
       order by id limit $5) c order by c.id`,
    values,
  );
  return scanned(rows, scan);
}

/** The highest id of a conversation now. Those that begin later have higher ones. */
export async function lastConversationId(db: Queryable): Promise<number> {
  const { rows } = await db.query<{ id: number }>('select coalesce(max(id), 0) as id from conversations');
  return rows[0]?.id ?? 0;
}
