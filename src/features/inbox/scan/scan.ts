import type pg from 'pg';
import type { Logger } from 'pino';
import { inTransaction } from '../../../platform/db/queryable.ts';
import type { BlobStore } from '../../../platform/storage/blob-store.ts';
import type { ScanProgress } from '../../../../workflows/inbox/contract.ts';
import { type ArrivalDeps, arrive } from '../arrival/arrive.ts';
import { lockInboxesOf } from '../arrival/arriving-mails.ts';
import { ScannerError, type Verdict, type VirusScanner } from './clamd.ts';
import {
  endScan,
  findScan,
  giveUpAttachments,
  mayArrive,
  type NoVerdict,
  saveResult,
  saveVirus,
  type ScannedMail,
} from './results.ts';

export interface MailScanDeps {
  pool: pg.Pool;
  store: Pick<BlobStore, 'open'>;
  /** Null: CLAMD_URL is not set any more. */
  scanner: VirusScanner | null;
  arrival: ArrivalDeps;
  log: Logger;
}

/** The work of the workflow `inbox-scan/<id>`. */
export interface MailScan {
  /**
   * Scans each file that has no result: the attachments, then the mail as it arrived. Each result is stored at once, so a
   * repetition continues. After the last, the mail arrives, unless a virus was found.
   * @param asOf how old the mail is counts from here: after seven days, the files that have no result stay unscanned
   * @returns `waiting` if the scanner is unavailable
   * @throws the error of the storage or of the database: try again
   */
  advance(id: number, asOf: Date, stopping: AbortSignal): Promise<ScanProgress>;
  /** Lets the mail arrive before it is scanned, unless it is in quarantine or has arrived. */
  report(id: number): Promise<void>;
}

const GIVE_UP_AFTER_MS = 7 * 24 * 3_600_000;

const over: ScanProgress = { phase: 'done', problem: null, files: 0, finished: 0 };

/** Files whose results are known. The mail itself is the last. */
function progressOf({ attachments, pending }: ScannedMail, changes: Partial<ScanProgress>): ScanProgress {
  return {
    phase: 'done',
    problem: null,
    files: attachments + 1,
    finished: attachments - pending.length,
    ...changes,
  };
}

/** Scans a stored file. */
async function judge(
  { store, scanner }: { store: MailScanDeps['store']; scanner: VirusScanner },
  key: string | null,
  stopping: AbortSignal,
): Promise<Verdict | { status: 'skipped'; reason: NoVerdict }> {
  const blob = key === null ? null : await store.open(key);
  return blob === null ? { status: 'skipped', reason: 'missing' } : scanner.scan(blob.stream, stopping);
}

/** Ends the scan, and lets the mail arrive. @param before further changes, in the same transaction */
async function finish(
  { pool, arrival }: MailScanDeps,
  id: number,
  before: (trx: pg.PoolClient) => Promise<void> = async () => undefined,
): Promise<void> {
  const arrived = await inTransaction(pool, async (trx) => {
    await lockInboxesOf(trx, [id]);
    await before(trx);
    await endScan(trx, id);
    return (await mayArrive(trx, id)) ? arrive(trx, arrival, [id]) : null;
  });
  arrived?.afterCommit();
}

/** Scans the attachments, one after the other. @returns the number of those with a virus */
async function scanAttachments(
  deps: MailScanDeps & { scanner: VirusScanner },
  id: number,
  mail: ScannedMail,
  stopping: AbortSignal,
): Promise<number> {
  let { infected } = mail;
  for (let file = mail.pending[0]; file !== undefined; file = mail.pending[0]) {
    const { attachmentId, key } = file;
    const verdict = await judge(deps, key, stopping);
    if (verdict.status === 'infected') {
      const { signature } = verdict;
      await inTransaction(deps.pool, (trx) => saveVirus(trx, id, { attachmentId, signature }));
      deps.log.warn({ conversation_message_id: id, attachment_id: attachmentId, signature }, 'virus found');
      infected += 1;
    } else {
      await saveResult(deps.pool, attachmentId, verdict);
    }
    mail.pending.shift();
  }
  return infected;
}

/** Scans what is left of a mail, and ends the scan. @throws ScannerError */
async function scanRest(
  deps: MailScanDeps & { scanner: VirusScanner },
  id: number,
  mail: ScannedMail,
  stopping: AbortSignal,
): Promise<void> {
  // If an attachment has a virus, the mail has it, too.
  if ((await scanAttachments(deps, id, mail, stopping)) > 0) return finish(deps, id);
  const verdict = await judge(deps, mail.rawKey, stopping);
  if (verdict.status !== 'infected') return finish(deps, id);
  const { signature } = verdict;
  await finish(deps, id, (trx) => saveVirus(trx, id, { attachmentId: null, signature }));
  deps.log.warn({ conversation_message_id: id, signature }, 'virus found');
}

export function createMailScan(deps: MailScanDeps): MailScan {
  const { pool, scanner, log } = deps;
  const giveUp = async (id: number, reason: NoVerdict): Promise<void> => {
    await finish(deps, id, (trx) => giveUpAttachments(trx, id, reason));
    log.error({ conversation_message_id: id, reason }, 'mail stays unscanned');
  };
  return {
    async advance(id, asOf, stopping) {
      const mail = await findScan(pool, id, asOf);
      if (mail === null) return over;
      try {
        if (scanner === null) await giveUp(id, 'no_scanner');
        else await scanRest({ ...deps, scanner }, id, mail, stopping);
        return progressOf(mail, { finished: mail.attachments + 1 });
      } catch (error) {
        if (!(error instanceof ScannerError)) throw error;
        const { message: problem } = error;
        log.warn({ conversation_message_id: id, problem }, 'mail cannot be scanned now');
        if (asOf.getTime() - mail.since.getTime() < GIVE_UP_AFTER_MS)
          return progressOf(mail, { phase: 'waiting', problem });
        await giveUp(id, 'scanner_unavailable');
        return progressOf(mail, { problem });
      }
    },
    async report(id) {
      const arrived = await inTransaction(pool, async (trx) => {
        await lockInboxesOf(trx, [id]);
        return (await mayArrive(trx, id)) ? arrive(trx, deps.arrival, [id]) : null;
      });
      if (arrived === null) return;
      arrived.afterCommit();
      log.warn({ conversation_message_id: id }, 'mail arrived before it was scanned');
    },
  };
}
