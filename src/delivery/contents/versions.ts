/** Reads the versions of templates that messages are rendered from. A version never changes, so it may be cached. */
import { LRUCache } from 'lru-cache';
import type { Queryable } from '../../platform/db/queryable.ts';
import type { Channel, VersionContent } from './content.ts';

/** Bytes of versions, about, that a process keeps. */
const MAX_CACHED = 32 * 1024 * 1024;
/** Bytes of a version beside its texts, about. */
const OVERHEAD = 500;

/** There is no such version. */
export class VersionMissingError extends Error {}

interface VersionRow {
  id: string | number;
  template_id: string | number;
  account_id: string | number;
  brand_id: string | number;
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

async function readVersion(db: Queryable, id: number): Promise<VersionContent> {
  const { rows } = await db.query<VersionRow>({
    name: 'read-version',
    text: `select id, template_id, account_id, brand_id, channel, subject, preheader, html, text, paths, segments,
        from_name, from_email, reply_to
      from template_versions where id = $1`,
    values: [id],
  });
  const [row] = rows;
  if (!row) throw new VersionMissingError(`there is no version ${id}`);
  return {
    id: Number(row.id),
    templateId: Number(row.template_id),
    accountId: Number(row.account_id),
    brandId: Number(row.brand_id),
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

/**
 * Returns a function that finds a version, from a cache or else from the database. Several callers share one query.
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
