/** What a browser keeps of a draft until the service has it. */
import type { ReadContent } from './draft.ts';
import type { KeptContent } from './versions.ts';

const PREFIX = 'draft:';
const FROM_PREFIX = 'draft-from:';
const KEPT_MS = 30 * 86_400_000;

type Entry<Content> = Pick<KeptContent<Content>, 'content' | 'base' | 'over'> & { at: number };

/** What a content was made from. It is as large as the content and changes rarely, so it has an entry of its own. */
type From<Content> = Omit<KeptContent<Content>, 'content'>;

/** Older versions of the console wrote both into one entry. */
type Stored = Entry<object> & Partial<From<object>>;

const keyOfFrom = (key: string): string => FROM_PREFIX + key.slice(PREFIX.length);

function parse(text: string | null): unknown {
  try {
    return JSON.parse(text ?? '');
  } catch {
    return null;
  }
}

/** @returns null if the entry is not one of this version */
function entryAt(storage: Storage, key: string): Stored | null {
  const entry = parse(storage.getItem(key)) as Partial<Stored> | null;
  const isEntry = typeof entry?.content === 'object' && typeof entry.base === 'string';
  return isEntry && typeof entry.at === 'number' ? (entry as Stored) : null;
}

/** Reads an entry with what its content was made from, as far as that is known. */
function keptAt(storage: Storage, key: string): Stored | null {
  const entry = entryAt(storage, key);
  if (!entry) return null;
  const from = parse(storage.getItem(keyOfFrom(key))) as Partial<From<object>> | null;
  // It belongs to another version if the browser was closed before it was written, too.
  const { baseContent } = from?.base === entry.base ? from : entry;
  const { overContent } = from?.over === entry.over ? from : entry;
  return { ...entry, baseContent, overContent };
}

function drop(storage: Storage, key: string): void {
  for (const each of [key, keyOfFrom(key)]) storage.removeItem(each);
}

function dropOld(storage: Storage, now: number): void {
  for (const key of Object.keys(storage)) {
    if (key.startsWith(FROM_PREFIX)) {
      const isAlone = storage.getItem(PREFIX + key.slice(FROM_PREFIX.length)) === null;
      if (isAlone) storage.removeItem(key);
    } else if (key.startsWith(PREFIX)) {
      const entry = entryAt(storage, key);
      if (!entry || entry.at < now - KEPT_MS) drop(storage, key);
    }
  }
}

function keep(storage: Storage, key: string, text: string): boolean {
  try {
    storage.setItem(key, text);
    return true;
  } catch {
    return false;
  }
}

/** Writes what a content was made from, unless it is there already. */
function createFrom<Content>(storage: Storage, key: string) {
  let written: From<Content> | null = null;
  const remove = () => {
    written = null;
    storage.removeItem(key);
  };
  return {
    write(from: From<Content>): void {
      const { base, over, baseContent, overContent } = from;
      const isWritten =
        written?.base === base &&
        written.over === over &&
        written.baseContent === baseContent &&
        written.overContent === overContent;
      // Another tab that adopts the content removes both entries.
      if (isWritten && storage.getItem(key) !== null) return;
      if (keep(storage, key, JSON.stringify(from))) written = from;
      else remove();
    },
    /**
     * Makes room for another entry, and takes it back if the entry still does not fit.
     * @returns whether the other entry is kept
     */
    giveRoom(keepOther: () => boolean): boolean {
      const [before, text] = [written, storage.getItem(key)];
      remove();
      if (keepOther()) return true;
      if (text !== null && keep(storage, key, text)) written = before;
      return false;
    },
    remove,
  };
}

/**
 * Each tab has entries of its own, so that two tabs do not overwrite each other's. An editor that opens adopts the
 * newest one that was left; others are offered when it opens the next time.
 * @param name of the draft, with its user and brand
 * @param tab of this editor
 * @param readContent what it cannot read is removed
 */
export function createDevice<Content>(
  name: string,
  tab: string,
  readContent: ReadContent<Content>,
  storage: Storage,
  now: () => number = Date.now,
) {
  const prefix = `${PREFIX}${name}:`;
  const own = `${prefix}${tab}`;
  const from = createFrom<Content>(storage, keyOfFrom(own));
  let adopted: string | null = null;
  const dropAdopted = () => {
    if (adopted !== null && adopted !== own) drop(storage, adopted);
    adopted = null;
  };
  const entriesAt = (key: string) => {
    const entry = keptAt(storage, key);
    const content = entry && readContent(entry.content);
    if (entry && content !== null) {
      const [baseContent, overContent] = [readContent(entry.baseContent), readContent(entry.overContent)];
      return [{ key, entry: { ...entry, content, baseContent, overContent } }];
    }
    drop(storage, key);
    return [];
  };
  return {
    read(): KeptContent<Content> | null {
      dropOld(storage, now());
      const [newest] = Object.keys(storage)
        .filter((key) => key.startsWith(prefix))
        .flatMap(entriesAt)
        .sort((one, other) => other.entry.at - one.entry.at);
      adopted = newest?.key ?? null;
      return newest?.entry ?? null;
    },
    /** @returns whether it is kept: the storage may be full or turned off */
    write({ content, ...madeFrom }: KeptContent<Content>): boolean {
      const { base, over } = madeFrom;
      const entry: Entry<Content> = { content, base, over, at: now() };
      const text = JSON.stringify(entry);
      const keepEntry = () => keep(storage, own, text);
      // Without what it was made from, it cannot be merged, but it is not lost.
      const isKept = keepEntry() || from.giveRoom(keepEntry);
      if (isKept) {
        dropAdopted();
        from.write(madeFrom);
      }
      return isKept;
    },
    clear(): void {
      storage.removeItem(own);
      from.remove();
      dropAdopted();
    },
  };
}
