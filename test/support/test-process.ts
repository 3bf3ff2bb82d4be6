import os from 'node:os';
import { upkeep } from '../../src/features/upkeep.ts';
import { type DatabaseOptions, sessionSettings } from '../../src/platform/db/database.ts';
import { Heartbeat } from '../../src/platform/processes/heartbeat.ts';
import { type LiveProcess, ownsNothingSql } from '../../src/platform/processes/process.ts';

/**
 * Registers a process like `registerProcess` does, but its heart beats in this thread: another thread takes 0.1 s to
 * start.
 */
export async function registerTestProcess(options: DatabaseOptions, role = 'sender'): Promise<LiveProcess> {
  let id: number | null = null;
  const heartbeat = new Heartbeat(
    {
      connection: sessionSettings(options),
      role,
      host: os.hostname(),
      pid: process.pid,
      id: null,
      deleteIfIdleSql: `delete from processes p where p.id = $1 and ${ownsNothingSql(upkeep.processWork, 'p.id')}`,
      pulse: new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT),
      maxBeatsWithoutPulse: Infinity,
    },
    (connected) => (id = connected.id),
  );
  await heartbeat.start();
  return {
    id: () => id,
    async close() {
      id = null;
      await heartbeat.stop();
    },
  };
}
