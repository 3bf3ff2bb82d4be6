import { readFile, stat } from 'node:fs/promises';
import { createSecureContext } from 'node:tls';
import type { Logger } from 'pino';

/** PEM of a certificate, with those that it is signed by, and of its key. */
export interface TlsPair {
  key: string;
  cert: string;
}

/** The paths of the files of a certificate and of its key. */
export interface TlsPaths {
  key: string;
  cert: string;
}

export interface TlsFiles {
  /** As they were when they were opened. */
  pair: TlsPair;
  /**
   * Looks at the files each minute. If they have changed and fit each other, hands the new pair on.
   * @returns a function that ends it
   */
  watch(use: (pair: TlsPair) => void, log: Logger, intervalMs?: number): () => void;
}

const INTERVAL_MS = 60_000;

/** What changes with the content of a file. */
async function stampOf(path: string): Promise<string> {
  const { mtimeMs, size, ino } = await stat(path);
  return `${mtimeMs} ${size} ${ino}`;
}

const stampsOf = async ({ key, cert }: TlsPaths) => `${await stampOf(key)}, ${await stampOf(cert)}`;

/** @throws Error if a file cannot be read, or the key is not that of the certificate */
async function readPair(paths: TlsPaths): Promise<TlsPair> {
  const pair = { key: await readFile(paths.key, 'utf8'), cert: await readFile(paths.cert, 'utf8') };
  createSecureContext(pair);
  return pair;
}

/**
 * Opens a certificate that a program renews from time to time.
 * @throws Error if a file cannot be read, or the key is not that of the certificate
 */
export async function openTlsFiles(paths: TlsPaths): Promise<TlsFiles> {
  // Before they are read: a change meanwhile is found later.
  let stamps = await stampsOf(paths);
  const pair = await readPair(paths);

  async function look(use: (pair: TlsPair) => void, log: Logger): Promise<void> {
    let found = stamps;
    try {
      found = await stampsOf(paths);
      if (found === stamps) return;
      use(await readPair(paths));
      log.info({ file: paths.cert }, 'the certificate has been replaced');
    } catch (error) {
      // A program writes one file after the other, so the next look may find a pair.
      log.warn({ err: error, file: paths.cert }, 'the certificate cannot be replaced; the former one stays');
    }
    stamps = found;
  }

  return {
    pair,
    watch(use, log, intervalMs = INTERVAL_MS) {
      const timer = setInterval(() => void look(use, log), intervalMs).unref();
      return () => clearInterval(timer);
    },
  };
}
