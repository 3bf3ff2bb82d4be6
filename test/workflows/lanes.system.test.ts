// A lane moves to another sender after the process of its own is killed, and keeps its mode.
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { afterAll, afterEach, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { isLockSql } from '../../src/platform/processes/liveness-lock.ts';
import { type LaneStage, startLaneStage } from './lane-stage.ts';
import { until } from './until.ts';

// The engine notices a dead process after ten seconds, and may then offer the lane to the dead process once more.
jest.setTimeout(120_000);

let stage: LaneStage;
const children: ChildProcess[] = [];

/** Starts a sender in a process that can be killed. */
async function startSenderProcess(): Promise<{ id: number; child: ChildProcess }> {
  const script = fileURLToPath(new URL('./sender-process.ts', import.meta.url));
  const { config, db } = stage;
  const settings = [config.TEMPORAL_ADDRESS ?? '', config.TEMPORAL_NAMESPACE, db.url];
  const child = spawn(process.execPath, ['--no-warnings', script, ...settings], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  children.push(child);
  const [line] = (await once(child.stdout, 'data')) as [Buffer];
  return { id: Number(line.toString()), child };
}

beforeAll(async () => {
  stage = await startLaneStage();
}, 120_000);
afterEach(async () => {
  for (const child of children.splice(0)) child.kill('SIGKILL');
  await stage.clear();
});
afterAll(() => stage.stop());

describe('a lane', () => {
  it('moves to another sender after its own is killed', async () => {
    const killed = await startSenderProcess();
    await stage.attachedTo(1, killed.id);
    killed.child.kill('SIGKILL');
    const other = await stage.startSender();
    // 10 s for the heartbeat and 2 s for the retry, repeated if the engine offers the lane to the dead process again.
    await stage.attachedTo(1, other.id, 'send', 75_000);
  }, 120_000);

  it('goes to the process that replaces a killed one, even before the database notices the death', async () => {
    const killed = await startSenderProcess();
    await stage.attachedTo(1, killed.id);
    await stage.signal(1, 'pause');
    await until(async () => (await stage.stateOf(1)).mode === 'paused');
    const { rows } = await stage.db.database.pool.query<{ backend: number }>(
      `select l.pid as backend from pg_locks l where ${isLockSql('$1')}`,
      [killed.id],
    );
    const backend = rows[0]?.backend ?? 0;
    process.kill(backend, 'SIGSTOP');
    killed.child.kill('SIGKILL');
    setTimeout(() => process.kill(backend, 'SIGCONT'), 1_000);
    const other = await stage.startSender();
    expect(await stage.laneProcess(1)).toBe(other.id);
    expect(other.send.modes).toEqual(['paused']);
    expect(await stage.laneProcess(2)).toBeNull();
  });
});
