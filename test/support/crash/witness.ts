import pg from 'pg';
import { type Held, heldBy } from './cluster.ts';
import type { CrashStage } from './stage.ts';

/** Sees what a sender leaves behind. */
export interface Witness {
  held(): Promise<Held>;
  close(): Promise<void>;
}

/** @param pid of a sender. Its row is held, so that nobody settles anything before it is read. */
export async function watchSender(stage: CrashStage, pid: number): Promise<Witness> {
  const client = new pg.Client({ connectionString: stage.database.url });
  client.on('error', () => undefined);
  await client.connect();
  await client.query('begin');
  // The reaper deletes the row before it settles anything; heartbeats and intents pass this lock.
  const { rows } = await client.query<{ id: number }>(
    `select id from processes where pid = $1 and role = 'sender' for key share`,
    [pid],
  );
  const owner = rows[0]?.id;
  if (owner === undefined) throw new Error(`process ${pid} has no row`);
  return { held: () => heldBy(client, owner), close: () => client.end() };
}
