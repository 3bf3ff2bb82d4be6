import { claimedBy } from './cluster.ts';
import type { CrashStage } from './stage.ts';
import { watchSender } from './witness.ts';

export type Part = 'api' | 'submission' | 'first' | 'second' | 'postgres';

/**
 * Kills a part and starts it again: a role, the first or second sender, or the database.
 * @param breakConnections called when its clients would notice
 * @returns the ids of messages that may arrive twice: they had an intent when their sender or the database died
 */
export async function killPart(
  stage: CrashStage,
  part: Part,
  breakConnections: () => void,
): Promise<number[]> {
  const { senders, postgres } = stage;
  if (part === 'api' || part === 'submission') {
    const role = part === 'api' ? stage.api : stage.submission?.role;
    if (!role) throw new Error(`the stage has no ${part}`);
    const killed = role.kill();
    breakConnections();
    await killed;
    await role.start();
    return [];
  }
  if (part === 'postgres') {
    const killed = postgres.kill();
    breakConnections();
    await killed;
    const { intended } = await postgres.readCopy((copy) => claimedBy(copy));
    await postgres.start();
    return intended;
  }
  const sender = part === 'first' ? senders[0] : senders[1];
  const witness = await watchSender(stage, sender.pid, claimedBy);
  try {
    await sender.kill();
    return (await witness.held()).intended;
  } finally {
    await witness.close();
    await sender.start();
  }
}
