/** What a browser keeps of a draft until the service has it. */
import type { ReadContent } from './draft.ts';
import type { KeptContent } from './versions.ts';

const PREFIX = 'draft:';
const KEPT_MS = 30 * 86_400_000;

interface Entry<Content> extends KeptContent<Content> {
  at: number;
}

/** @returns null if the entry is not one of this version */
function parse(text: string | null): Entry<object> | null {
  try {
    const entry = JSON.parse(text ?? '') as Partial<Entry<object>> | null;
    const isEntry = typeof entry?.content === 'object' && typeof entry.base === 'string';
    return isEntry && typeof entry.at === 'number' ? (entry as Entry<object>) : null;
  } catch {
    return null;
  }
}

function dropOld(storage: Storage, now: number): void {
  for (const key of Object.keys(storage)) {
    if (!key.startsWith(PREFIX)) continue;
    const entry = parse(storage.getItem(key));
    if (!entry || entry.at < now - KEPT_MS) storage.removeItem(key);
  }
}

/**
 * Each tab has an entry of its own, so that two tabs do not overwrite each other's. An editor that opens adopts the
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
  let adopted: string | null = null;
  const entriesAt = (key: string) => {
    const entry = parse(storage.getItem(key));
    const content = entry && readContent(entry.content);
    if (entry && content !== null) {
      const [baseContent, overContent] = [readContent(entry.baseContent), readContent(entry.overContent)];
      return [{ key, entry: { ...entry, content, baseContent, overContent } }];
    }
    storage.removeItem(key);
    return [];
  };
  const keep = (entry: Entry<Content>): boolean => {
    try {
      storage.setItem(own, JSON.stringify(entry));
      return true;
    } catch {
      return false;
    }
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
    write(kept: KeptContent<Content>): boolean {
      const entry = { ...kept, at: now() };
      // Without what it was made from, it cannot be merged, but it is not lost.
      const isKept = keep(entry) || keep({ ...entry, baseContent: null, overContent: null });
      if (!isKept) return false;
      if (adopted !== null && adopted !== own) storage.removeItem(adopted);
      adopted = null;
      return true;
    },
    clear(): void {
      for (const key of [own, adopted]) if (key !== null) storage.removeItem(key);
      adopted = null;
    },
  };
}
