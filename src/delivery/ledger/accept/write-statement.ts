/** The statement that writes messages, see `write-messages.ts`. */
import { byChannelSql, isChannelSql } from '../../terms/channels/index.ts';
import type { AppError } from '../../../errors.ts';
import { defineStatement } from '../../../platform/db/statements.ts';
import { DEFAULT_PROVIDER } from '../../terms/backlog.ts';
import { contentBytesSql, contentWeightSql } from '../../content/templates/content-weight.ts';
import { acceptRules } from '../limits/authority.ts';
import { settingIn } from '../../terms/sql-parts.ts';
import type { AcceptRule } from '../limits/limit.ts';
import { paidBySegmentSql } from '../../terms/units.ts';
import {
  contentColumns,
  inputColumns,
  messageColumns,
  renderedColumns,
  renderedQueueColumns,
} from './new-message.ts';

/** What the links of new tracked messages are made with. It is stored with each message. */
export interface TrackingDefaults {
  /** PUBLIC_URL; null: mail is tracked only if its domain has a tracking host of its own. */
  publicUrl: string | null;
  /** The id of the key that signs links. */
  keyId: string;
}

/** SQL that a caller adds to the statement, and the fields of each message that only this SQL reads. */
export interface Addition {
  /** Part of the prepared statement's name, so that the same name must mean the same SQL. */
  name: string;
  /** Types in SQL, by name of the field. */
  fields: Record<string, string>;
  /**
   * A select over `given`, the messages, that is evaluated before everything else and locks what it reads. It returns
   * a row for each account. With `columns`, it returns a single row, whose columns each message gets. `settings` is the
   * parameter with the settings of the limits.
   */
  first?: { name: string; sql: (settings: string) => string; columns?: readonly string[] };
  /** The condition over `i` and its account `a` under which a message is written; and a CTE over `input` for it. */
  admit?: { cte?: string; condition: string };
  /** A select that adds columns to `admitted`, the messages with the columns of their accounts. */
  extend?: string;
  /** A CTE over `accepted`, the messages that are written. */
  follow?: string;
  /** Fields that are also written to the columns of `send_queue` with the same names. */
  queue?: readonly string[];
  /**
   * SQL over `accepted`, with these columns of the account, that raises an error to refuse all messages. Its column
   * must be named `refused`. If PostgreSQL reports the SQL state of `error`, callers get the error that it makes.
   */
  refuse?: {
    accountColumns: readonly string[];
    name: string;
    sql: string;
    error?: { sqlstate: string; make: () => AppError };
  };
}

/**
 * Which parts the statement has besides those that write the messages. It has no part that no message needs, because an
 * empty part costs as much as a message.
 */
export interface WriteShape {
  additions?: readonly Addition[];
  /** Whether the limits count the messages and may refuse them. */
  limited?: boolean;
  /** Whether messages may be tracked. */
  tracked?: boolean;
  /** Whether the messages have no content of their own: see `WriteOptions`. */
  rendered?: boolean;
}

interface Writing {
  /** `import.meta.url` of the file of the function. */
  from: string;
  /** The function. */
  sentBy: string;
  /** What it writes, in a sentence. */
  does: string;
  shapes: readonly WriteShape[];
}

const messageNames = Object.keys(messageColumns);
const contentNames = Object.keys(contentColumns);
const renderedNames = Object.keys(renderedColumns);

/**
 * SQL: the sender: the address in the message, else the default address with the account's sender name as a quoted
 * string (RFC 5322).
 */
const senderSql = `coalesce(i.from_address,
      case when coalesce(a.email_from_name, '') = '' then i.default_from
        else '"' || replace(replace(a.email_from_name, '\\', '\\\\'), '"', '\\"') || '" <' || i.default_from || '>' end)`;

/** SQL: the address for replies: the one in the message, else the account's. */
const replyToSql = `coalesce(i.reply_to, ${byChannelSql(
  'i.channel',
  ({ account }) => account.replyTo && `a.${account.replyTo}`,
)})`;

/** SQL over `i` and its account `a`: the providers of the account, in their order. */
const providersSql = byChannelSql('i.channel', ({ account }) => `a.${account.providers}`);

/**
 * SQL over `i` and its account `a`: the provider that sends the message. If the account's first provider fails, it is
 * another of the account.
 */
export const routeSql = `case
      when ${providersSql} is null
        then coalesce(i.provider_id, ${DEFAULT_PROVIDER})
      else choose_provider(i.channel, i.provider_id,
        ${providersSql}) end`;

/** Columns of `messages` that take the value of another column of `accepted`. */
const acceptedNames: Readonly<Record<string, string>> = {
  from_address: 'sender',
  reply_to: 'reply_address',
  tracking: 'tracked',
};

