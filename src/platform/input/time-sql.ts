/** SQL that reads times as `readTime` does. Its casts cannot fail. */
import {
  BEGINNING_PATTERN,
  MAX_TIME_BYTES,
  MILLISECONDS_PATTERN,
  SECONDS_PATTERN,
  type TimeForm,
  timeForms,
  type TimeKind,
} from './times.ts';

/**
 * What PostgreSQL cannot cast or reads differently: comments and names after an offset, more digits than microseconds,
 * decimal commas, some offsets after a clock without colons, `30th`, `p.m.`, and `GMT+2`, which is west of Greenwich for POSIX.
 */
const rewritten: readonly (readonly [pattern: string, by: string])[] = [
  ['[(][^()]*[)]|\\[[^]]*\\]|^ *(?:mon|tue|wed|thu|fri|sat|sun)[a-z.]*,?', ''],
  ['[\\u00a0\\u202f]', ' '],
  ['(?:utc|gmt)([+-])', '\\1'],
  ['([+-][0-9:]{2,5}) (?:[a-z]{3,5}|[+-][0-9]{2,4})', '\\1'],
  ['^( *[0-9]{8})t([0-9]{2})([0-9]{2})', '\\1 \\2:\\3'],
  ['^( *[0-9]{8} [0-9]{2}:[0-9]{2})([0-9]{2})', '\\1:\\2'],
  ['(:[0-9]{2}),([0-9])', '\\1.\\2'],
  ['([.][0-9]{6})[0-9]+', '\\1'],
  ['([0-9])(?:st|nd|rd|th)', '\\1'],
  ['([a-z]{3})[.]', '\\1'],
  ['([ap])[.]?m[.]?', '\\1m '],
];

/** Frequent forms that PostgreSQL can cast as they are, because the replacements take longer than all the rest. */
const CASTABLE =
  '^(?:(?:mon|tue|wed|thu|fri|sat|sun), )?[0-9]{1,2} [a-z]{3} [0-9]{4}(?: [0-9]{2}:[0-9]{2}(?::[0-9]{2})?(?: gmt| utc| [+-][0-9]{4})?)?$' +
  '|^[0-9]{4}[-/][0-9]{1,2}[-/][0-9]{1,2}(?: [0-9]{1,2}:[0-9]{2}(?::[0-9]{2})?)?$';

function rewrite(text: string): string {
  const replaced = rewritten.reduce(
    (sql, [pattern, by]) => `regexp_replace(${sql}, '${pattern}', '${by}', 'gi')`,
    text,
  );
  return `case when ${text} ~* '${CASTABLE}' then ${text} else ${replaced} end`;
}

/** SQL: whether a text has a form. A cheaper test comes first, because the patterns take long. */
function hasForm({ kind, plain, pattern }: TimeForm, text: string): string {
  if (plain) return `${kind === 'day' ? `octet_length(${text}) = 10 and ` : ''}${text} ~ '${pattern}'`;
  return `${kind === 'day' ? `strpos(${text}, ':') = 0 and ` : ''}${text} ~* '${pattern}'`;
}

/** SQL: whether a text has a form of the kinds. @param text SQL of a text that is not null */
const matches = (text: string, kinds: readonly TimeKind[], plain: boolean) =>
  timeForms
    .filter((form) => kinds.includes(form.kind) && form.plain === plain)
    .map((form) => `(${hasForm(form, text)})`);

/** SQL: whether a text is a time of one of the kinds, other than a number. */
export const isTimeSql = (text: string, ...kinds: TimeKind[]): string =>
  `(octet_length(${text}) <= ${MAX_TIME_BYTES} and (${matches(text, kinds, true).join(' or ')}
    or (${text} ~* '${BEGINNING_PATTERN}' and (${matches(text, kinds, false).join(' or ')}))))`;

function cast(kind: TimeKind, text: string): string {
  if (kind === 'zoned') return `date_trunc('milliseconds', (${text})::timestamptz)`;
  return `(date_trunc('milliseconds', (${text})::timestamp) at time zone 'UTC')`;
}

const epoch = (milliseconds: string) =>
  `timestamptz 'epoch' + ${milliseconds}::float8 * interval '1 millisecond'`;

/**
 * SQL for the text of a JSON value as a time, null if it is none. Without a zone, it is in UTC.
 * @param text SQL of the text
 * @param type SQL of the value's type, as jsonb_typeof returns it. Numbers are times only as seconds or milliseconds
 */
export function timeSql(text: string, type: string): string {
  const [plain, others] = [true, false].map((which) =>
    timeForms
      .filter((form) => form.plain === which)
      .map((form) => `when ${hasForm(form, text)} then ${cast(form.kind, which ? text : rewrite(text))}`)
      .join(' '),
  );
  const numbers =
    `when ${text} ~ '${SECONDS_PATTERN}' then ${epoch(`trunc(${text}::numeric * 1000)`)} ` +
    `when ${text} ~ '${MILLISECONDS_PATTERN}' then ${epoch(`${text}::numeric`)}`;
  return (
    `case ${type} when 'number' then case when octet_length(${text}) > 8 then case ${numbers} end end when 'string' then ` +
    `case when octet_length(${text}) between 6 and ${MAX_TIME_BYTES} then coalesce(` +
    // The characters from the minus sign to 9. Words pass none of these patterns.
    `case when ascii(${text}) between 45 and 57 then case ${plain} ${numbers} end end, ` +
    `case when ${text} ~* '${BEGINNING_PATTERN}' then case ${others} end end) end end`
  );
}
