import { AppError } from '../../errors.ts';
import { type Actor, isTestCaller } from './tenant.ts';

interface Caller {
  actor: Actor;
}

/**
 * @param what that test keys cannot do: `send campaigns`
 * @throws AppError test_key for a test key
 */
export function refuseTestKey({ actor }: Caller, what: string): void {
  if (isTestCaller(actor)) throw new AppError('test_key', `a test key cannot ${what}; use a live key`);
}

/**
 * Of campaigns and flows, test keys see and change drafts only.
 * @param status that the resource has, or that the request sets; undefined: none
 * @throws AppError test_key
 */
export function requireDraftOfTestKey(caller: Caller, status: string | undefined, things: string): void {
  if (status !== undefined && status !== 'draft') refuseTestKey(caller, `use ${things} that are not drafts`);
}

/**
 * The status that a list of campaigns or flows is filtered by.
 * @param wanted by the request
 * @throws AppError test_key if a test key asks for other than drafts
 */
export function listedStatus<Status extends string>(
  caller: Caller,
  wanted: Status | undefined,
  things: string,
): Status | 'draft' | undefined {
  requireDraftOfTestKey(caller, wanted, things);
  return isTestCaller(caller.actor) ? 'draft' : wanted;
}
