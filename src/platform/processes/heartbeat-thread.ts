import { parentPort, workerData } from 'node:worker_threads';
import { Heartbeat, type HeartbeatConnected, type HeartbeatSettings } from './heartbeat.ts';

/**
 * What the thread reports: each connection, or why this process could not be registered. The only message to the thread
 * asks it to stop. It ends once it has removed the row.
 */
export type HeartbeatReport = HeartbeatConnected | { failed: { message: string; code?: string } };

const report = (message: HeartbeatReport) => parentPort?.postMessage(message);
const heartbeat = new Heartbeat(workerData as HeartbeatSettings, report);

parentPort?.once('message', () => void heartbeat.stop().finally(() => parentPort?.close()));
try {
  await heartbeat.start();
} catch (error) {
  // These two properties show whether the database is unavailable. Posting the error itself would lose its code.
  const { message, code } = error as Error & { code?: string };
  report({ failed: { message, ...(code === undefined ? {} : { code }) } });
  parentPort?.close();
}
