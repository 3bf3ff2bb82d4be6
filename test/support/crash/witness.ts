import pg from 'pg';
import type { CrashStage } from './stage.ts';

/** Reads the work that a killed sender leaves behind. */
interface Witness<Work> {
  held(): Promise<Work>;
  close(): Promise<void>;
}

/**
 * Locks the row of a sender, so that no recovery changes its work before it is read.
 * @param pid the sender's operating system process id
 * @param read reads the work of the process with this id in the database
 */
export async function watchSender<Work>(
  stage: CrashStage,
  pid: number,
  read: (client: pg.Client, owner: number) => Promise<Work>,
): Promise<Witness<Work>> {
  const client = new pg.Client({ connectionString: stage.database.url });
  client.on('error', () => undefined);
  await client.connect();
  await client.query('begin');
  // The reaper deletes the row before it recovers any work. Heartbeats and intents do not conflict with this lock.
  const { rows } = await client.query<{ id: number }>(
    `select id from processes where pid = $1 and role = 'sender' for key share`,
    [pid],
  );
  const owner = rows[0]?.id;
  if (owner === undefined) throw new Error(`process ${pid} has no row`);
  return { held: () => read(client, owner), close: () => client.end() };
}
