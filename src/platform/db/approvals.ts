import { isDeepStrictEqual } from 'node:util';
import { AppError } from '../../errors.ts';

/** An operator's decision. An approval names the versions that the operator has seen. */
export type Decision = { approve: readonly number[] } | 'reject';

interface Decidable<Row> {
  /** The noun that errors and the commands of `carillon` use. */
  noun: string;
  id: number;
  /** @param check checks the locked row; throws if it differs from what was approved */
  approve(check: (row: Row) => Promise<void>): Promise<Row | null>;
  reject(): Promise<Row | null>;
  /** The versions that the operator would see now. */
  versionsOf(row: Row): Promise<readonly number[]> | readonly number[];
}

/**
 * Approves or rejects a row that waits for approval.
 * @throws AppError invalid_transition if the row does not wait for approval; conflict if its versions have changed
 */
export async function decideApproval<Row extends object>(
  decision: Decision,
  { noun, id, approve, reject, versionsOf }: Decidable<Row>,
): Promise<Row> {
  const requireSeen = async (row: Row, seen: readonly number[]) => {
    const present = await versionsOf(row);
    if (isDeepStrictEqual(present, seen)) return;
    const message = `${noun} ${id} has changed and now has versions ${present.join(',')}. Review it again with "carillon ${noun} show ${id}"`;
    throw new AppError('conflict', message);
  };
  const changed = await (decision === 'reject'
    ? reject()
    : approve((row) => requireSeen(row, decision.approve)));
  if (!changed) throw new AppError('invalid_transition', `${noun} ${id} does not wait for approval`);
  return changed;
}
