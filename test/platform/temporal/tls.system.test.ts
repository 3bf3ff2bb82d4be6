// A worker connects to the engine by TLS, certificate and API key, and logs in one line why it cannot.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { loadConfig } from '../../../src/config.ts';
import { callEngine, openEngine } from '../../../src/platform/temporal/connection.ts';
import { createTestDatabase } from '../../support/database.ts';
import {
  type EngineFront,
  type EngineFrontOptions,
  startEngineFront,
  tlsFile,
} from '../../support/engine-front.ts';
import { useEngine } from '../../support/engine.ts';
import { type Program, runProgram, until } from '../../support/programs.ts';

const ca = { TEMPORAL_TLS_CA_FILE: tlsFile('ca') };
const ourCertificate = {
  TEMPORAL_TLS_CERT_FILE: tlsFile('client'),
  TEMPORAL_TLS_KEY_FILE: tlsFile('client-key'),
};

describe('TLS settings', () => {
  it('keep carillon start from starting anything if they cannot be used', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'carillon-tls-'));
    const program = runProgram('src/main.ts', ['start', '--dev'], {
      CARILLON_HOME: folder,
      TEMPORAL_ADDRESS: '127.0.0.1:1',
      TEMPORAL_TLS_CA_FILE: '/not/there',
    });
    expect(await program.ended).toBe(1);
    rmSync(folder, { recursive: true, force: true });
    expect(program.output()).toMatch(
      /^carillon: TEMPORAL_TLS_CA_FILE: \/not\/there cannot be read [^\n]*\n$/,
    );
  });
});

/** A worker that reaches its engine by a proxy with TLS. */
interface Stage {
  front: EngineFront;
  namespace: string;
  program: Program;
}

/** @param settings of the worker, and of the proxy */
async function withWorker(
  settings: { worker: Record<string, string>; front: EngineFrontOptions },
  check: (stage: Stage) => Promise<void>,
): Promise<void> {
  const [made, { address, namespace }] = await Promise.all([createTestDatabase(), useEngine()]);
  const front = await startEngineFront(address, settings.front);
  const program = runProgram('src/main.ts', ['start', 'worker'], {
    DATABASE_URL: made.url,
    TEMPORAL_ADDRESS: front.address,
    TEMPORAL_NAMESPACE: namespace,
    APP_SECRET: 'a secret of at least thirty-two characters',
    EMAIL_PROVIDER_URL: 'capture:',
    ...settings.worker,
  });
  try {
    await program.ready();
    await check({ front, namespace, program });
  } finally {
    program.child.kill('SIGKILL');
    await program.ended;
    await front.close();
    await made.drop();
  }
}

function errorsOf(program: Program): string[] {
  const lines = program
    .output()
    .split('\n')
    .filter((line) => line.startsWith('{'));
  const entries = lines.map((line) => JSON.parse(line) as { level: number; msg: string });
  return entries.filter(({ level }) => level >= 50).map(({ msg }) => msg);
}

describe('the worker role', () => {
  it.concurrent(
    'runs workflows and activities by TLS with a certificate and an API key',
    () => {
      const worker = { ...ca, ...ourCertificate, TEMPORAL_API_KEY: 'of-the-test' };
      const front = { clientCertificates: true, authorization: 'Bearer of-the-test' };
      return withWorker({ worker, front }, async ({ front: { address, calls }, namespace, program }) => {
        const { client, close } = openEngine(
          loadConfig({ TEMPORAL_ADDRESS: address, TEMPORAL_NAMESPACE: namespace, ...worker }),
        );
        const tryOnce = () =>
          callEngine(client, async () => {
            const handle = client.schedule.getHandle('housekeeping');
            if ((await handle.describe()).info.recentActions.length > 0) return true;
            await handle.trigger();
            return false;
          }).catch(() => false);
        await until(tryOnce, program.output);
        const completed = () =>
          callEngine(client, async () => {
            for await (const { status } of client.workflow.list({
              query: `WorkflowType = 'housekeeping'`,
            })) {
              if (status.name === 'COMPLETED') return true;
            }
            return false;
          });
        try {
          await until(completed, program.output);
        } finally {
          await close();
        }
        const methods = ['PollWorkflowTaskQueue', 'PollActivityTaskQueue', 'RespondActivityTaskCompleted'];
        for (const method of methods) {
          const call = calls.find(({ path }) => path.endsWith(`/${method}`));
          expect(call?.headers).toMatchObject({ authorization: 'Bearer of-the-test' });
        }
        expect(errorsOf(program)).toEqual([]);
      });
    },
    120_000,
  );

  it.concurrent(
    'logs once, in one line, why it cannot use the engine and what to do',
    () => {
      const worker = { TEMPORAL_TLS_CA_FILE: tlsFile('self-signed') };
      return withWorker({ worker, front: {} }, async ({ front, program }) => {
        const first = front.connections;
        await until(
          () => errorsOf(program).length > 0 && front.connections > first + 12,
          program.output,
          60_000,
        );
        expect(errorsOf(program)).toEqual([
          expect.stringMatching(
            /^the engine at 127\.0\.0\.1:\d+ cannot be used: its certificate is not signed by an authority in .*: set TEMPORAL_TLS_CA_FILE /,
          ),
        ]);
        program.child.kill('SIGTERM');
        expect(await program.ended).toBe(0);
      });
    },
    120_000,
  );
});
