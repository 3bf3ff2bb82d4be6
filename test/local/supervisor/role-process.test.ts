// A role process runs until it is stopped, and a failed start is explained in one line.
import { execFileSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { afterAll, describe, expect, it } from '@jest/globals';
import { createGuard, type Guard } from '../../../src/local/machine/guard.ts';
import { LocalError } from '../../../src/local/machine/local-error.ts';
import { isAlive } from '../../../src/local/machine/os-process.ts';
import { nodeFlagsOf, startRoleProcess } from '../../../src/local/supervisor/role-process.ts';

const fakeRole = fileURLToPath(new URL('../../support/fake-role.ts', import.meta.url));
const guard = createGuard();
const started: number[] = [];
const recordingGuard: Guard = {
  ...guard,
  watch(pid, signal) {
    started.push(pid);
    guard.watch(pid, signal);
  },
};
afterAll(() => guard.close());

function start(role: string, settings: Record<string, string>, startLimitMs?: number) {
  return startRoleProcess({
    role,
    command: [process.execPath, '--no-warnings', fakeRole],
    environment: { ...process.env, ...settings },
    graceMs: 60_000,
    guard: recordingGuard,
    ...(startLimitMs === undefined ? {} : { startLimitMs }),
  });
}

async function problemOf(starting: Promise<unknown>): Promise<LocalError> {
  const problem = await starting.then(
    () => null,
    (error: unknown) => error,
  );
  expect(problem).toBeInstanceOf(LocalError);
  return problem as LocalError;
}

it('runs a role until it is stopped', async () => {
  const running = await start('api', {});
  expect(isAlive(running.pid)).toBe(true);
  await running.stop();
  expect(isAlive(running.pid)).toBe(false);
});

it('ends a role that is not ready in time, and says what to do in one line', async () => {
  const { message } = await problemOf(start('sender', { FAKE_ROLE_SILENT: 'sender' }, 1_500));
  expect(message).toMatch(
    /^the sender role is not ready after 1.5 s: see its output above \(LOG_LEVEL=debug [^\n]* start again$/,
  );
  expect(isAlive(started.at(-1) ?? 0)).toBe(false);
}, 60_000);

it('reports a role that ends before it is ready in one line', async () => {
  const { message } = await problemOf(start('worker', { FAKE_ROLE_FAILS: 'worker' }));
  expect(message).toBe('the worker role ended before it was ready (exit code 3): see its output above');
});

describe.each(['sender', 'worker', 'submission'])('the Node flags of a %s', (role) => {
  it('are known to this Node', () => {
    const flags = nodeFlagsOf(role);
    expect(flags).not.toEqual([]);
    expect(execFileSync(process.execPath, [...flags, '-p', '1'], { encoding: 'utf8' })).toBe('1\n');
  });
});
