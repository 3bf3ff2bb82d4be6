import { setTimeout as delay } from 'node:timers/promises';
import { signal } from '../../../src/local/machine/os-process.ts';
import { eventually } from '../eventually.ts';
import { fractionOf } from './send-and-kill.ts';
import type { CrashStage } from './stage.ts';

const HEARTBEAT = 'carillon alive';

/** @returns the process ids of the roles' connections, by kind */
async function connectionsByKind({ database }: CrashStage): Promise<Map<string, number[]>> {
  const { rows } = await database.pool.query<{ kind: string; pids: number[] }>(
    `select application_name as kind, array_agg(pid order by pid) as pids from pg_stat_activity
     where datname = current_database() and application_name like 'carillon%' group by kind order by kind`,
  );
  return new Map(rows.map(({ kind, pids }) => [kind, pids]));
}

/**
 * Ends database connections of the roles at even intervals, both those of heartbeats and all others. For one of them,
 * halfway, it kills the backend, so that the database drops all connections and restarts in place. The others are
 * terminated.
 * @returns the kinds of connections ended
 */
export async function killBackends(
  stage: CrashStage,
  { seed, kills, everyMs }: { seed: number; kills: number; everyMs: number },
): Promise<string[]> {
  const killed: string[] = [];
  const pick = <T>(items: T[], n: number): T | undefined =>
    items[Math.floor(fractionOf(seed, `backend-${n}`) * items.length)];
  for (let n = 0; n < kills; n += 1) {
    await delay(everyMs);
    const kind = await eventually(async () => {
      const connections = await connectionsByKind(stage);
      const chosen =
        n % 2 === 0
          ? HEARTBEAT
          : pick(
              [...connections.keys()].filter((each) => each !== HEARTBEAT),
              n,
            );
      const pid = pick(connections.get(chosen ?? '') ?? [], n);
      if (chosen === undefined || pid === undefined) throw new Error('no connection to kill');
      if (n === Math.floor(kills / 2)) signal(pid, 'SIGKILL');
      else await stage.database.pool.query('select pg_terminate_backend($1)', [pid]);
      return chosen;
    }, 30_000);
    killed.push(kind);
  }
  return killed;
}
