// A simulation says of each step what becomes of it, and when: a wait is over when the contact goes on.
import { expect, it } from '@jest/globals';
import { simulatedText } from '../../../console/src/pages/flows/editor/simulated-text.ts';
import { fullNameOf } from '../../../console/src/pages/flows/editor/texts.ts';

const from = '2027-01-01T10:00:00.000Z';
const to = '2027-01-02T10:00:00.000Z';
const passed = { detail: null, entered_at: from, left_at: to };

it.each([
  ['wait', 'done', null, 'waits until', to],
  ['wait', 'exited', null, 'exited', to],
  ['wait_for_event', 'timed_out', null, 'timed out', to],
  ['sms', 'skipped', { reason: 'no_address' }, 'skipped (no address)', from],
  ['email', 'sent', null, 'sent', from],
])('says of %s that is %s', (type, outcome, detail, text, at) => {
  expect(simulatedText({ ...passed, type, outcome, detail })).toEqual({ text, at });
});

it.each([
  [{ type: 'email', id: 3, subject: 'Welcome' }, 'Email “Welcome”'],
  [{ type: 'email', id: 3, subject: '' }, 'Email 3'],
  [{ type: 'email', ref: 'email_2' }, 'Email new 2'],
  [{ type: 'wait', id: 4 }, 'Wait 4'],
] as const)('names a step in lists: %j', (step, name) => expect(fullNameOf(step)).toBe(name));
