// The step parser accepts every valid step, and rejects an invalid one with its path.
import { describe, expect, it } from '@jest/globals';
import { readSteps } from '../../../src/features/flows/read-steps.ts';

const wait = { type: 'wait', duration: 60 };
const filter = { name: 'data.plan', predicate: 'eq', value: 'pro' };
const hook = { type: 'webhook', url: 'https://example.com/hook' };

/** Levels of conditions inside each other. */
const nested = (levels: number): object =>
  levels === 1 ? wait : { type: 'condition', filters: [filter], yes: [nested(levels - 1)] };

const many = (count: number) => Array.from({ length: count }, () => wait);

describe('reads', () => {
  it.each([
    ['an email', { type: 'email', subject: 'Hi', body: 'Text', preheader: null, from_email: 'a@b.test' }],
    ['a copied email', { type: 'email', template_id: 12 }],
    ['an SMS', { type: 'sms', body: 'Text' }],
    ['the shortest wait', { type: 'wait', duration: 1 }],
    ['the longest wait', { type: 'wait', duration: 31_622_400 }],
    ['a wait until a time', { type: 'wait', until: { time: '09:00' } }],
    [
      'a wait until a weekday',
      { type: 'wait', until: { time: '23:59', weekdays: [1, 7], timezone: 'contact' } },
    ],
    ['a wait in a zone', { type: 'wait', until: { time: '00:00', timezone: 'Europe/Berlin' } }],
    [
      'a wait until a date',
      { type: 'wait', until: { field: 'data.trial.ends_at', offset_seconds: -86_400 } },
    ],
    ['a wait until a column', { type: 'wait', until: { field: 'created_at', if_past: 'exit' } }],
    ['a condition without branches', { type: 'condition', filters: [filter] }],
    ['a condition on the trigger', { type: 'condition', filters: [{ ...filter, name: 'trigger.plan' }] }],
    [
      'a wait for an event',
      {
        type: 'wait_for_event',
        event_name: 'order_placed',
        duration: 60,
        include_since: 'entry',
        yes: [wait],
      },
    ],
    [
      'a wait for an event with filters',
      {
        type: 'wait_for_event',
        event_name: 'order_placed',
        duration: 60,
        filters: [{ name: 'received.total', predicate: 'gt', value: 5 }],
      },
    ],
    [
      'a wait for mail of the contact',
      {
        type: 'wait_for_event',
        event_name: 'email_received',
        duration: 60,
        filters: [{ name: 'received.auto_submitted', predicate: 'eq', value: false }],
      },
    ],
    ['an event', { type: 'event', event_name: 'onboarded', forward_event_data: true, data: { a: 1 } }],
    ['an update', { type: 'update_contact', data: { stage: 'active', old: null } }],
    ['a list', { type: 'add_to_list', list_id: 7 }],
    ['the other list step', { type: 'remove_from_list', list_id: 7 }],
    [
      'a webhook with headers',
      { ...hook, method: 'PUT', headers: { Authorization: 'Bearer x' }, body: { a: [1] } },
    ],
    ['a split', { type: 'split', branches: [{ weight: 100, steps: [wait] }, { weight: 0 }] }],
    ['an exit', { type: 'exit', reason: 'converted' }],
    ['an exit without a reason', { type: 'exit' }],
  ])('%s', (_name, step) => {
    const { steps, errors } = readSteps([step]);
    expect(errors).toEqual({});
    expect(steps).toHaveLength(1);
    expect(steps[0]).toMatchObject(
      Object.fromEntries(Object.entries(step).filter(([name]) => name !== 'branches')),
    );
  });

  it('10 levels and 200 steps', () => {
    expect(readSteps([nested(10)]).errors).toEqual({});
    expect(readSteps(many(200)).errors).toEqual({});
  });
});

