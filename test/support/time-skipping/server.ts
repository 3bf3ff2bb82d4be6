import { access, chmod, rename, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { downloadArtifact } from '../../../src/local/engine/download.ts';
import { withFileLock, type Progress } from '../../../src/local/machine/cache.ts';
import { copyFromMaven, hasJava } from '../maven.ts';

const pom = fileURLToPath(new URL('./pom.xml', import.meta.url));
const VERSION = '1.38.0';
/** The SDK waits five seconds for the server. Without the optimizing compiler it starts in two seconds, not four. */
const JVM_OPTIONS = '-Xmx512m -XX:TieredStopAtLevel=1 -XX:+UseSerialGC';
const MAIN_CLASS = 'io.temporal.testserver.TestServer';

function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}

function sdkVersion(): string {
  const manifest: unknown = createRequire(import.meta.url)('@temporalio/testing/package.json');
  return (manifest as { version: string }).version;
}

/** Writes a launcher that starts the Java server as the SDK expects: with the port as its only argument. */
async function fromMaven(cache: string, launcher: string, progress: Progress): Promise<void> {
  progress('downloading the time-skipping test server from Maven; needed only once');
  const jars = await copyFromMaven(pom, cache, `temporal-test-server-${VERSION}`);
  const script = `#!/bin/sh\nexec java ${JVM_OPTIONS} -cp '${jars}/*' ${MAIN_CLASS} "$@"\n`;
  await writeFile(`${launcher}.new`, script);
  await chmod(`${launcher}.new`, 0o755);
  await rename(`${launcher}.new`, launcher);
}

/** The server from an earlier run, if it exists and can run. */
async function findReady(program: string, launcher: string): Promise<string | null> {
  if (await exists(program)) return program;
  return (await exists(launcher)) && (await hasJava()) ? launcher : null;
}

async function obtain(cache: string, program: string, launcher: string, progress: Progress): Promise<string> {
  const ready = await findReady(program, launcher);
  if (ready) return ready;
  try {
    await downloadArtifact(
      { name: 'temporal-test-server', version: 'default', sdkVersion: sdkVersion() },
      program,
    );
    return program;
  } catch {
    // No network, or no program for this machine. Maven's registry has the same server in Java.
  }
  try {
    await fromMaven(cache, launcher, progress);
  } catch (error) {
    const reason = (error as Error).message.split('\n')[0];
    throw new Error(
      `no time-skipping test server: install Java 17 and Maven, or allow temporal.download (${reason})`,
      {
        cause: error,
      },
    );
  }
  return launcher;
}

/**
 * Returns the path of the program that runs Temporal's time-skipping test server. Uses the cached program, else
 * downloads it like the SDK does, else gets the Java server from Maven and writes a launcher for it.
 * @throws Error that says what to install
 */
export async function findTimeSkippingServer(cache: string, progress: Progress): Promise<string> {
  const program = join(cache, `temporal-test-server-sdk-${sdkVersion()}`);
  const launcher = join(cache, `temporal-test-server-${VERSION}-quick.sh`);
  const ready = await findReady(program, launcher);
  if (ready) return ready;
  const onWait = () =>
    progress('waiting for another process to finish getting the time-skipping test server');
  return withFileLock(`${launcher}.lock`, onWait, () => obtain(cache, program, launcher, progress));
}
