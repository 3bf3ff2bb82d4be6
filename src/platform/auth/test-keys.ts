import { AppError } from '../../errors.ts';
import { type AccountTenant, isTestCaller } from './tenant.ts';

type Caller = Pick<AccountTenant, 'actor'>;

/**
 * @param what what test keys cannot do, such as `send campaigns`
 * @throws AppError test_key for a test key
 */
export function refuseTestKey({ actor }: Caller, what: string): void {
  if (isTestCaller(actor)) throw new AppError('test_key', `a test key cannot ${what}; use a live key`);
}

type Sender = Pick<AccountTenant, 'actor' | 'unconfirmed'>;

/** Whether the caller may change what is being sent. */
export const isSender = ({ actor, unconfirmed }: Sender): boolean => !isTestCaller(actor) && !unconfirmed;

/**
 * Keeps callers from changing what is being sent: test keys always, and assistants until their user has confirmed it.
 * @param what what they would do, such as `change a segment that "Welcome" uses`
 * @throws AppError test_key; confirmation_required for an assistant
 */
export function requireSender(caller: Sender, what: string): void {
  refuseTestKey(caller, what);
  if (caller.unconfirmed) throw new AppError('confirmation_required', `this would ${what}`);
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
