/**
 * The language of filters after parsing, which segments, campaigns and flows share. docs/segments.md describes what
 * clients write. `sql.ts` and `memory.ts` evaluate the same conditions.
 */

/** Maximum number of filters, including those of referenced segments. */
export const MAX_FILTERS = 50;
/** Maximum number of levels of groups and referenced segments. */
export const MAX_DEPTH = 5;

/** What a name refers to, which decides the predicates that it can have. */
export type NameKind =
  | 'id'
  | 'text'
  | 'status'
  | 'verdict'
  | 'boolean'
  | 'time'
  | 'json'
  | 'list'
  | 'segment'
  | 'event'
  | 'engagement'
  | 'any'
  | 'all';

export const predicates = [
  'eq',
  'not_eq',
  'in',
  'not_in',
  'cont',
  'not_cont',
  'start',
  'end',
  'gt',
  'gteq',
  'lt',
  'lteq',
  'between',
  'present',
  'blank',
  'true',
  'false',
  'within_last',
  'older_than',
  'did',
  'did_not',
  'or',
  'and',
] as const;
export type Predicate = (typeof predicates)[number];

const equality = ['eq', 'not_eq', 'in', 'not_in'] as const;
const matching = ['cont', 'not_cont', 'start', 'end'] as const;
const ordering = ['gt', 'gteq', 'lt', 'lteq', 'between'] as const;
const presence = ['present', 'blank'] as const;
const ages = ['within_last', 'older_than'] as const;

export const predicatesOf: Record<NameKind, readonly Predicate[]> = {
  id: [...equality, ...ordering],
  text: [...equality, ...matching, ...presence],
  status: equality,
  verdict: [...equality, ...presence],
  boolean: ['true', 'false', 'eq', 'not_eq'],
  time: [...ordering, ...ages, ...presence],
  json: [...equality, ...matching, ...ordering, ...presence, 'true', 'false', ...ages],
  list: equality,
  segment: equality,
  event: ['did', 'did_not'],
  engagement: ['did', 'did_not'],
  any: ['or'],
  all: ['and'],
};

/** Columns of contacts that filters can name. */
export const columnKinds = {
  id: 'id',
  first_name: 'text',
  last_name: 'text',
  email: 'text',
  phone: 'text',
  source: 'text',
  country_code: 'text',
  subscribed_email: 'boolean',
  subscribed_phone: 'boolean',
  verification_status: 'status',
  enrichment_status: 'status',
  email_verdict: 'verdict',
  email_opt_in_at: 'time',
  email_opt_out_at: 'time',
  phone_opt_in_at: 'time',
  phone_opt_out_at: 'time',
  last_interacted_at: 'time',
  created_at: 'time',
  updated_at: 'time',
} as const satisfies Record<string, NameKind>;
export type ColumnName = keyof typeof columnKinds;

/** Columns of contacts whose values are times. */
export const timeColumns = Object.entries(columnKinds).flatMap(([name, kind]) =>
  kind === 'time' ? [name] : [],
);

/** The values of columns that have a fixed set of them. */
export const statuses: Partial<Record<ColumnName, readonly string[]>> = {
  verification_status: ['verified', 'suppressed', 'unverified'],
  enrichment_status: ['enriched', 'not_enriched'],
  email_verdict: ['deliverable', 'undeliverable', 'risky', 'unknown'],
};

/** Names for mail to a contact, with their `contact_engagement.kind`. */
export const engagementKinds = { email_sent: 0, email_opened: 1, email_clicked: 2 } as const;
export type EngagementName = keyof typeof engagementKinds;

/** Conditions on the message of one step of a flow. */
export type StepEngagement = 'email_opened' | 'email_clicked';

export const periodUnits = ['minutes', 'hours', 'days', 'weeks', 'months', 'years'] as const;
export interface Period {
  count: number;
  unit: (typeof periodUnits)[number];
}

/**
 * What a condition reads: a column of the contact, a value in its `data`, or a value that only a flow run has, which
 * must be folded before SQL is written.
 */
export type Operand =
  { column: ColumnName } | { path: readonly string[] } | { of: RunValues; path: readonly string[] };

