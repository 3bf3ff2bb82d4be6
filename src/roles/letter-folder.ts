import type { Logger } from 'pino';
import { type Repeating, repeat } from '../platform/processes/repeat.ts';
import { sharesFolder } from '../platform/housekeeping/orphaned-files.ts';
import type { Queryable } from '../platform/db/queryable.ts';
import type { BlobStore } from '../platform/storage/blob-store.ts';
import { createHomeStore } from '../platform/storage/local-disk.ts';
import type { Config } from '../config.ts';

const MIB = 1_048_576;
/** How often a sender without the folder looks for it, in ms. */
const LOOK_MS = 1_000;
/** After how many looks it warns: a worker that starts with the sender may just be claiming the folder. */
const WARN_AFTER = 15;

/** Whether a sender can read the files of messages, which API processes have stored. */
export interface LetterFolder {
  /** Null: it can. */
  problem(): string | null;
  stop(): Promise<void>;
}

/** The folder of stored files in CARILLON_HOME, and the memory for files, for a sender. */
export function openLetters(
  { CARILLON_HOME: home, SENDER_FILES_MB: megabytes }: Config,
  db: Queryable,
  log: Logger,
): LetterFolder & { filesBytes: number } {
  const folder = watchLetterFolder({ db, store: createHomeStore(home), home, log });
  return { ...folder, filesBytes: megabytes * MIB };
}

/**
 * Looks for the folder of stored files until it is there. A sender on a machine that does not share it must leave
 * messages with files to other senders.
 */
function watchLetterFolder(deps: {
  db: Queryable;
  store: BlobStore;
  home: string;
  log: Logger;
}): LetterFolder {
  const { db, store, home, log } = deps;
  const missing = `${home} is not the folder in which the API stores files: letters are left to other senders`;
  // Until the first look, no letter is claimed.
  let problem: string | null = 'it is not known yet whether the stored files can be read';
  let looked = 0;
  const looks: Repeating = repeat(
    async () => {
      if (await sharesFolder(db, store)) {
        problem = null;
        if (looked >= WARN_AFTER) log.info({ home }, 'the folder of stored files is there: letters are sent');
        return Infinity;
      }
      problem = missing;
      looked += 1;
      if (looked === WARN_AFTER) log.warn({ home }, missing);
      return LOOK_MS;
    },
    { log, name: 'looking for the folder of stored files', retryMs: LOOK_MS },
  );
  return { problem: () => problem, stop: () => looks.stop() };
}
