// The dialog that sends a campaign names its audience and its sender in words.
import { expect, it } from '@jest/globals';
import { audienceText, senderText } from '../../console/src/pages/campaigns/editor/audience-text.ts';

const names = {
  lists: [
    { value: '1', label: 'Customers' },
    { value: '2', label: 'Unsubscribed' },
    { value: '3', label: 'Staff' },
  ],
  segments: [{ value: '4', label: 'In Oslo' }],
  campaigns: [{ value: '7', label: 'Spring' }],
};
const notOpened = { name: 'email_opened', predicate: 'did_not', value: { campaign_id: 7 } };
const audience = (listId: number | null, segmentId: number | null, data = {}) => ({
  contact_list_id: listId,
  segment_id: segmentId,
  data,
});

it.each([
  [audience(1, null), 'list Customers'],
  [audience(null, 4), 'segment In Oslo'],
  [audience(1, 4), 'in list Customers and in segment In Oslo'],
  [audience(null, 4, { exclude_list_ids: [2] }), 'segment In Oslo, without list Unsubscribed'],
  [
    audience(1, null, { exclude_list_ids: [2, 3], exclude_segment_ids: [4] }),
    'list Customers, without lists Unsubscribed, Staff and segment In Oslo',
  ],
  [audience(9, null), 'list 9'],
  [audience(null, null, { filters: [notOpened] }), 'who match: has not opened the campaign Spring'],
  [
    audience(1, null, { filters: [notOpened], exclude_list_ids: [2] }),
    'list Customers, who match: has not opened the campaign Spring, without list Unsubscribed',
  ],
  [audience(null, null, { filters: [] }), ''],
  [audience(null, null, { exclude_list_ids: [2] }), ''],
])('names an audience: %j', (given, expected) => {
  expect(audienceText(given, names)).toBe(expected);
});

it.each([
  ['"Acme" <hello@acme.example>', 'Acme <hello@acme.example>'],
  [String.raw`"The \"best\" \\ shop" <a@b.example>`, String.raw`The "best" \ shop <a@b.example>`],
  ['hello@acme.example', 'hello@acme.example'],
  ['+4790000000', '+4790000000'],
])('shows the sender %s as mail programs do', (given, expected) => expect(senderText(given)).toBe(expected));