/**
 * Values of a flow run: those of the event that started it, of the event that arrived, or of the response to a webhook
 * step.
 */
export type RunValues = 'trigger' | 'received' | { step: number };

/** A value of a flow run. */
export type RunOperand = Extract<Operand, { of: RunValues }>;

/** How a filter names a step: by its id or, in a request, by its `ref`. */
export type StepName = number | string;

/** The name that a request may give to a step, for filters of the same request. */
export const STEP_REF = /^[a-z][a-z0-9_]{0,39}$/;

/** What the filters of a flow may name beyond those of a segment. */
export interface FlowNames {
  /** The types of the preceding steps, by id and `ref`; null: they were checked when the flow was saved. */
  steps: ReadonlyMap<StepName, string> | null;
  /** Whether the step receives an event, so that `received.<path>` has a value. */
  received: boolean;
  /** False: the filters are those of a trigger, which compare with no value of the run. */
  compares?: false;
}

export type Order = 'gt' | 'gteq' | 'lt' | 'lteq';
/** Bounds are part of a `between`. */
export type Comparison<T> = { order: Order; value: T } | { order: 'between'; low: T; high: T };

/** A test of one value. A value that is missing, or of another type, never passes. */
export type Test =
  | { type: 'text'; match: 'equal'; values: readonly string[] }
  | { type: 'text'; match: 'contains' | 'starts' | 'ends'; value: string }
  /** Addresses in the form in which they are compared; `pattern` is a regular expression for PostgreSQL and JavaScript. */
  | { type: 'address'; match: 'equal'; keys: readonly string[] }
  | { type: 'address'; match: 'contains' | 'starts' | 'ends'; parts: readonly string[] }
  | { type: 'address'; match: 'pattern'; pattern: string }
  | { type: 'number'; match: 'equal'; values: readonly number[] }
  | { type: 'number'; match: 'compare'; comparison: Comparison<number> }
  | { type: 'time'; match: 'compare'; comparison: Comparison<Date> }
  | { type: 'time'; match: 'within_last' | 'older_than'; period: Period }
  | { type: 'boolean'; value: boolean }
  | { type: 'present' }
  /** Of a value in JSON: it is an array, and one of its elements passes. */
  | { type: 'element'; test: ElementTest }
  /** It is this array. */
  | { type: 'array'; value: readonly unknown[] };

/** A test that a value equals one of others. */
export type ElementTest =
  | { type: 'text'; match: 'equal'; values: readonly string[] }
  | { type: 'number'; match: 'equal'; values: readonly number[] }
  | { type: 'boolean'; value: boolean };

/** What a contact did, or mail to it: any mail, or that of one campaign. */
export type Activity = { event: string } | { engagement: EngagementName; campaignId: number | null };

/** A parsed filter. Every condition is true or false for a contact, never unknown. */
export type Condition =
  | { type: 'all' | 'any'; parts: readonly Condition[] }
  | { type: 'not'; part: Condition }
  | { type: 'value'; operand: Operand; test: Test }
  /** Only in flows: the test compares with a value of the run, and is made when the value is known. */
  | { type: 'compared'; operand: Operand; predicate: Predicate; from: RunOperand }
  | { type: 'list'; ids: readonly number[] }
  | { type: 'segment'; ids: readonly number[] }
  | { type: 'did'; activity: Activity; atLeast: number; within: Period | null }
  /** Only in flows: what the contact did with the message of a step. */
  | { type: 'engaged'; kind: StepEngagement; step: number; within: Period | null };

const MILLISECONDS = { minutes: 60_000, hours: 3_600_000, days: 86_400_000, weeks: 604_800_000 };

/** Returns the time that is a period before another. Months and years are calendar months and years in UTC. */
export function before(time: Date, { count, unit }: Period): Date {
  if (unit !== 'months' && unit !== 'years') return new Date(time.getTime() - count * MILLISECONDS[unit]);
  const months = unit === 'years' ? 12 * count : count;
  const moved = new Date(time);
  moved.setUTCMonth(moved.getUTCMonth() - months);
  // 31 March minus one month would be 3 March: take the last day of February instead.
  if (moved.getUTCDate() !== time.getUTCDate()) moved.setUTCDate(0);
  return moved;
}
