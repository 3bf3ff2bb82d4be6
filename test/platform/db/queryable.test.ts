// Lost connections are recognized by code and message, and other errors are not mistaken for them.
import { expect, it } from '@jest/globals';
import { isConnectionError } from '../../../src/platform/db/queryable.ts';

it.each([
  ['57P01', 'terminating connection due to administrator command', true],
  ['08006', 'connection failure', true],
  ['ECONNRESET', 'read ECONNRESET', true],
  [undefined, 'Connection terminated unexpectedly', true],
  ['23505', 'duplicate key value violates unique constraint', false],
  // Errors of Temporal have numbers.
  [14, 'unavailable', false],
])(
  'takes an error with the code %j and the message "%s" for a lost connection: %j',
  (code, message, lost) => {
    expect(isConnectionError(Object.assign(new Error(message), { code }))).toBe(lost);
  },
);
