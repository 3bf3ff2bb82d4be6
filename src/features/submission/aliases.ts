/** The Message-IDs that clients gave their mail. Sent mail has a Message-ID of Carillon, which replies name. */
import { createHash } from 'node:crypto';
import type { Queryable } from '../../platform/db/queryable.ts';
import { parseMessageReference, messageReference } from '../../delivery/terms/addresses/reference.ts';

const DIGEST_BYTES = 16;
const ID = /<([^<>\s]{1,998})>/g;

const bare = (messageId: string) => messageId.trim().replace(/^<|>$/g, '');

/** What `message_aliases` keeps of a Message-ID, with or without its angle brackets. */
export const aliasOf = (messageId: string): Buffer =>
  createHash('sha256').update(bare(messageId)).digest().subarray(0, DIGEST_BYTES);

export interface ThreadDeps {
  pool: Queryable;
  /** The subkeys `reference`; the first one signs. */
  referenceKeys: readonly Buffer[];
  mailDomain: string;
}

export interface ThreadFields {
  inReplyTo: string | null;
  references: string | null;
}

/**
 * Replaces the Message-IDs that clients gave earlier mail of the brand with those that recipients have seen.
 * @returns the fields with all other ids as they were
 */
export async function withSentIds(
  { pool, referenceKeys, mailDomain }: ThreadDeps,
  { accountId, brandId }: { accountId: number; brandId: number },
  fields: ThreadFields,
): Promise<ThreadFields> {
  const named = [fields.inReplyTo, fields.references].flatMap((field) =>
    Array.from(field?.matchAll(ID) ?? [], ([, id = '']) => id),
  );
  const isOurs = (id: string) => parseMessageReference(referenceKeys, id.split('@', 1)[0] ?? '') !== null;
  const asked = [...new Set(named)].filter((id) => !isOurs(id));
  if (asked.length === 0) return fields;
  const { rows } = await pool.query<{ digest: Buffer; message_id: number }>({
    name: 'find_message_aliases',
    text: 'select digest, message_id from message_aliases where brand_id = $1 and digest = any ($2)',
    values: [brandId, asked.map(aliasOf)],
  });
  const known = new Map(rows.map(({ digest, message_id }) => [digest.toString('hex'), message_id]));
  const [key] = referenceKeys;
  const sentId = (whole: string, id: string) => {
    const messageId = known.get(aliasOf(id).toString('hex'));
    if (messageId === undefined || !key) return whole;
    return `<${messageReference(key, { accountId, messageId })}@${mailDomain}>`;
  };
  const replaced = (field: string | null) => field && field.replace(ID, sentId);
  return { inReplyTo: replaced(fields.inReplyTo), references: replaced(fields.references) };
}
