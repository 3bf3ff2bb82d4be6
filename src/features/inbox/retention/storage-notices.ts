/** Notifies the owners of an account whose mail nears its quota. */
import type pg from 'pg';
import type { Logger } from 'pino';
import { inTransaction, type Queryable } from '../../../platform/db/queryable.ts';
import type { Waker } from '../../../platform/db/wake.ts';
import { repeat, type Repeating } from '../../../platform/processes/repeat.ts';
import { mailOwners, type Notice } from '../../system-mail/service.ts';
import { QUARANTINED_BYTES } from './shares.ts';

export interface StorageNoticeDeps {
  pool: pg.Pool;
  waker: Pick<Waker, 'wake'>;
  /** The sender of mails to owners: see `systemSender`. */
  systemFrom: string;
  /** Maximum size of the raw mail and the attachments of one account. */
  quotaBytes: number;
  log: Logger;
}

/** Shares of the quota at which an episode begins, and below which it ends. */
const NEAR = { begins: 0.8, ends: 0.7 };
const LOOK_MS = 60_000;
const MEGABYTE = 1024 * 1024;

/**
 * What the owners are notified of. `full`: all mail nears the quota; mail in quarantine will make room. `kept`: so does
 * mail outside of quarantine, which never makes room. The numbers are those of the column `notice`.
 */
const levels = { none: 0, full: 1, kept: 2 } as const;

interface Stored {
  account_id: number;
  bytes: number;
  quarantined: number;
  notice: number;
}

/** `$1`: bytes below which nothing can change, unless an episode is under way. */
const storedSql = `
  select s.account_id, s.bytes, s.notice, ${QUARANTINED_BYTES} as quarantined
  from inbox_storage s where s.bytes >= $1 or s.notice > 0 order by s.account_id`;

/** The level of an account: an episode that is under way ends at a lower share than it begins. */
function levelOf({ bytes, quarantined, notice }: Stored, quotaBytes: number): number {
  const isNear = (stored: number, level: number) =>
    stored >= (notice >= level ? NEAR.ends : NEAR.begins) * quotaBytes;
  if (isNear(bytes - quarantined, levels.kept)) return levels.kept;
  return isNear(bytes, levels.full) ? levels.full : levels.none;
}

const megabytes = (bytes: number) => `${Math.round(bytes / MEGABYTE)} MB`;

function noticeOf({ bytes, quarantined }: Stored, level: number, quotaBytes: number): Notice {
  const kept = bytes - quarantined;
  const what =
    level === levels.kept
      ? 'Mail in quarantine is deleted to make room, but not the other mail. At 90%, mail of senders whom you have not answered goes to quarantine. Once the quota is reached and quarantine is empty, all mail is refused for now.'
      : 'Once the quota is reached, the oldest mail in quarantine is deleted to make room for new mail. No other mail is deleted.';
  return {
    subject: 'The mail in your inboxes nears its quota',
    paragraphs: [
      `The mail of your account stores ${megabytes(bytes)} of ${megabytes(quotaBytes)}: ${megabytes(kept)} in conversations, and ${megabytes(quarantined)} in quarantine.`,
      what,
      'What to do: delete conversations that you do not need, and block senders whose mail you do not want. DELETE /v1/my/conversations/{id} deletes one conversation, and POST /v1/my/conversations/bulk_actions all that match a filter, such as {"proved": false}: those without proof of who has written.',
    ],
  };
}

/** Stores the level, if it is still as it was read. @returns the number of mails to owners */
async function change(
  trx: Queryable,
  { systemFrom, quotaBytes }: StorageNoticeDeps,
  stored: Stored,
  level: number,
): Promise<number> {
  const { account_id: accountId, notice } = stored;
  const { rowCount } = await trx.query(
    'update inbox_storage set notice = $3 where account_id = $1 and notice = $2',
    [accountId, notice, level],
  );
  if (rowCount === 0 || level < notice) return 0;
  return mailOwners(trx, accountId, systemFrom, noticeOf(stored, level, quotaBytes));
}

/**
 * Notifies owners once in each episode: it begins at 80% of the quota and ends below 70%, for all mail and, apart from
 * that, for the mail outside of quarantine. Several processes may look at once.
 */
export async function notifyOfStorage(deps: StorageNoticeDeps): Promise<void> {
  const { pool, waker, quotaBytes, log } = deps;
  const { rows } = await pool.query<Stored>(storedSql, [Math.floor(NEAR.begins * quotaBytes)]);
  for (const stored of rows) {
    const level = levelOf(stored, quotaBytes);
    if (level === stored.notice) continue;
    const mails = await inTransaction(pool, (trx) => change(trx, deps, stored, level));
    if (mails === 0) continue;
    const { account_id, bytes, quarantined } = stored;
    log.warn(
      { account_id, bytes, quarantined, mails },
      'mail in inboxes nears its quota: owners are notified',
    );
    waker.wake('send');
  }
}

/** Looks each minute. */
export function startStorageNotices(deps: StorageNoticeDeps): Repeating {
  return repeat(
    async () => {
      await notifyOfStorage(deps);
      return LOOK_MS;
    },
    { log: deps.log, name: 'looking at what inboxes store', retryMs: LOOK_MS },
  );
}
