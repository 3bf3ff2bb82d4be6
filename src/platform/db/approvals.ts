import { isDeepStrictEqual } from 'node:util';
import { AppError } from '../../errors.ts';

/** What an operator decides. An approval names the versions that the operator has seen. */
export type Decision = { approve: readonly number[] } | 'reject';

interface Decidable<Row> {
  /** As errors and the commands of `carillon` name it. */
  noun: string;
  id: number;
  /** @param check looks at the locked row, and throws if it is not what was approved */
  approve(check: (row: Row) => Promise<void>): Promise<Row | null>;
  reject(): Promise<Row | null>;
  /** What the operator would see now. */
  versionsOf(row: Row): Promise<readonly number[]> | readonly number[];
}

/**
 * Approves or rejects what waits for it.
 * @throws AppError invalid_transition if it does not wait for approval; conflict if it has other versions
 */
export async function decideApproval<Row extends object>(
  decision: Decision,
  { noun, id, approve, reject, versionsOf }: Decidable<Row>,
): Promise<Row> {
  const requireSeen = async (row: Row, seen: readonly number[]) => {
    const present = await versionsOf(row);
    if (isDeepStrictEqual(present, seen)) return;
    const message = `${noun} ${id} has other versions now: ${present.join(',')}. Look at it again with "carillon ${noun} show ${id}"`;
    throw new AppError('conflict', message);
  };
  const changed = await (decision === 'reject'
    ? reject()
    : approve((row) => requireSeen(row, decision.approve)));
  if (!changed) throw new AppError('invalid_transition', `${noun} ${id} does not wait for approval`);
  return changed;
}
