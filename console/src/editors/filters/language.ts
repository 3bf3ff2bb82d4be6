/** The names and predicates of filters, as docs/segments.md describes them. A test compares them with the API's. */
import type { Schemas } from '../../api/client.ts';

export type Filter = Schemas['Filter'];
export type Predicate = Filter['predicate'];

/** What a name refers to, which decides the predicates that it takes. */
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

const equality = ['eq', 'not_eq', 'in', 'not_in'] as const;
const matching = ['cont', 'not_cont', 'start', 'end'] as const;
const ordering = ['gt', 'gteq', 'lt', 'lteq', 'between'] as const;
const presence = ['present', 'blank'] as const;
const ages = ['within_last', 'older_than'] as const;
const activity = ['did', 'did_not'] as const;

export const PREDICATES: Readonly<Record<NameKind, readonly Predicate[]>> = {
  id: [...equality, ...ordering],
  text: [...equality, ...matching, ...presence],
  status: equality,
  verdict: [...equality, ...presence],
  boolean: ['true', 'false', 'eq', 'not_eq'],
  time: [...ordering, ...ages, ...presence],
  json: [...equality, ...matching, ...ordering, ...presence, 'true', 'false', ...ages],
  list: equality,
  segment: equality,
  event: activity,
  engagement: activity,
  any: ['or'],
  all: ['and'],
};

/** Whether a filter is about countries: people know them by their names, the API by their codes. */
export const isCountry = (name: string): boolean => name === 'country_code';

export const COLUMNS: Readonly<Record<string, NameKind>> = {
  first_name: 'text',
  last_name: 'text',
  email: 'text',
  phone: 'text',
  country_code: 'text',
  source: 'text',
  id: 'id',
  subscribed_email: 'boolean',
  subscribed_phone: 'boolean',
  verification_status: 'status',
  enrichment_status: 'status',
  email_verdict: 'verdict',
  created_at: 'time',
  updated_at: 'time',
  last_interacted_at: 'time',
  email_opt_in_at: 'time',
  email_opt_out_at: 'time',
  phone_opt_in_at: 'time',
  phone_opt_out_at: 'time',
};

/** The values of columns that have a fixed set of them. */
export const STATUSES: Readonly<Record<string, readonly string[]>> = {
  verification_status: ['verified', 'suppressed', 'unverified'],
  enrichment_status: ['enriched', 'not_enriched'],
  email_verdict: ['deliverable', 'undeliverable', 'risky', 'unknown'],
};

export const ENGAGEMENTS = ['email_sent', 'email_opened', 'email_clicked'] as const;
export const PERIOD_UNITS = ['minutes', 'hours', 'days', 'weeks', 'months', 'years'] as const;
/** Levels of groups. */
export const MAX_DEPTH = 5;

/** What filters belong to, which decides the names that they have besides those of a segment. */
export type Scope = 'segment' | 'trigger' | 'step' | 'received';

const PREFIXES: Readonly<Record<Scope, readonly string[]>> = {
  segment: [],
  trigger: ['trigger.'],
  step: ['trigger.', 'step.'],
  received: ['trigger.', 'step.', 'received.'],
};
/** Its first group is the id or the `ref` of a step. */
const STEP_NAME = /^step[.]([1-9][0-9]{0,8}|[a-z][a-z0-9_]{0,39})[.]/;

/** Returns null for a name that filters in this place do not have, or that none has. */
export function kindOf(name: string, scope: Scope): NameKind | null {
  if (Object.hasOwn(COLUMNS, name)) return COLUMNS[name] ?? null;
  if (name === 'list' || name === 'segment' || name === 'any' || name === 'all') return name;
  if (ENGAGEMENTS.some((each) => each === name)) return 'engagement';
  if (name.startsWith('event.')) return 'event';
  if (name.startsWith('data.')) return 'json';
  if (name.startsWith('step.') && !STEP_NAME.test(name)) return null;
  return PREFIXES[scope].some((prefix) => name.startsWith(prefix)) ? 'json' : null;
}

/** Returns the part of a name before what people type: `data.`, `event.`, `step.3.`; the whole name if it is fixed. */
export function stemOf(name: string): string {
  const step = STEP_NAME.exec(name)?.[0];
  if (step !== undefined) return step;
  const stem = name.slice(0, name.indexOf('.') + 1);
  return stem === '' ? name : stem;
}

/** Whether something must be typed after the stem. */
export const isOpen = (stem: string): boolean => stem.endsWith('.');
