// The console says in words what a run waits for, and that its step has failed.
import { expect, it } from '@jest/globals';
import { runText } from '../../../console/src/pages/flows/run-text.ts';

const active = { state: 'active', reason: null, waits_for: null, failures: 0, retry_at: null } as const;
const retry = '2026-03-03T09:00:00Z';

it.each([
  [{}, 'on its way'],
  [{ waits_for: 'event' }, 'waits for an event'],
  [{ waits_for: 'webhook', failures: 2 }, 'waits for the response to its request, after 2 failures'],
  [{ waits_for: 'webhook', failures: 1, retry_at: retry }, 'waits to try its step again, after 1 failure'],
  [{ retry_at: retry, failures: 1_200 }, 'waits to try its step again, after 1,200 failures'],
  [{ state: 'exited', reason: 'exit_filters', failures: 2 }, 'exit filters'],
] as const)('describes %j', (fields, text) => {
  expect(runText({ ...active, ...fields })).toBe(text);
});
