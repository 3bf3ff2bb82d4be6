/** SQL that reads times as `readTime` does. Its casts cannot fail. */
import { MAX_TIME_LENGTH, MILLISECONDS_PATTERN, SECONDS_PATTERN, type TimeKind, timeForms } from './times.ts';

/**
 * What PostgreSQL cannot cast or reads differently: comments and names after an offset, more digits than microseconds,
 * decimal commas, some offsets after a clock without colons, `30th`, `p.m.`, and `GMT+2`, which is west of Greenwich for POSIX.
 */
const rewritten: readonly (readonly [pattern: string, by: string])[] = [
  ['[(][^()]*[)]|\\[[^]]*\\]|^ *(?:mon|tue|wed|thu|fri|sat|sun)[a-z.]*,?', ''],
  ['[\\u00a0\\u202f]', ' '],
  ['(?:utc|gmt)([+-])', '\\1'],
  ['([+-][0-9:]{2,5}) (?:utc|gmt)', '\\1'],
  ['^( *[0-9]{8})t([0-9]{2})([0-9]{2})', '\\1 \\2:\\3'],
  ['^( *[0-9]{8} [0-9]{2}:[0-9]{2})([0-9]{2})', '\\1:\\2'],
  ['(:[0-9]{2}),([0-9])', '\\1.\\2'],
  ['([.][0-9]{6})[0-9]+', '\\1'],
  ['([0-9])(?:st|nd|rd|th)', '\\1'],
  ['([a-z]{3})[.]', '\\1'],
  ['([ap])[.]?m[.]?', '\\1m '],
];

const rewrite = (text: string) =>
  rewritten.reduce((sql, [pattern, by]) => `regexp_replace(${sql}, '${pattern}', '${by}', 'gi')`, text);

/** SQL: whether a text has a form of the kinds. @param text SQL of a text that is not null */
const matches = (text: string, kinds: readonly TimeKind[], plain: boolean) =>
  timeForms
    .filter((form) => kinds.includes(form.kind) && form.plain === plain)
    .map(({ pattern }) => `${text} ${plain ? '~' : '~*'} '${pattern}'`);

/** SQL: whether a text is a time of one of the kinds, other than a number. */
export const isTimeSql = (text: string, ...kinds: TimeKind[]): string =>
  `(length(${text}) <= ${MAX_TIME_LENGTH} and (${[true, false].flatMap((plain) => matches(text, kinds, plain)).join(' or ')}))`;

function cast(kind: TimeKind, text: string): string {
  if (kind === 'zoned') return `date_trunc('milliseconds', (${text})::timestamptz)`;
  return `(date_trunc('milliseconds', (${text})::timestamp) at time zone 'UTC')`;
}

const epoch = (milliseconds: string) =>
  `timestamptz 'epoch' + ${milliseconds}::float8 * interval '1 millisecond'`;

/**
 * SQL for the text of a number or a string as a time, null if it is none. Without a zone, it is in UTC.
 * @param text SQL of a text that is not null
 * @param isNumber SQL: whether it is a JSON number, which is a time only as seconds or milliseconds since 1970
 */
export function timeSql(text: string, isNumber: string): string {
  const [plain, others] = [true, false].map((which) =>
    timeForms
      .filter((form) => form.plain === which)
      .map(({ kind, pattern }) =>
        which
          ? `when ${text} ~ '${pattern}' then ${cast(kind, text)}`
          : `when ${text} ~* '${pattern}' then ${cast(kind, rewrite(text))}`,
      )
      .join(' '),
  );
  const numbers =
    `when ${text} ~ '${SECONDS_PATTERN}' then ${epoch(`trunc(${text}::numeric * 1000)`)} ` +
    `when ${text} ~ '${MILLISECONDS_PATTERN}' then ${epoch(`${text}::numeric`)}`;
  return (
    `case when length(${text}) not between 6 and ${MAX_TIME_LENGTH} then null when ${isNumber} then case ${numbers} end ` +
    // The patterns of the other forms take longest, and words have no digit.
    `else case ${plain} ${numbers} when ${text} !~ '[0-9]' then null ${others} end end`
  );
}
