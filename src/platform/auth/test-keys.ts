import { AppError } from '../../errors.ts';
import { type Actor, isTestCaller } from './tenant.ts';

interface Caller {
  actor: Actor;
}

/**
 * @param what what test keys cannot do, such as `send campaigns`
 * @throws AppError test_key for a test key
 */
export function refuseTestKey({ actor }: Caller, what: string): void {
  if (isTestCaller(actor)) throw new AppError('test_key', `a test key cannot ${what}; use a live key`);
}

/**
 * Lets test keys see and change only drafts of campaigns and flows.
 * @param status the resource's status, or the one that the request sets; undefined if there is none
 * @throws AppError test_key
 */
export function requireDraftOfTestKey(caller: Caller, status: string | undefined, things: string): void {
  if (status !== undefined && status !== 'draft') refuseTestKey(caller, `use ${things} that are not drafts`);
}

/**
 * Returns the status by which to filter a list of campaigns or flows.
 * @param wanted the status that the request asks for
 * @throws AppError test_key if a test key asks for anything but drafts
 */
export function listedStatus<Status extends string>(
  caller: Caller,
  wanted: Status | undefined,
  things: string,
): Status | 'draft' | undefined {
  requireDraftOfTestKey(caller, wanted, things);
  return isTestCaller(caller.actor) ? 'draft' : wanted;
}