describe('rejects', () => {
  const email = { type: 'email', subject: 'Hi', body: 'Text' };
  const event = { type: 'wait_for_event', event_name: 'order_placed', duration: 60 };
  const split = (...weights: number[]) => ({
    type: 'split',
    branches: weights.map((weight) => ({ weight })),
  });
  const until = (value: object) => ({ type: 'wait', until: value });

  it.each<[name: string, steps: unknown, path: string, message: string]>([
    ['what is no array', {}, 'steps', 'must be an array of steps'],
    ['null', null, 'steps', 'must be an array of steps'],
    ['a step that is no object', ['wait'], 'steps[0]', 'must be an object'],
    ['a step without a type', [wait, {}], 'steps[1].type', 'is required'],
    ['a type that is nearly one', [{ type: 'emial' }], 'steps[0].type', 'did you mean email?'],
    ['a type that is none', [{ type: 'fax' }], 'steps[0].type', 'must be one of email, sms,'],
    ['an unknown field', [{ ...wait, durations: 3 }], 'steps[0].durations', 'did you mean duration?'],
    ['a field of another type', [{ ...email, duration: 3 }], 'steps[0].duration', 'is not a known field'],
    ['an SMS with a subject', [{ type: 'sms', subject: 'Hi' }], 'steps[0].subject', 'is not a known field'],
    ['a subject that is a number', [{ ...email, subject: 4 }], 'steps[0].subject', 'must be a string'],
    ['a subject with a line break', [{ ...email, subject: 'a\nb' }], 'steps[0].subject', 'line breaks'],
    ['a sender that is no address', [{ ...email, from_email: 'x' }], 'steps[0].from_email', ''],
    [
      'a template that is no id',
      [{ type: 'email', template_id: 'x' }],
      'steps[0].template_id',
      'must be a number',
    ],
    ['a wait of nothing', [{ type: 'wait' }], 'steps[0].duration', 'is required, or until'],
    ['a wait until null', [{ ...wait, until: null }], 'steps[0].until', 'must be an object'],
    ['a wait for 0 seconds', [{ type: 'wait', duration: 0 }], 'steps[0].duration', 'must be at least 1'],
    ['a wait of 367 days', [{ type: 'wait', duration: 31_622_401 }], 'steps[0].duration', 'at most 31622400'],
    ['half a second', [{ type: 'wait', duration: 1.5 }], 'steps[0].duration', 'must be an integer'],
    ['two waits in one', [{ ...wait, until: { time: '09:00' } }], 'steps[0].duration', 'until is given'],
    ['a time without minutes', [until({ time: '9' })], 'steps[0].until.time', 'such as 09:00'],
    ['25 o’clock', [until({ time: '25:00' })], 'steps[0].until.time', 'such as 09:00'],
    ['weekday 8', [until({ time: '09:00', weekdays: [1, 8] })], 'steps[0].until.weekdays[1]', 'at most 7'],
    ['no weekday', [until({ time: '09:00', weekdays: [] })], 'steps[0].until.weekdays', 'must not be empty'],
    [
      'a weekday twice',
      [until({ time: '09:00', weekdays: [1, 1] })],
      'steps[0].until.weekdays',
      'each day once',
    ],
    [
      'a zone that is none',
      [until({ time: '09:00', timezone: 'Mars/X' })],
      'steps[0].until.timezone',
      'IANA',
    ],
    [
      'an until with an unknown field',
      [until({ time: '09:00', zone: 'UTC' })],
      'steps[0].until.zone',
      'known',
    ],
    [
      'a column that is no time',
      [until({ field: 'first_name' })],
      'steps[0].until.field',
      'must be data.<path>',
    ],
    ['a path without a name', [until({ field: 'data..x' })], 'steps[0].until.field', 'must be data.<path>'],
    [
      'an offset of years',
      [until({ field: 'data.x', offset_seconds: 1e9 })],
      'steps[0].until.offset_seconds',
      'at most',
    ],
    [
      'Liquid in what a contact gets',
      [{ type: 'update_contact', data: { a: 1, b: { c: ['x', '{{ trigger.x }}'] } } }],
      'steps[0].data.b.c[1]',
      'must not contain Liquid: it is not rendered in update_contact steps',
    ],
    [
      'Liquid in a key of the contact',
      [{ type: 'update_contact', data: { '{% x %}': 1 } }],
      'steps[0].data.{% x %}',
      'must not contain Liquid',
    ],
    [
      'Liquid in an event',
      [{ type: 'event', event_name: 'x', data: { total: '{{ trigger.total }}' } }],
      'steps[0].data.total',
      'must not contain Liquid: it is not rendered in event steps',
    ],
    [
      'Liquid in a webhook',
      [{ ...hook, method: 'POST', body: { a: ['{{ contact.email }}'] } }],
      'steps[0].body.a[0]',
      'must not contain Liquid: it is not rendered in webhook steps',
    ],
    [
      'Liquid in a filter',
      [{ type: 'condition', filters: [{ ...filter, value: '{{ trigger.plan }}' }] }],
      'steps[0].filters[0].value',
      'must not contain Liquid: it is not rendered in filters; steps compare with a value of the run by {"from"',
    ],
    [
      'Liquid in a group of filters',
      [
        {
          type: 'condition',
          filters: [{ name: 'any', predicate: 'or', value: [{ ...filter, value: '{{x}}' }] }],
        },
      ],
      'steps[0].filters[0].value[0].value',
      'must not contain Liquid',
    ],
    [
      'Liquid in the name of the sender',
      [{ type: 'email', subject: 'Hi', body: 'Text', from_name: '{{ contact.owner }} of Acme' }],
      'steps[0].from_name',
      'must not contain Liquid: it is not rendered in sender names',
    ],
    [
      'Liquid in an address',
      [{ type: 'email', subject: 'Hi', body: 'Text', reply_to: '{{owner}}@acme.com' }],
      'steps[0].reply_to',
      'must not contain Liquid: it is not rendered in addresses',
    ],
    ['a condition without filters', [{ type: 'condition' }], 'steps[0].filters', 'is required'],
    [
      'a condition with no filter',
      [{ type: 'condition', filters: [] }],
      'steps[0].filters',
      'must not be empty',
    ],
    [
      'a filter with an unknown name',
      [{ type: 'condition', filters: [{ ...filter, name: 'emial' }] }],
      'steps[0].filters[0].name',
      'did you mean email?',
    ],
    [
      'a filter with a wrong value inside a group',
      [
        {
          type: 'condition',
          filters: [{ name: 'any', predicate: 'or', value: [{ ...filter, name: 'list' }] }],
        },
      ],
      'steps[0].filters[0].value[0].value',
      'must be an integer',
    ],
    [
      'a received event where none arrives',
      [{ type: 'condition', filters: [{ ...filter, name: 'received.x' }] }],
      'steps[0].filters[0].name',
      'wait_for_event',
    ],
    ['a branch that is no array', [{ ...event, yes: {} }], 'steps[0].yes', 'must be an array of steps'],
    [
      'a wait inside two branches',
      [wait, wait, { ...event, yes: [{ type: 'wait', duration: '1' }] }],
      'steps[2].yes[0].duration',
      'must be a number',
    ],
    [
      'a wait inside a split',
      [{ type: 'split', branches: [{ weight: 50 }, { weight: 50, steps: [wait, { type: 'wait' }] }] }],
      'steps[0].branches[1].steps[1].duration',
      'is required',
    ],
    [
      'an event that only Carillon tracks',
      [{ type: 'event', event_name: 'email_received' }],
      'steps[0].event_name',
      'is reserved',
    ],
    [
      'an event name in capitals',
      [{ ...event, event_name: 'Order' }],
      'steps[0].event_name',
      'must have 1 to 64 lower-case letters, digits and underscores',
    ],
    [
      'a wait for an event without end',
      [{ type: 'wait_for_event', event_name: 'x' }],
      'steps[0].duration',
      'required',
    ],
    [
      'a start of no kind',
      [{ ...event, include_since: 'ever' }],
      'steps[0].include_since',
      'must be "entry"',
    ],
    [
      'a start at a step that comes later',
      [
        { ...event, include_since: { step: 2 } },
        { ...wait, id: 2 },
      ],
      'steps[0].include_since.step',
      'does not come before',
    ],
    [
      'data that is no object',
      [{ type: 'event', event_name: 'x', data: [] }],
      'steps[0].data',
      'must be an object',
    ],
    [
      'more than 32 KB of data',
      [{ type: 'event', event_name: 'x', data: { a: 'x'.repeat(33_000) } }],
      'steps[0].data',
      '32 KB',
    ],
    ['an update of nothing', [{ type: 'update_contact', data: {} }], 'steps[0].data', 'must not be empty'],
    ['a list that is no id', [{ type: 'add_to_list', list_id: 0 }], 'steps[0].list_id', 'at least 1'],
    ['a webhook without a URL', [{ type: 'webhook' }], 'steps[0].url', 'is required'],
    ['a webhook over HTTP', [{ ...hook, url: 'http://example.com' }], 'steps[0].url', 'https://'],
    ['a URL with a password', [{ ...hook, url: 'https://a:b@example.com' }], 'steps[0].url', 'password'],
    ['what is no URL', [{ ...hook, url: 'example' }], 'steps[0].url', 'is not a valid URL'],
    [
      'a URL with Liquid',
      [{ ...hook, url: 'https://example.com/{{ contact.id }}' }],
      'steps[0].url',
      'Liquid',
    ],
    ['another method', [{ ...hook, method: 'HEAD' }], 'steps[0].method', 'must be one of GET, POST'],
    ['a header with a space', [{ ...hook, headers: { 'a b': 'x' } }], 'steps[0].headers.a b', 'not allowed'],
    [
      'a header that names the run',
      [{ ...hook, headers: { 'Carillon-Contact-Id': '7' } }],
      'steps[0].headers.Carillon-Contact-Id',
      'that the service sets',
    ],
    ['a reserved header', [{ ...hook, headers: { Host: 'x' } }], 'steps[0].headers.Host', 'the service sets'],
    [
      'a header of the signature',
      [{ ...hook, headers: { 'Webhook-Id': 'x' } }],
      'steps[0].headers.Webhook-Id',
      'the service sets',
    ],
    [
      'a header with a line break',
      [{ ...hook, headers: { a: 'x\r\nb: y' } }],
      'steps[0].headers.a',
      'line breaks',
    ],
    [
      'a header twice',
      [{ ...hook, headers: { a: 'x', A: 'y' } }],
      'steps[0].headers.A',
      'must be given once',
    ],
    [
      '21 headers',
      [{ ...hook, headers: Object.fromEntries(many(21).map((_, n) => [`x-${n}`, 'y'])) }],
      'steps[0].headers',
      'at most 20',
    ],
    ['a body with Liquid', [{ ...hook, body: { a: ['{% if x %}'] } }], 'steps[0].body.a[0]', 'Liquid'],
    ['a body of 33 KB', [{ ...hook, body: 'x'.repeat(33_000) }], 'steps[0].body', '32 KB'],
    ['a GET with a body', [{ ...hook, method: 'GET', body: {} }], 'steps[0].body', 'must be left out'],
    ['one branch', [split(100)], 'steps[0].branches', 'at least 2'],
    ['11 branches', [split(...many(11).map(() => 9))], 'steps[0].branches', 'at most 10'],
    ['weights of 99', [split(50, 49)], 'steps[0].branches', 'add up to 100, not 99'],
    ['half a percent', [split(99.5, 1)], 'steps[0].branches[0].weight', 'must be an integer'],
    ['a negative weight', [split(100, 1, -1)], 'steps[0].branches[2].weight', 'at least 0'],
    [
      'a reason with spaces',
      [{ type: 'exit', reason: 'All done' }],
      'steps[0].reason',
      'must have 1 to 64 lower-case letters, digits and underscores',
    ],
    [
      'a reason of the service',
      [{ type: 'exit', reason: 'goal' }],
      'steps[0].reason',
      'that the service itself uses',
    ],
    ['an id that is none', [{ ...wait, id: 0 }], 'steps[0].id', 'at least 1'],
    [
      'an id twice',
      [
        { ...wait, id: 3 },
        { ...wait, id: 3 },
      ],
      'steps[1].id',
      'is the id of another step',
    ],
    ['11 levels', [nested(11)], `steps[0]${'.yes[0]'.repeat(9)}.yes`, 'at most 10 levels'],
    ['201 steps', many(201), 'steps', 'at most 200 steps'],
  ])('%s', (_name, steps, path, message) => {
    const { errors } = readSteps(steps);
    expect(Object.keys(errors)).toEqual([path]);
    expect(errors[path]?.join(' ')).toContain(message);
  });

  it('all problems at once, in the order of the steps', () => {
    const { errors } = readSteps([
      { type: 'wait' },
      { ...event, duration: 0, no: [{ type: 'fax' }, 3] },
      wait,
    ]);
    expect(Object.keys(errors)).toEqual([
      'steps[0].duration',
      'steps[1].duration',
      'steps[1].no[0].type',
      'steps[1].no[1]',
    ]);
  });

  it('with at most 100 problems', () => {
    expect(Object.keys(readSteps(Array.from({ length: 200 }, () => ({ type: 'wait' }))).errors)).toHaveLength(
      100,
    );
  });
});

