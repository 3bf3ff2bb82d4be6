/** The function that writes messages, and what of its file derives from tables of the code. */
import { IDEMPOTENCY_DAYS } from '../../../platform/db/idempotency.ts';
import { defineFunction } from '../../../platform/db/sql/define.ts';
import { contentBytesSql, contentWeightSql } from '../../content/templates/content-weight.ts';
import { settingIn } from '../../terms/sql-parts.ts';
import { paidByMessageSql, paidBySegmentSql } from '../../terms/units.ts';
import { acceptRules } from '../limits/authority.ts';
import type { AcceptRule } from '../limits/limit.ts';
import {
  contentColumns,
  inputColumns,
  messageColumns,
  renderedColumns,
  renderedQueueColumns,
} from './new-message.ts';
import { replyToSql, routeSql, trackedSql } from './route.ts';
import { MAX_TEST_MESSAGES } from './test-messages.ts';

const stored = Object.keys({ ...messageColumns, ...renderedColumns });

/** Columns of `messages` that take the value of another column of `accepted`. */
const acceptedNames: Readonly<Record<string, string>> = {
  from_address: 'sender',
  reply_to: 'reply_address',
  tracking: 'tracked',
};

const declared = Object.entries({ ...inputColumns, ...renderedColumns, ...renderedQueueColumns }).map(
  ([name, { sqlType }]) => `"${name}" ${sqlType}`,
);

/** SQL: counts the messages in `counted` by each rule, which may raise its SQLSTATE. */
function limitsSql(rules: readonly AcceptRule[]): string {
  const ctes = rules
    .flatMap((rule) => rule.reserve({ messages: 'counted', setting: settingIn('settings') }))
    .map(({ name, sql }) => `, ${name} as (${sql})`);
  // PostgreSQL evaluates a part that raises an error only if the outer query reads it.
  const read = rules.map(({ refusals }) => `(select count(refused) from ${refusals})`);
  return `${ctes.join('\n')}\nselect ${read.join(' + ') || 0} into refused;`;
}

export const writeFunction = defineFunction(import.meta.url, './write_messages.sql', {
  table: acceptRules,
  regions: {
    idempotency_days: () => String(IDEMPOTENCY_DAYS),
    reply_to: () => replyToSql,
    route: () => routeSql,
    tracked: () => trackedSql('links', `(rendered or coalesce(i.html, '') <> '')`),
    input_columns: () => declared.join(', '),
    message_columns: () => stored.join(', '),
    message_values: () => stored.map((name) => acceptedNames[name] ?? name).join(', '),
    content_columns: () => Object.keys(contentColumns).join(', '),
    content_bytes: () => contentBytesSql,
    content_weight: () => contentWeightSql,
    paid_by_message: () => paidByMessageSql('i.channel'),
    paid_by_segment: () => paidBySegmentSql('i.channel'),
    limits: limitsSql,
    test_limit: () => String(MAX_TEST_MESSAGES),
  },
});