/**
 * SQL: how a message is tracked. Tracking must be on for the brand and the message, and requires HTML and a host for
 * the links. Clicks in mail from an address of the service are not tracked, because anyone could create redirects under
 * the service's name.
 * @param defaults the parameter with the {@link TrackingDefaults}; null: no message is tracked
 * @param hasHtml SQL over `i`
 */
export function trackedSql(defaults: string | null, hasHtml = `coalesce(i.html, '') <> ''`): string {
  const off = byChannelSql('i.channel', ({ isTracked }) =>
    isTracked ? `'{"opens": false, "clicks": false}'::jsonb` : null,
  );
  if (defaults === null) return off;
  return `case when ${isChannelSql('i.channel', ({ isTracked }) => isTracked)} and ${hasHtml} then (
      select case when w.opens or w.clicks
        then jsonb_strip_nulls(jsonb_build_object('opens', w.opens, 'clicks', w.clicks, 'host', w.host,
          'own', nullif(${defaults}->>'publicUrl', w.host), 'key', ${defaults}->>'keyId'))
        else jsonb_build_object('opens', false, 'clicks', false) end
      from (
        select h.host,
          h.host is not null and b.track_opens and coalesce((i.tracking->>'opens')::boolean, true) as opens,
          h.host is not null and b.track_clicks and coalesce((i.tracking->>'clicks')::boolean, true)
            and i.domain_id is not null as clicks
        from brands b, (select coalesce(
          (select 'https://' || d.tracking_host from domains d
           where d.id = i.domain_id and d.tracking_ok_at is not null),
          ${defaults}->>'publicUrl') as host offset 0) h
        where b.id = i.brand_id
      ) w
    ) else ${off} end`;
}

/**
 * SQL: what the price of a text depends on when it is claimed: the most segments that its version may take, and its
 * country.
 */
const RENDERED_PRICE = {
  columns: 'price_units, price_country',
  values: `case when ${paidBySegmentSql('channel')} then (
          select v.segments from template_versions v where v.id = content_version_id) end,
        case when ${paidBySegmentSql('channel')} then phone_country(to_key) end`,
};

function inputShape(additions: readonly Addition[], rendered: boolean): string {
  const columns = rendered ? { ...inputColumns, ...renderedColumns, ...renderedQueueColumns } : inputColumns;
  const declared = Object.entries(columns).map(([name, { sqlType }]) => `"${name}" ${sqlType}`);
  const added = additions.flatMap(({ fields }) =>
    Object.entries(fields).map(([name, sqlType]) => `"${name}" ${sqlType}`),
  );
  return [...declared, ...added].join(', ');
}

/** SQL: stores the contents of messages. */
const CONTENTS = `insert into message_contents (message_id, ${contentNames.join(', ')})
      select id, ${contentNames.join(', ')} from accepted`;

/** SQL: true, but not before all rows are written. It reads what their inserts return. */
const writtenSql = (rendered: boolean): string =>
  `${(rendered ? ['written', 'queued'] : ['written', 'contents', 'queued'])
    .map((name) => `(select count(*) from ${name})`)
    .join(' + ')} > 0`;

/**
 * SQL: the messages.
 * @param isRead whether a CTE of an addition reads them: it must wait until the first CTEs have taken their locks
 */
function inputCtes(
  shape: string,
  firsts: readonly NonNullable<Addition['first']>[],
  isRead: boolean,
): string[] {
  const given = `select * from json_to_recordset($1) as i (${shape})`;
  if (firsts.length === 0) return [`input as (${given})`];
  const locked = firsts.map(({ name }) => `(select count(*) from ${name}) > 0`);
  return [
    `given as materialized (${given})`,
    ...firsts.map(({ name, sql }) => `${name} as materialized (${sql('$2::jsonb')})`),
    `input as (select * from given${isRead ? ` where ${locked.join(' and ')}` : ''})`,
  ];
}

/**
 * Builds the statement, with its parts in the order in which they lock rows. The counters of the limits come last,
 * because requests of the same account in other processes wait for them until this transaction ends.
 */
