/** The statement and the function that write messages, and what of their files derives from tables of the code. */
import { IDEMPOTENCY_DAYS } from '../../../platform/db/idempotency.ts';
import { defineFunction, defineSql } from '../../../platform/db/sql/define.ts';
import type { PreparedStatement } from '../../../platform/db/statements.ts';
import { contentBytesSql, contentWeightSql } from '../../content/templates/content-weight.ts';
import { MESSAGE_LIFETIME } from '../../terms/message.ts';
import { type Setting, settingIn } from '../../terms/sql-parts.ts';
import { paidByMessageSql, paidBySegmentSql } from '../../terms/units.ts';
import { acceptRules } from '../limits/authority.ts';
import type { AcceptRule } from '../limits/limit.ts';
import {
  contentColumns,
  inputColumns,
  keyColumns,
  letterColumns,
  messageColumns,
  rareColumns,
  renderedColumns,
  renderedQueueColumns,
  wholeColumns,
} from './new-message.ts';
import { replyToSql, routeSql, scheduledRouteSql, trackedSql } from './route.ts';
import { MAX_TEST_MESSAGES } from './test-messages.ts';

/** Columns of `messages` that take the value of another column of `accepted`. */
const acceptedNames: Readonly<Record<string, string>> = {
  from_address: 'sender',
  reply_to: 'reply_address',
  tracking: 'tracked',
};

const parametersOf = (columns: object) =>
  Object.entries(columns as typeof inputColumns)
    .map(([name, { sqlType }]) => `"${name}" ${sqlType}`)
    .join(', ');

const valuesOf = (columns: object) =>
  Object.keys(columns)
    .map((name) => acceptedNames[name] ?? name)
    .join(', ');

/** SQL: the address in the message, else the default with the account's sender name as a quoted string (RFC 5322). */
const senderSql = `
  coalesce(i.from_address, case when coalesce(a.email_from_name, '') = '' then i.default_from
    else '"' || replace(replace(a.email_from_name, '\\', '\\\\'), '"', '\\"') || '" <' || i.default_from || '>' end)`;

/** SQL: whether the account `a` pays nothing for the message `i`. */
const costsNothingSql = `
  not (a.kind = 'customer' and not a.comped and not i.test and exists (
    select from prices p
    where p.tier = a.tier and p.kind = i.channel and (p.kind = 'sms' or p.millicents > 0)))`;

/** SQL: further parts of a statement, which count the messages in `counted` by each rule and may raise its SQLSTATE. */
const limitsSql = (setting: Setting) => (rules: readonly AcceptRule[]) =>
  rules
    .flatMap((rule) => rule.reserve({ messages: 'counted', setting }))
    .map(({ name, sql }) => `, ${name} as (${sql})`)
    .join('\n');

/** SQL: a number. PostgreSQL evaluates a part that raises an error only if the outer query reads it. */
const refusedSql = (rules: readonly AcceptRule[]) =>
  rules.map(({ refusals }) => `(select count(refused) from ${refusals})`).join(' + ') || '0';

const regionsOf = (setting: Setting) => ({
  idempotency_days: () => String(IDEMPOTENCY_DAYS),
  sender: () => senderSql,
  reply_to: () => replyToSql,
  route: () => routeSql,
  costs_nothing: () => costsNothingSql,
  content_columns: () => Object.keys(contentColumns).join(', '),
  content_bytes: () => contentBytesSql,
  content_weight: () => contentWeightSql,
  limits: limitsSql(setting),
  refused: refusedSql,
});

const stored = { ...messageColumns, ...renderedColumns, ...letterColumns, ...rareColumns };
const given = {
  ...inputColumns,
  ...renderedColumns,
  ...renderedQueueColumns,
  ...letterColumns,
  ...wholeColumns,
  ...rareColumns,
};

export const writeFunction = defineFunction(import.meta.url, './write_messages.sql', {
  table: acceptRules,
  regions: {
    ...regionsOf(settingIn('settings')),
    tracked: () => trackedSql('links', `(rendered or i.has_html or coalesce(i.html, '') <> '')`),
    input_columns: () => parametersOf(given),
    message_columns: () => Object.keys(stored).join(', '),
    message_values: () => valuesOf(stored),
    paid_by_message: () => paidByMessageSql('i.channel'),
    paid_by_segment: () => paidBySegmentSql('i.channel'),
    test_limit: () => String(MAX_TEST_MESSAGES),
    lifetime: () => MESSAGE_LIFETIME,
    scheduled_route: () => scheduledRouteSql,
  },
});

/** Sent by {@link unpricedStatement}, perhaps without some of its parts. */
export const writeUnpriced = defineSql(import.meta.url, './write_unpriced_messages.sql', {
  table: acceptRules,
  regions: {
    ...regionsOf(settingIn('$3::jsonb')),
    tracked: () => trackedSql('$2::jsonb', `coalesce(i.html, '') <> ''`),
    input_columns: () => parametersOf({ ...inputColumns, ...keyColumns }),
    message_columns: () => Object.keys(messageColumns).join(', '),
    message_values: () => valuesOf(messageColumns),
  },
});

const withoutLimits = {
  keyed: writeUnpriced.without('limits'),
  other: writeUnpriced.without('limits', 'keys'),
};
const withLimits = { keyed: writeUnpriced, other: writeUnpriced.without('keys') };

/**
 * The statement that writes messages which cost nothing.
 * @param keyed whether one of them has a key
 * @param limited whether a limit counts one of them. Only then has it a third parameter.
 */
export const unpricedStatement = (keyed: boolean, limited: boolean): PreparedStatement =>
  (limited ? withLimits : withoutLimits)[keyed ? 'keyed' : 'other'];
