// The builder of filters knows the API's names and predicates, and keeps what it cannot show.
import { describe, expect, it } from '@jest/globals';
import {
  COLUMNS,
  ENGAGEMENTS,
  kindOf,
  MAX_DEPTH,
  PERIOD_UNITS,
  PREDICATES,
  STATUSES,
  stemOf,
  type Filter,
} from '../../console/src/editors/filters/language.ts';
import {
  asType,
  isComplete,
  isShown,
  NEW_FILTER,
  withName,
  withPredicate,
} from '../../console/src/editors/filters/values.ts';
import * as language from '../../src/features/segments/language.ts';

const filter = (name: string, predicate: string, value?: unknown) => ({ name, predicate, value }) as Filter;
const days = (count: number | null) => ({ count, unit: 'days' });
const pro = filter('data.plan', 'eq', 'pro');

it('has the names, predicates and units of the API', () => {
  expect(PREDICATES).toEqual(language.predicatesOf);
  expect(COLUMNS).toEqual(language.columnKinds);
  expect(STATUSES).toEqual(language.statuses);
  expect(ENGAGEMENTS).toEqual(Object.keys(language.engagementKinds));
  expect([PERIOD_UNITS, MAX_DEPTH]).toEqual([language.periodUnits, language.MAX_DEPTH]);
});

it('gives names of flows a meaning only where filters may have them', () => {
  expect(kindOf('trigger.total', 'segment')).toBeNull();
  expect(kindOf('trigger.total', 'trigger')).toBe('json');
  expect(kindOf('step.3.status', 'trigger')).toBeNull();
  expect(kindOf('step.ask.body.vip', 'step')).toBe('json');
  expect(kindOf('step.3', 'step')).toBeNull();
  expect(kindOf('received.total', 'step')).toBeNull();
  expect(kindOf('received.total', 'received')).toBe('json');
  expect(kindOf('shoe_size', 'received')).toBeNull();
});

it('separates what is typed of a name from its beginning', () => {
  expect(['data.a.b', 'event.x', 'step.3.body.a', 'email'].map(stemOf)).toEqual([
    'data.',
    'event.',
    'step.3.',
    'email',
  ]);
});

describe('inputs show', () => {
  it.each([
    filter('email', 'in', ['a', 'b']),
    filter('data.age', 'eq', 31),
    filter('data.age', 'between', [18, null]),
    filter('data.age', 'gt', '2026-01-31T09:30:00+01:00'),
    filter('created_at', 'gteq', '2026-01-31'),
    filter('subscribed_email', 'true'),
    filter('subscribed_email', 'true', true),
    filter('email_verdict', 'not_in', ['risky']),
    filter('event.order_placed', 'did', { at_least: 2, within: days(90) }),
    filter('email_opened', 'did_not', null),
    filter('email_opened', 'did_not', { campaign_id: 42, within: days(90) }),
    filter('email_sent', 'did', { campaign_id: null }),
    filter('list', 'in', [7, 8]),
    NEW_FILTER,
  ])('%j', (one) => {
    expect(isShown(one, 'segment')).toBe(true);
  });

  it('the opens of a step in a flow', () => {
    expect(isShown(filter('email_opened', 'did', { step: 'hello', within: days(3) }), 'step')).toBe(true);
  });
});

describe('shown as JSON is', () => {
  it.each<[rule: string, one: unknown]>([
    ['an unknown name', filter('shoe_size', 'eq', 43)],
    ['an unknown predicate', filter('email', 'sounds_like', 'a')],
    ['an unknown field', { ...pro, note: 'from the old shop' }],
    ['an array of different types', filter('data.a', 'in', [1, 'b'])],
    ['an object as a value', filter('data.a', 'eq', { b: 1 })],
    ['a time without its zone', filter('created_at', 'gt', 'yesterday')],
    ['an unknown field of a activity', filter('event.x', 'did', { at_least: 2, on: 'mondays' })],
    ['a campaign of an event', filter('event.x', 'did', { campaign_id: 42 })],
    ['a step and a campaign', filter('email_opened', 'did', { campaign_id: 42, step: 3 })],
    ['an unknown status', filter('email_verdict', 'eq', 'splendid')],
    ['a group of something else', filter('any', 'or', ['a'])],
  ])('%s', (_, one) => {
    expect(isShown(one as Filter, 'segment')).toBe(false);
  });

  it('left to the API to judge', () => {
    expect(isComplete(filter('shoe_size', 'eq'), 'segment')).toBe(true);
  });
});

it.each<[Filter, boolean]>([
  [NEW_FILTER, false],
  [filter('data.', 'eq', 'pro'), false],
  [filter('data.plan', 'eq', null), false],
  [filter('data.plan', 'present', null), true],
  [filter('data.on', 'eq', false), true],
  [filter('email', 'eq', ''), true],
  [filter('list', 'in', []), false],
  [filter('data.age', 'between', [18, null]), false],
  [filter('created_at', 'within_last', days(null)), false],
  [filter('event.x', 'did', {}), true],
  [filter('email_opened', 'did', { campaign_id: 42 }), true],
  [filter('email_opened', 'did', { campaign_id: null }), false],
  [filter('event.x', 'did', { within: days(null) }), false],
  [filter('any', 'or', []), false],
  [filter('any', 'or', [pro, NEW_FILTER]), false],
  [filter('any', 'or', [pro, filter('all', 'and', [pro])]), true],
])('%j is complete: %j', (one, expected) => {
  expect(isComplete(one, 'segment')).toBe(expected);
});

it.each<[predicate: Filter['predicate'], value: unknown]>([
  ['not_eq', 31],
  ['in', [31]],
  ['between', [31, null]],
  ['gt', 31],
  ['cont', null],
  ['present', null],
  ['within_last', { count: 30, unit: 'days' }],
])('keeps of a number what %s can use', (predicate, value) => {
  const next = withPredicate(filter('data.age', 'eq', 31), 'json', predicate);
  expect(next).toEqual({ name: 'data.age', predicate, value });
});

it('keeps predicate and value between names of the same kind', () => {
  expect(withName(pro, 'data.tier', 'segment')).toEqual({ ...pro, name: 'data.tier' });
  const verified = filter('verification_status', 'eq', 'verified');
  expect(withName(verified, 'enrichment_status', 'segment').value).toBeNull();
  expect(withName(pro, 'created_at', 'segment')).toEqual(
    filter('created_at', 'within_last', { count: 30, unit: 'days' }),
  );
  expect(withName(filter('list', 'in', [7]), 'segment', 'segment').value).toEqual([]);
});

it.each<[unknown, Parameters<typeof asType>[1], unknown]>([
  ['31', 'number', 31],
  ['abc', 'number', null],
  ['', 'number', null],
  [31, 'text', '31'],
  ['2026-01-31', 'time', '2026-01-31T00:00:00Z'],
  ['2026-01-31T09:30:00Z', 'date', '2026-01-31'],
  ['pro', 'boolean', null],
])('reads %j as a %s: %j', (value, type, expected) => {
  expect(asType(value, type)).toBe(expected);
});
