/** Accepts letters: their files are stored, and all their copies are written, or none. */
import type { NewAttachment, OpaqueBody } from '../../delivery/ledger/accept/new-letter.ts';
import { FileGoneError } from '../../delivery/ledger/accept/write-set.ts';
import { AppError } from '../../errors.ts';
import type { Tenant } from '../../platform/auth/tenant.ts';
import type { Attachments, ReadFile } from '../attachments/service.ts';
import type { createSetAcceptor, SetOutcome, SetRow } from './accept-set.ts';
import type { JustAccepted } from './accepted.ts';
import type { Drafted } from './draft.ts';
import type { LetterDraft, OpaqueDraft } from './letter.ts';

/** What a client wants to have sent, and the files that are stored once it may be sent. */
export interface Wish extends Drafted {
  files: readonly ReadFile[];
}

export type LetterWish = Wish & { letter: LetterDraft };

type KeptOutcome = Exclude<SetOutcome, { kind: 'refused' }>;

/** What the copies of a letter became. @throws AppError the reason of the copy that is refused */
function acceptedOf(outcomes: readonly SetOutcome[]): KeptOutcome[] {
  return outcomes.map((outcome) => {
    if (outcome.kind !== 'refused') return outcome;
    // A copy that is refused because of another one names that error as its cause.
    throw outcome.error.cause instanceof AppError ? outcome.error.cause : outcome.error;
  });
}

/** Maximum number of times that the files of a letter are stored again, if they are removed before it names them. */
const MAX_LOST_FILES = 2;

type AcceptSet = ReturnType<typeof createSetAcceptor>;

/** How a message can be found again. */
export type Keyed = Pick<SetRow, 'idempotencyKey' | 'fingerprint' | 'hiddenKey' | 'alias'>;

/** An accepted message or letter. */
export type AcceptedWish =
  | { kind: 'written'; accepted: Omit<JustAccepted, 'idempotencyKey'> }
  /** By an earlier request with its key. */
  | { kind: 'replayed'; id: number; status: number };

type AcceptLetter = (tenant: Tenant, keyed: Keyed, wish: LetterWish) => Promise<AcceptedWish>;

/** The copies of a letter, of which the first one has its key. */
export const rowsOf = ({ copies }: LetterDraft, keyed: Keyed): SetRow[] =>
  copies.map((copy, n) => ({ ...copy, ...(n === 0 ? keyed : { idempotencyKey: null, fingerprint: null }) }));

/** The outcome of a letter whose copies are all written, now or by an earlier request. */
export function acceptedLetter(
  { message, letter }: LetterWish,
  stored: readonly NewAttachment[],
  outcomes: readonly KeptOutcome[],
): AcceptedWish {
  const lead = outcomes[0] as KeptOutcome;
  if (lead.kind === 'replayed') return lead;
  const ids = outcomes.map((each) => (each.kind === 'kept' ? each.message.id : each.id));
  const files = letter.opaque ? [] : stored;
  const accepted = { draft: message, written: lead.message, letter: { draft: letter, files, ids } };
  return { kind: 'written', accepted };
}

/** @param stored the only file of the letter */
function opaqueBody({ fields }: OpaqueDraft, [body]: readonly NewAttachment[]): OpaqueBody {
  const { size, sha256, stored } = body as NewAttachment;
  return { fields, size, sha256, stored };
}

const contentOfLetter = ({ opaque }: LetterDraft, stored: NewAttachment[]) =>
  opaque ? { files: [], opaque: opaqueBody(opaque, stored) } : { files: stored };

/**
 * Repeats what stores files of letters and writes the letters, if files are removed in between.
 * @param what the files, in the words of the error
 * @param attempt stores the files and writes the letters. It throws FileGoneError if it has to be repeated
 * @throws AppError unavailable if files are removed again and again, or cannot be stored again
 */
export async function untilFilesStay<Result>(
  what: string,
  attempt: () => Promise<Result>,
  mayStoreAgain = true,
): Promise<Result> {
  for (let left = MAX_LOST_FILES; ; left -= 1) {
    try {
      return await attempt();
    } catch (error) {
      if (!(error instanceof FileGoneError)) throw error;
      if (left === 0 || !mayStoreAgain)
        throw new AppError('unavailable', `${what} was removed meanwhile; try again`);
    }
  }
}

/** Creates the function that stores the files of a letter and accepts its copies, all or none. */
export function createLetterAcceptor(
  attachments: Pick<Attachments, 'storeFiles' | 'releaseFiles'>,
  acceptSet: AcceptSet,
): AcceptLetter {
  return async (tenant, keyed, wish) => {
    const { letter } = wish;
    const files = letter.opaque ? [letter.opaque.body] : wish.files;
    // The bytes of a file that is already in the blob store are not here, so they cannot be stored again.
    const mayStoreAgain = files.every(({ blobKey = null }) => blobKey === null);
    const until = wish.message.scheduled_at;
    const attempt = async () => {
      const stored = await attachments.storeFiles(tenant, files, { until });
      const rows = rowsOf(letter, keyed);
      const content = contentOfLetter(letter, stored);
      const letters = [{ first: 0, count: rows.length, letter: { ...letter.letter, ...content } }];
      try {
        const { outcomes } = await acceptSet(rows, { atomic: true, letters });
        return acceptedLetter(wish, stored, acceptedOf(outcomes));
      } catch (error) {
        // If it is unknown whether the letter was committed, its files must stay until housekeeping checks them.
        if (error instanceof AppError && error.code !== 'unavailable') {
          await attachments.releaseFiles(tenant, files);
        }
        throw error;
      }
    };
    return untilFilesStay('a file of the message', attempt, mayStoreAgain);
  };
}
