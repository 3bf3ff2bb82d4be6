// The editor of segments says what a contact has that a filter is about.
import { expect, it } from '@jest/globals';
import { contactValueText } from '../../console/src/pages/segments/contact-values.ts';

const contact = {
  first_name: 'Ada',
  last_name: null,
  country_code: 'DE',
  subscribed_email: false,
  data: { plan: 'pro', age: 31, address: { city: 'Köln' }, tags: ['a'], note: 'x'.repeat(100) },
  channels: [{ kind: 'email', value: 'ada@example.com' }],
} as unknown as Parameters<typeof contactValueText>[0];

it.each([
  ['first_name', '“Ada”'],
  ['last_name', 'nothing'],
  ['email', '“ada@example.com”'],
  ['phone', 'nothing'],
  ['subscribed_email', 'false'],
  ['data.plan', '“pro”'],
  ['data.age', '31'],
  ['data.address.city', '“Köln”'],
  ['data.address', '{"city":"Köln"}'],
  ['data.plan.length', 'nothing'],
  ['data.tags.0', 'nothing'],
  ['data.note', `“${'x'.repeat(79)}…`],
])('of %s: %s', (name, text) => {
  expect(contactValueText(contact, name)).toBe(text);
});

it.each(['event.order_placed', 'email_opened', 'list', 'email_verdict', 'any'])(
  'nothing of %s, which its resource does not have',
  (name) => {
    expect(contactValueText(contact, name)).toBeNull();
  },
);
