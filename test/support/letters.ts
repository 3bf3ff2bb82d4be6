import { createHash } from 'node:crypto';
import { LETTER_QUEUE } from '../../src/delivery/terms/channels/queue-channel.ts';
import type { RecipientKind } from '../../src/delivery/terms/letter.ts';
import { messageClasses } from '../../src/delivery/terms/message.ts';
import { allocateMessageIds, writeMessages } from '../../src/delivery/ledger/accept/write-messages.ts';
import type { Database } from '../../src/platform/db/database.ts';
import { inTransaction } from '../../src/platform/db/queryable.ts';
import { type QueuedAccount, wakeSenders } from './queued.ts';

interface LetterOptions {
  /** Of each copy; by default one `to`. */
  recipients?: { kind: RecipientKind; address: string }[];
  /** Bytes of its files, which are not stored. */
  files?: number[];
  providerId?: number;
  /** Upper bound of the built message in bytes. */
  wireBytes?: number;
  /** The channel of the queue, by default that of letters. */
  queue?: string;
}

/**
 * Queues the copies of a letter, without limits.
 * @returns their ids, of which the first one names the letter
 */
export async function queueLetter(
  database: Database,
  { accountId, brandId }: QueuedAccount,
  options: LetterOptions = {},
): Promise<number[]> {
  const { files = [], providerId = null, queue = LETTER_QUEUE } = options;
  const { recipients = [{ kind: 'to', address: 'ada@example.com' }], wireBytes = 10_000 } = options;
  const ids = await allocateMessageIds(database.pool, recipients.length);
  const messages = recipients.map(({ address }, n) => ({
    ...{ id: ids[n] ?? 0, account_id: accountId, brand_id: brandId, channel: 'email' as const },
    ...{ status: 'queued' as const, test: false, to_address: address, to_key: address },
    ...{ from_address: `sandbox-${accountId}@mail.test`, subject: 'Hello 0' },
    ...{ html: '<p>Hi</p>', text: 'Hi' },
  }));
  await inTransaction(database.pool, async (trx) => {
    await writeMessages(trx, messages, { source: { class: messageClasses.transactional } });
    const [letter] = ids;
    await trx.query('delete from message_contents where message_id = any($1)', [ids]);
    await trx.query(
      `insert into letters (id, account_id, brand_id, message_ids, html, text, wire_bytes)
       values ($1, $2, $3, $4, '<p>Hi</p>', 'Hi', $5)`,
      [letter, accountId, brandId, ids, wireBytes],
    );
    await trx.query(
      `update messages m set letter_id = $1, recipient_kind = r.kind
       from unnest($2::bigint[], $3::text[]) as r (id, kind) where m.id = r.id`,
      [letter, ids, recipients.map(({ kind }) => kind)],
    );
    // A provider that fails would not have been chosen.
    await trx.query(
      `update send_queue set channel = $2, file_bytes = $3, provider_id = coalesce($4, provider_id)
       where message_id = any($1)`,
      [ids, queue, files.reduce((sum, size) => sum + size, 0), providerId],
    );
    for (const [n, size] of files.entries()) {
      await trx.query(
        `insert into message_attachments (message_id, n, account_id, filename, content_type, disposition, size, sha256, stored)
         values ($1, $2, $3, $4, 'application/pdf', 'attachment', $5, $6, true)`,
        [letter, n + 1, accountId, `${n}.pdf`, size, createHash('sha256').update(`${letter}/${n}`).digest()],
      );
    }
  });
  await wakeSenders(database);
  return ids;
}
