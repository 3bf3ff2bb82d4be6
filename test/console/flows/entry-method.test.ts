// A contact is let into a flow by what its trigger waits for, and by a request only where that cannot be done.
import { expect, it } from '@jest/globals';
import { entryMethod, type EntryMethod } from '../../../console/src/pages/flows/entry-method.ts';

const none = { event: null, contact_list_id: null, segment_id: null };

it.each<[string, Parameters<typeof entryMethod>[0], number[], EntryMethod]>([
  ['an event', { ...none, event: 'signed_up' }, [], { by: 'event', event: 'signed_up' }],
  [
    'mail, which no client can track',
    { ...none, event: 'email_received' },
    [],
    { by: 'request', why: 'mail' },
  ],
  ['a list', { ...none, contact_list_id: 5 }, [4], { by: 'list', listId: 5 }],
  [
    'a list with the contact in it',
    { ...none, contact_list_id: 5 },
    [4, 5],
    { by: 'request', why: 'in_list' },
  ],
  ['a segment', { ...none, segment_id: 5 }, [], { by: 'request', why: 'segment' }],
  ['nothing', none, [], { by: 'request', why: 'no_trigger' }],
])('enters a flow that waits for %s', (_, trigger, listIds, method) => {
  expect(entryMethod(trigger, listIds)).toEqual(method);
});
