/** Filters of segments in words. */
import { type AudienceNames, labelOf } from '../api/choices.ts';
import type { Schemas } from '../api/client.ts';
import { isObject } from './json-text.ts';

type Filter = Schemas['Filter'];
type Predicate = Filter['predicate'];

const IS: Partial<Record<Predicate, string>> = {
  eq: 'is',
  not_eq: 'is not',
  in: 'is one of',
  not_in: 'is none of',
  cont: 'contains',
  not_cont: 'does not contain',
  start: 'starts with',
  end: 'ends with',
  gt: 'is greater than',
  gteq: 'is at least',
  lt: 'is less than',
  lteq: 'is at most',
  between: 'is between',
  present: 'is present',
  blank: 'is blank',
  true: 'is true',
  false: 'is false',
  within_last: 'is within the last',
  older_than: 'is longer ago than',
};

const TIMES: Partial<Record<Predicate, string>> = {
  gt: 'is after',
  gteq: 'is at or after',
  lt: 'is before',
  lteq: 'is at or before',
};

const NAMES: Record<string, string> = {
  country_code: 'country',
  created_at: 'creation',
  updated_at: 'last change',
  last_interacted_at: 'last interaction',
  email_opt_in_at: 'email opt-in',
  email_opt_out_at: 'email opt-out',
  phone_opt_in_at: 'phone opt-in',
  phone_opt_out_at: 'phone opt-out',
};

/** What a contact did, or lists and segments that it is in. */
const ACTIVITY: Partial<Record<Predicate, string>> = { did: 'did', did_not: 'did not' };
const IN: Partial<Record<Predicate, string>> = {
  eq: 'is in',
  not_eq: 'is not in',
  in: 'is in one of',
  not_in: 'is in none of',
};

/** Returns a predicate in words. @param isTime whether values are times */
export function predicateText(name: string, predicate: Predicate, isTime: boolean): string {
  const special = name === 'list' || name === 'segment' ? IN : isTime ? TIMES : ACTIVITY;
  return special[predicate] ?? IS[predicate] ?? ACTIVITY[predicate] ?? predicate;
}

export function nameText(name: string): string {
  if (name.startsWith('event.')) return `event ${name.slice('event.'.length)}`;
  if (name.startsWith('data.')) return name;
  return NAMES[name] ?? name.replaceAll('_', ' ');
}

function periodText(value: unknown): string {
  if (!isObject(value)) return valueText(value);
  const unit = String(value.unit);
  return `${String(value.count)} ${value.count === 1 ? unit.replace(/s$/, '') : unit}`;
}

function valueText(value: unknown): string {
  if (Array.isArray(value)) return value.map(valueText).join(', ');
  if (isObject(value)) return 'count' in value ? periodText(value) : JSON.stringify(value);
  return typeof value === 'string' ? `“${value}”` : String(value);
}

/** What a contact did, and did not do, with the mail of a campaign. */
const CAMPAIGN_ACTIVITY: Record<string, readonly [did: string, didNot: string]> = {
  email_sent: ['was sent', 'was not sent'],
  email_opened: ['has opened', 'has not opened'],
  email_clicked: ['has clicked in', 'has not clicked in'],
};

const periodAfter = (within: unknown) =>
  within === undefined || within === null ? '' : ` within the last ${periodText(within)}`;

/** @returns null if the filter names no campaign */
function campaignText({ name, predicate, value }: Filter, { campaigns }: AudienceNames): string | null {
  const activity = CAMPAIGN_ACTIVITY[name]?.[predicate === 'did' ? 0 : 1];
  if (activity === undefined || !isObject(value) || !('campaign_id' in value)) return null;
  const { campaign_id: id, within } = value;
  return `${activity} the campaign ${labelOf(campaigns, id)}${periodAfter(within)}`;
}

/** What a contact did or did not do, and how often: once if nothing is said. */
function activityText({ name, predicate, value }: Filter): string {
  const { at_least: given, within } = isObject(value) ? value : {};
  const atLeast = typeof given === 'number' ? given : 1;
  const often =
    predicate === 'did'
      ? `at least ${atLeast === 1 ? 'once' : `${atLeast} times`}`
      : atLeast === 1
        ? 'never'
        : `fewer than ${atLeast} times`;
  return `${nameText(name)}: ${often}${periodAfter(within)}`;
}

function membershipText({ name, predicate, value }: Filter, names: AudienceNames): string {
  const choices = name === 'list' ? names.lists : names.segments;
  const ids = Array.isArray(value) ? value : [value];
  const labels = ids.map((id) => labelOf(choices, id));
  const isNegative = predicate === 'not_eq' || predicate === 'not_in';
  const which =
    labels.length === 1 ? `the ${name}` : isNegative ? `any of the ${name}s` : `one of the ${name}s`;
  return `is ${isNegative ? 'not ' : ''}in ${which} ${labels.join(', ')}`;
}

/** Returns the filters of a group; null if the filter is not a group. */
export const membersOf = ({ name, value }: Filter): Filter[] | null =>
  (name === 'any' || name === 'all') && Array.isArray(value) ? (value as Filter[]) : null;

/** Returns one filter in words, groups with their members in brackets. */
export function filterText(filter: Filter, names: AudienceNames): string {
  const { name, predicate, value } = filter;
  const members = membersOf(filter);
  if (members) {
    const word = name === 'any' ? ' or ' : ' and ';
    return `(${members.map((member) => filterText(member, names)).join(word)})`;
  }
  if (predicate === 'did' || predicate === 'did_not')
    return campaignText(filter, names) ?? activityText(filter);
  if (name === 'list' || name === 'segment') return membershipText(filter, names);
  const verb = predicateText(name, predicate, name.endsWith('_at'));
  const isPlain = ['present', 'blank', 'true', 'false'].includes(predicate);
  if (isPlain) return `${nameText(name)} ${verb}`;
  if (predicate === 'between' && Array.isArray(value))
    return `${nameText(name)} ${verb} ${value.map(valueText).join(' and ')}`;
  return `${nameText(name)} ${verb} ${valueText(value)}`;
}

/** Returns filters that must all match, in one line. */
export const filtersText = (filters: readonly Filter[], names: AudienceNames): string =>
  filters.length === 0 ? 'all contacts' : filters.map((filter) => filterText(filter, names)).join(' and ');
