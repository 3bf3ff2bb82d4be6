import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createClamdScanner } from '../../src/features/inbox/scan/clamd.ts';
import { eventually } from './eventually.ts';
import { findClamd } from './tools.ts';

/** What the tests' only signature finds, wherever it is in a file. */
export const VIRUS = 'CARILLON-TEST-VIRUS-5b1e';

/** ClamAV's clamd. Signatures that are not ClamAV's have the ending `.UNOFFICIAL`. */
export interface RealClamd {
  /** `unix://…` */
  url: string;
  /** Starts it again. */
  start(): Promise<void>;
  /** Stops it; its URL stays the same. */
  stop(): Promise<void>;
  /** Stops it, and removes its folder. */
  close(): Promise<void>;
}

const settings = (folder: string) => `Foreground yes
DatabaseDirectory ${folder}/signatures
TemporaryDirectory ${folder}
LocalSocket ${folder}/clamd.sock
StreamMaxLength 30M
AlertExceedsMax yes
AlertEncrypted yes
MaxRecursion 5
`;

/**
 * Starts clamd with a signature of the tests, as docs/inboxes.md recommends. Use it in tests that need `clamd`.
 * @param further lines of its configuration
 */
export async function startClamd(further = ''): Promise<RealClamd> {
  const program = findClamd();
  if (program === undefined) throw new Error('no clamd: install ClamAV');
  const folder = await mkdtemp(join(tmpdir(), 'clamd-'));
  await mkdir(join(folder, 'signatures'));
  await writeFile(
    join(folder, 'signatures', 'test.ndb'),
    `Carillon.Test:0:*:${Buffer.from(VIRUS).toString('hex')}\n`,
  );
  await writeFile(join(folder, 'clamd.conf'), `${settings(folder)}${further}`);
  const url = `unix://${folder}/clamd.sock`;
  let child: ChildProcess | null = null;
  const real: RealClamd = {
    url,
    async start() {
      child = spawn(program, ['-c', join(folder, 'clamd.conf')], { stdio: 'ignore' });
      await eventually(async () => {
        if (child?.exitCode !== null) throw new Error(`clamd ended with ${child?.exitCode}`);
        await createClamdScanner(url).version();
      });
    },
    async stop() {
      if (child === null || child.exitCode !== null || child.signalCode !== null) return;
      const exited = once(child, 'exit');
      child.kill('SIGTERM');
      await exited;
    },
    async close() {
      await real.stop();
      await rm(folder, { recursive: true, force: true });
    },
  };
  await real.start();
  return real;
}
