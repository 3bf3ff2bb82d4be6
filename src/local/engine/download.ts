import { execFile } from 'node:child_process';
import { createWriteStream } from 'node:fs';
import { chmod, mkdtemp, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { promisify } from 'node:util';
import { z } from 'zod';

const run = promisify(execFile);
const SILENCE_MS = 10_000;

/** The response of temporal.download, as Temporal's SDKs read it. */
const downloadInfo = z.object({ archiveUrl: z.url(), fileToExtract: z.string() });

/** A program on temporal.download: the command-line tool, which contains the server, or the time-skipping server. */
interface Artifact {
  name: 'cli' | 'temporal-test-server';
  /** Such as `v1.5.1`, or `default` for the version that belongs to `sdkVersion` of the TypeScript SDK. */
  version: string;
  sdkVersion?: string;
}

function infoUrl(artifact: Artifact): string {
  const url = new URL(`https://temporal.download/${artifact.name}/${artifact.version}`);
  url.searchParams.set('arch', process.arch === 'x64' ? 'amd64' : process.arch);
  url.searchParams.set('platform', process.platform === 'win32' ? 'windows' : process.platform);
  url.searchParams.set('format', 'tar.gz');
  if (artifact.sdkVersion) {
    url.searchParams.set('sdk-name', 'sdk-typescript');
    url.searchParams.set('sdk-version', artifact.sdkVersion);
  }
  return url.href;
}

/** Downloads a file. Gives up after ten seconds without data, so that a slow connection may take longer. */
async function fetchToFile(url: string, path: string): Promise<void> {
  const silence = new AbortController();
  const watch = setTimeout(() => silence.abort(new Error(`no data for ${SILENCE_MS / 1_000} s`)), SILENCE_MS);
  try {
    const response = await fetch(url, { signal: silence.signal });
    if (!response.ok || !response.body) throw new Error(`${url} responded with ${response.status}`);
    const body = Readable.fromWeb(response.body);
    body.on('data', () => watch.refresh());
    await pipeline(body, createWriteStream(path));
  } finally {
    clearTimeout(watch);
  }
}

/**
 * Downloads a program as Temporal's SDKs do, and moves it to `destination` when it is complete.
 * @throws Error if there is no network, or no program for this machine
 */
export async function downloadArtifact(artifact: Artifact, destination: string): Promise<void> {
  const response = await fetch(infoUrl(artifact), { signal: AbortSignal.timeout(SILENCE_MS) });
  if (!response.ok) throw new Error(`temporal.download responded with ${response.status}`);
  const info = downloadInfo.parse(await response.json());
  const draft = await mkdtemp(join(dirname(destination), 'download-'));
  try {
    await fetchToFile(info.archiveUrl, join(draft, 'archive.tar.gz'));
    await run('tar', ['-xzf', join(draft, 'archive.tar.gz'), '-C', draft, info.fileToExtract]);
    await chmod(join(draft, info.fileToExtract), 0o755);
    await rename(join(draft, info.fileToExtract), destination);
  } finally {
    await rm(draft, { recursive: true, force: true });
  }
}
