import { cancellationSignal, Context, heartbeat } from '@temporalio/activity';
import type { Attendance } from '../src/platform/temporal/contract.ts';

/**
 * Does a long piece of work, and sends heartbeats even while a single statement or request takes long, so that the
 * engine soon notices if the worker has died.
 * @param options.heartbeatMs well below the activity's heartbeat time-out
 * @param options.stopping aborted when the process is about to stop
 */
export async function attended<T>(
  { heartbeatMs, stopping }: { heartbeatMs: number; stopping?: AbortSignal | undefined },
  work: (attendance: Attendance) => Promise<T>,
): Promise<T> {
  let details: unknown;
  const canceled = cancellationSignal();
  const timer = setInterval(() => heartbeat(details), heartbeatMs);
  try {
    return await work({
      progress: (found = details) => heartbeat((details = found)),
      stopping: stopping ? AbortSignal.any([stopping, canceled]) : canceled,
      attempt: Context.current().info.attempt,
    });
  } finally {
    clearInterval(timer);
  }
}
