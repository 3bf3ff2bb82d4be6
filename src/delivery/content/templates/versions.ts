/** Reads the template versions that messages are rendered from. A version never changes, so it may be cached. */
import { LRUCache } from 'lru-cache';
import type { Queryable } from '../../../platform/db/queryable.ts';
import type { Channel } from '../../terms/channels/index.ts';
import type { VersionContent } from './content.ts';

/** Approximate size of a process's cache of versions, in bytes. */
const MAX_CACHED = 32 * 1024 * 1024;
/** Approximate size of a version in addition to its texts, in bytes. */
const OVERHEAD = 500;

/** The version does not exist. */
export class VersionMissingError extends Error {}

/** The columns of `template_versions` that a message is rendered from. */
export interface VersionRow {
  id: number;
  template_id: number;
  account_id: number;
  brand_id: number;
  channel: Channel;
  subject: string | null;
  preheader: string | null;
  html: string | null;
  text: string | null;
  paths: string[];
  segments: number | null;
  from_name: string | null;
  from_email: string | null;
  reply_to: string | null;
}

/** SQL: the columns of a {@link VersionRow}. */
export const VERSION_COLUMNS = `id, template_id, account_id, brand_id, channel, subject, preheader, html, text, paths,
  segments, from_name, from_email, reply_to`;

export function versionContent(row: VersionRow): VersionContent {
  return {
    id: row.id,
    templateId: row.template_id,
    accountId: row.account_id,
    brandId: row.brand_id,
    channel: row.channel,
    subject: row.subject,
    preheader: row.preheader,
    html: row.html,
    text: row.text,
    paths: row.paths,
    segments: row.segments,
    fromName: row.from_name,
    fromEmail: row.from_email,
    replyTo: row.reply_to,
  };
}

async function readVersion(db: Queryable, id: number): Promise<VersionContent> {
  const { rows } = await db.query<VersionRow>({
    name: 'read-version',
    text: `select ${VERSION_COLUMNS} from template_versions where id = $1`,
    values: [id],
  });
  const [row] = rows;
  if (!row) throw new VersionMissingError(`there is no version ${id}`);
  return versionContent(row);
}

/**
 * Returns a function that finds a version, from a cache or else from the database. Concurrent callers share one query.
 * @returns a promise only if the version is not cached; it rejects with VersionMissingError, or the database's error
 */
export function createVersionReader(db: Queryable): (id: number) => VersionContent | Promise<VersionContent> {
  const cache = new LRUCache<number, VersionContent>({
    maxSize: MAX_CACHED,
    sizeCalculation: ({ html, text }) => 2 * ((html?.length ?? 0) + (text?.length ?? 0)) + OVERHEAD,
  });
  const reading = new Map<number, Promise<VersionContent>>();

  async function read(id: number): Promise<VersionContent> {
    try {
      const version = await readVersion(db, id);
      cache.set(id, version);
      return version;
    } finally {
      reading.delete(id);
    }
  }

  return (id) => {
    const cached = cache.get(id);
    if (cached) return cached;
    const promise = reading.get(id) ?? read(id);
    reading.set(id, promise);
    return promise;
  };
}
