/** The values of filters: which ones a predicate takes, and how they change when the name or the predicate changes. */
import { isObject } from '../../ui/json-text.ts';
import {
  kindOf,
  PERIOD_UNITS,
  PREDICATES,
  STATUSES,
  type Filter,
  type NameKind,
  type Predicate,
  type Scope,
} from './language.ts';

/** The type of one value. A `date` is a day, a `time` a moment; both are texts in the filter. */
export type ValueType = 'text' | 'number' | 'boolean' | 'date' | 'time' | 'choice' | 'id';

export interface ValueShape {
  form: 'none' | 'one' | 'two' | 'many' | 'period' | 'activity';
  /** The types that each value may have; for an activity, that of the campaign whose mail it is about. */
  types: readonly ValueType[];
}

const NOTHING: ValueShape = { form: 'none', types: [] };

const equalTypes: Partial<Record<NameKind, readonly ValueType[]>> = {
  id: ['number'],
  status: ['choice'],
  verdict: ['choice'],
  boolean: ['boolean'],
  json: ['text', 'number', 'boolean'],
  list: ['id'],
  segment: ['id'],
};
const orderedTypes: Partial<Record<NameKind, readonly ValueType[]>> = {
  time: ['date', 'time'],
  json: ['number', 'date', 'time'],
};

export function shapeOf(kind: NameKind, predicate: Predicate): ValueShape {
  const equal = equalTypes[kind] ?? ['text'];
  const ordered = orderedTypes[kind] ?? ['number'];
  switch (predicate) {
    case 'eq':
    case 'not_eq':
      return { form: 'one', types: equal };
    case 'in':
    case 'not_in':
      return { form: 'many', types: equal };
    case 'cont':
    case 'not_cont':
    case 'start':
    case 'end':
      return { form: 'one', types: ['text'] };
    case 'gt':
    case 'gteq':
    case 'lt':
    case 'lteq':
      return { form: 'one', types: ordered };
    case 'between':
      return { form: 'two', types: ordered };
    case 'within_last':
    case 'older_than':
      return { form: 'period', types: [] };
    case 'did':
    case 'did_not':
      return { form: 'activity', types: kind === 'engagement' ? ['id'] : [] };
    default:
      return NOTHING;
  }
}

const DAY = /^\d{4}-\d\d-\d\d$/;

/** A value that is not given yet. */
const isMissing = (value: unknown): value is null | undefined => value === null || value === undefined;

/** Returns the type of a value; null if it has none of these. */
export function typeOf(value: unknown, types: readonly ValueType[]): ValueType | null {
  const fits = (type: ValueType) => {
    if (type === 'number') return typeof value === 'number' && Number.isFinite(value);
    if (type === 'id') return Number.isInteger(value);
    if (type === 'boolean') return typeof value === 'boolean';
    if (typeof value !== 'string') return false;
    if (type === 'date') return DAY.test(value);
    return type === 'time' ? value.includes('T') && !Number.isNaN(Date.parse(value)) : true;
  };
  return types.find(fits) ?? null;
}

/** Returns the type of several values; null if they have different ones. */
export function typeOfAll(values: readonly unknown[], types: readonly ValueType[]): ValueType | null {
  const given = values.filter((value) => !isMissing(value));
  return types.find((type) => given.length > 0 && given.every((value) => typeOf(value, [type]))) ?? null;
}

const hasOnly = (value: object, names: readonly string[]) =>
  Object.keys(value).every((name) => names.includes(name));

function isPeriod(value: unknown): boolean {
  if (!isObject(value) || !hasOnly(value, ['count', 'unit'])) return false;
  const { count, unit } = value;
  return (isMissing(count) || Number.isInteger(count)) && PERIOD_UNITS.some((each) => each === unit);
}

function isActivity(value: unknown, types: readonly ValueType[]): boolean {
  if (isMissing(value)) return true;
  if (!isObject(value) || !(isMissing(value.within) || isPeriod(value.within))) return false;
  if (hasOnly(value, ['at_least', 'within']))
    return isMissing(value.at_least) || Number.isInteger(value.at_least);
  if ('campaign_id' in value) {
    const { campaign_id: id } = value;
    const isId = isMissing(id) ? types.length > 0 : typeOf(id, types) !== null;
    return isId && hasOnly(value, ['campaign_id', 'within']);
  }
  const isStep = typeof value.step === 'string' || Number.isInteger(value.step);
  return isStep && hasOnly(value, ['step', 'within']);
}

function fits(value: unknown, { form, types }: ValueShape): boolean {
  const areOfOneType = (values: readonly unknown[]) =>
    values.every(isMissing) || typeOfAll(values, types) !== null;
  switch (form) {
    case 'none':
      return isMissing(value) || value === true;
    case 'one':
      return isMissing(value) || typeOf(value, types) !== null;
    case 'two':
      return isMissing(value) || (Array.isArray(value) && value.length === 2 && areOfOneType(value));
    case 'many':
      return isMissing(value) || (Array.isArray(value) && !value.some(isMissing) && areOfOneType(value));
    case 'period':
      return isMissing(value) || isPeriod(value);
    case 'activity':
      return isActivity(value, types);
  }
}