describe('filters that name steps', () => {
  const answered = (id: number) => ({
    type: 'condition',
    filters: [{ name: `step.${id}.status`, predicate: 'eq', value: 200 }],
  });
  const opened = (id: number) => ({
    type: 'condition',
    filters: [{ name: 'email_opened', predicate: 'did', value: { step: id } }],
  });
  const email = { type: 'email', id: 1, subject: 'Hi', body: 'Text' };

  it('find a step before them, also inside of branches and around them', () => {
    const branch = {
      type: 'condition',
      filters: [filter],
      yes: [{ ...hook, id: 2 }, answered(2)],
      no: [opened(1)],
    };
    expect(readSteps([email, branch, answered(2), opened(1)]).errors).toEqual({});
  });

  it.each([
    ['after them', [opened(1), email], 'steps[0].filters[0].value.step'],
    ['of another type', [{ ...hook, id: 1 }, opened(1)], 'steps[1].filters[0].value.step'],
    ['that the flow does not have', [answered(9)], 'steps[0].filters[0].name'],
    [
      'in the branch beside them',
      [{ type: 'condition', filters: [filter], yes: [{ ...hook, id: 2 }], no: [answered(2)] }],
      'steps[0].no[0].filters[0].name',
    ],
  ])('do not find a step %s', (_name, steps, path) => {
    expect(Object.keys(readSteps(steps).errors)).toEqual([path]);
  });
});