function statementText(
  rules: readonly AcceptRule[],
  additions: readonly Addition[],
  defaults: string | null,
  rendered: boolean,
): string {
  const names = rendered ? [...messageNames, ...renderedNames] : messageNames;
  const admits = additions.flatMap(({ admit }) => admit ?? []);
  const reading = admits.flatMap(({ cte }) => cte ?? []);
  const follows = additions.flatMap(({ follow }) => follow ?? []);
  const firsts = additions.flatMap(({ first }) => first ?? []);
  const extensions = additions.flatMap(({ extend }) => extend ?? []);
  const joined = firsts.filter(({ columns }) => columns);
  const joinedColumns = joined.flatMap(({ name, columns = [] }) =>
    columns.map((each) => `, ${name}.${each}`),
  );
  const conditions = admits.map(({ condition }) => `(${condition})`);
  const refuses = additions.flatMap(({ refuse }) => refuse ?? []);
  const queueNames = additions.flatMap(({ queue }) => queue ?? []).map((name) => `, ${name}`);
  const accountColumns = new Set([...rules, ...refuses].flatMap((each) => each.accountColumns));
  const counting = { messages: 'accepted', written: writtenSql(rendered), setting: settingIn('$2::jsonb') };
  const reservations = rules.flatMap((rule) => rule.reserve(counting));
  const returning = rules.length > 0 ? 'returning 1' : '';
  const ctes = [
    ...inputCtes(inputShape(additions, rendered), firsts, reading.length > 0),
    ...reading,
    `${extensions.length > 0 ? 'admitted' : 'accepted'} as (
      select i.*, ${senderSql} as sender, ${replyToSql} as reply_address, ${routeSql} as route,
        ${rendered ? trackedSql(defaults, 'true') : trackedSql(defaults)} as tracked${[...accountColumns].map((name) => `, a.${name}`).join('')}${joinedColumns.join('')}
      from input i join accounts a on a.id = i.account_id${joined.map(({ name }) => ` cross join ${name}`).join('')}
      ${conditions.length > 0 ? `where ${conditions.join(' and ')}` : ''}
    )`,
    ...extensions.map((sql) => `accepted as (${sql})`),
    `written as (
      insert into messages (${names.join(', ')})
      select ${names.map((name) => acceptedNames[name] ?? name).join(', ')} from accepted ${returning}
    )`,
    ...(rendered ? [] : [`contents as (${CONTENTS} ${returning})`]),
    `queued as (
      insert into send_queue (message_id, account_id, channel, class, due_at, queued_at, content_bytes,
        content_weight, domain_id, provider_id${queueNames.join('')}${rendered ? `, ${RENDERED_PRICE.columns}` : ''})
      select id, account_id, channel, class, now(), now(), ${rendered ? 'coalesce(version_bytes, 0)' : contentBytesSql},
        ${rendered ? '0' : contentWeightSql}, domain_id, route${queueNames.join('')}${rendered ? `, ${RENDERED_PRICE.values}` : ''}
      from accepted where status = 'queued' ${returning}
    )`,
    ...follows,
    ...[...reservations, ...refuses].map(({ name, sql }) => `${name} as (${sql})`),
  ];
  // PostgreSQL evaluates a CTE that raises an error only if the outer query reads it. It evaluates a condition without
  // columns of `accepted` even if there are no rows.
  const refusals = [...rules.map(({ refusals: name }) => name), ...refuses.map(({ name }) => name)].map(
    (name) => `(select count(refused) from ${name}) >= 0`,
  );
  return `with ${ctes.join(', ')}
    select id, sender as from_address, reply_address as reply_to, tracked as tracking, now() as created_at,
      case when status = 'queued' then nullif(route, ${DEFAULT_PROVIDER}) end as provider_id
    from accepted${refusals.length > 0 ? ` where ${refusals.join(' and ')}` : ''}`;
}

/** The prepared name: the same name means the same SQL. */
export function nameOf({ additions = [], limited, tracked, rendered }: WriteShape): string {
  const parts = [
    ...additions.map((addition) => addition.name),
    ...(limited ? ['all_limits'] : []),
    ...(tracked ? ['tracking'] : []),
    ...(rendered ? ['rendered'] : []),
  ];
  return ['write_messages', ...parts].join('+');
}

/** Whether the settings of the limits are a parameter of the statement. */
export const hasSettings = ({ additions = [], limited = false }: WriteShape): boolean =>
  limited || additions.some(({ first }) => first);

/** The statement of a function that writes messages, in the shapes that the function needs. */
export type WriteStatement = ReturnType<typeof defineWriting>;

export const defineWriting = ({ shapes, ...caller }: Writing) =>
  defineStatement({
    ...caller,
    parameters: [
      'json: the messages, with the fields of their source',
      'jsonb: the settings of the limits',
      'jsonb: the address and the key of tracked links',
    ],
    shapes: Object.fromEntries(shapes.map((shape) => [nameOf(shape), shape])),
    version: 6,
    compose({ additions = [], limited = false, tracked = false, rendered = false }: WriteShape) {
      const defaults = tracked ? `$${hasSettings({ additions, limited }) ? 3 : 2}::jsonb` : null;
      return statementText(limited ? acceptRules : [], additions, defaults, rendered);
    },
  });