/** Returns the filters of a group; null if the filter is none, or not one that can be shown as a group. */
export function groupOf({ name, predicate, value }: Filter): readonly Filter[] | null {
  const isGroup = (name === 'any' && predicate === 'or') || (name === 'all' && predicate === 'and');
  return isGroup && Array.isArray(value) && value.every(isObject) ? (value as unknown as Filter[]) : null;
}

/** A filter whose name is not chosen yet. */
export const NEW_FILTER: Filter = { name: '', predicate: 'eq', value: null };

/** Whether inputs can show all of a filter; otherwise it is shown as JSON. Filters inside groups are asked one by one. */
export function isShown(filter: Filter, scope: Scope): boolean {
  if (!hasOnly(filter, ['name', 'predicate', 'value'])) return false;
  if (filter.name === '') return true;
  if (typeof filter.name !== 'string') return false;
  const kind = kindOf(filter.name, scope);
  if (!kind || !PREDICATES[kind].includes(filter.predicate)) return false;
  if (kind === 'any' || kind === 'all') return groupOf(filter) !== null;
  const { value } = filter;
  const shape = shapeOf(kind, filter.predicate);
  if (!fits(value, shape)) return false;
  const values = Array.isArray(value) ? value : [value];
  const known = STATUSES[filter.name];
  return !known || values.every((each) => isMissing(each) || known.includes(String(each)));
}

function isValueComplete(value: unknown, { form }: ValueShape): boolean {
  switch (form) {
    case 'none':
      return true;
    case 'many':
    case 'two':
      return Array.isArray(value) && value.length > 0 && !value.some(isMissing);
    case 'period':
      return isObject(value) && !isMissing(value.count);
    case 'activity': {
      const { within, campaign_id: campaign = undefined } = isObject(value) ? value : {};
      if (campaign === null) return false;
      return isMissing(within) || (isObject(within) && !isMissing(within.count));
    }
    default:
      return !isMissing(value);
  }
}

/** Whether nothing is left to fill in. Filters that are shown as JSON count as complete: the API judges them. */
export function isComplete(filter: Filter, scope: Scope): boolean {
  if (!isShown(filter, scope)) return true;
  const kind = kindOf(filter.name, scope);
  if (!kind || filter.name.endsWith('.')) return false;
  const members = groupOf(filter);
  if (members) return members.length > 0 && members.every((member) => isComplete(member, scope));
  return isValueComplete(filter.value, shapeOf(kind, filter.predicate));
}

export const areComplete = (filters: readonly Filter[], scope: Scope): boolean =>
  filters.every((filter) => isComplete(filter, scope));

const BLANK: Readonly<Record<ValueShape['form'], unknown>> = {
  none: null,
  one: null,
  two: [null, null],
  many: [],
  period: { count: 30, unit: 'days' },
  activity: {},
};

/** Returns as much of a value as another predicate can use. */
function carried(value: unknown, shape: ValueShape): unknown {
  const first: unknown = Array.isArray(value) ? value[0] : value;
  const candidates: Record<ValueShape['form'], unknown> = {
    none: null,
    one: first,
    two: [first, null],
    many: Array.isArray(value) ? value : [first],
    period: value,
    activity: value,
  };
  const next = candidates[shape.form];
  const isUsable = !isMissing(shape.form === 'two' ? first : next) && fits(next, shape);
  return isUsable ? next : BLANK[shape.form];
}

export function withPredicate(filter: Filter, kind: NameKind, predicate: Predicate): Filter {
  return { ...filter, predicate, value: carried(filter.value, shapeOf(kind, predicate)) };
}

/** What people mean most often. */
const USUAL: Partial<Record<NameKind, Predicate>> = {
  boolean: 'true',
  time: 'within_last',
  list: 'in',
  segment: 'in',
};

/** Gives a filter another name: the predicate stays if the name takes it, and so does the value. */
export function withName(filter: Filter, name: string, scope: Scope): Filter {
  const [before, kind] = [kindOf(filter.name, scope), kindOf(name, scope)];
  if (!kind) return { ...filter, name };
  if (before === kind && kind !== 'status' && kind !== 'verdict' && kind !== 'list' && kind !== 'segment')
    return { ...filter, name };
  const predicate = USUAL[kind] ?? PREDICATES[kind][0] ?? 'eq';
  return { name, predicate, value: BLANK[shapeOf(kind, predicate).form] };
}

/** Returns a value as it is typed; empty if it is missing. */
export function textOf(value: unknown): string {
  if (isMissing(value)) return '';
  return typeof value === 'string' ? value : JSON.stringify(value);
}

/** Returns a value as another type; null if it has no meaning there. */
export function asType(value: unknown, type: ValueType): unknown {
  if (isMissing(value) || typeOf(value, [type])) return value ?? null;
  if (type === 'text') return textOf(value);
  if (type === 'number') {
    const number = typeof value === 'string' && value.trim() !== '' ? Number(value) : Number.NaN;
    return Number.isFinite(number) ? number : null;
  }
  if (type === 'date') return typeOf(value, ['time']) ? textOf(value).slice(0, 'YYYY-MM-DD'.length) : null;
  if (type === 'time') return typeOf(value, ['date']) ? `${textOf(value)}T00:00:00Z` : null;
  return null;
}
