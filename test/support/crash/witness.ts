import pg from 'pg';
import type { CrashStage } from './stage.ts';

/** Sees what a sender leaves behind. */
export interface Witness<Held> {
  held(): Promise<Held>;
  close(): Promise<void>;
}

/**
 * @param pid of a sender. Its row is held, so that nobody settles anything before it is read.
 * @param read what the process of this id holds
 */
export async function watchSender<Held>(
  stage: CrashStage,
  pid: number,
  read: (client: pg.Client, owner: number) => Promise<Held>,
): Promise<Witness<Held>> {
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
  return { held: () => read(client, owner), close: () => client.end() };
}
