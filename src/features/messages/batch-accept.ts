/** Writes the messages of a batch: each on its own, or all in one transaction. */
import type { NewAttachment, NewLetter } from '../../delivery/ledger/accept/new-letter.ts';
import { AppError } from '../../errors.ts';
import type { Tenant } from '../../platform/auth/tenant.ts';
import { mapSeveral } from '../../platform/processes/map-in-turns.ts';
import { bytesOf } from './accept.ts';
import type { SetOutcome, SetRow } from './accept-set.ts';
import type { JustAccepted } from './accepted.ts';
import { acceptedLetter, type AcceptedWish, rowsOf, untilFilesStay, type Wish } from './accept-letter.ts';
import type { SendDeps, SendParts } from './send.ts';

/** Maximum number and bytes of messages in one transaction, so that none holds its locks for long. */
const MAX_ROWS = 500;
const MAX_BYTES = 8 * 1024 * 1024;
/** Number of letters that are written at the same time. Each takes a connection. */
const LETTERS_AT_ONCE = 4;

/** A message of a batch that is to be sent. */
export interface BatchWish {
  place: number;
  keyed: Pick<SetRow, 'idempotencyKey' | 'fingerprint' | 'hiddenKey'>;
  wish: Wish;
}

/** What became of a message. */
export type Fate =
  | { kind: 'written'; accepted: JustAccepted }
  /** Written before. `replayed`: by another request with its key, and not by an earlier try of this batch. */
  | { kind: 'there'; id: number; replayed: boolean }
  | { kind: 'refused'; error: AppError };

export type Fates = ReadonlyMap<number, Fate>;

function fateOf({ keyed }: BatchWish, outcome: AcceptedWish): Fate {
  const { idempotencyKey, hiddenKey } = keyed;
  if (outcome.kind === 'written')
    return { kind: 'written', accepted: { ...outcome.accepted, idempotencyKey } };
  return { kind: 'there', id: outcome.id, replayed: hiddenKey === undefined };
}

function plainFate(wish: BatchWish, outcome: SetOutcome): Fate {
  if (outcome.kind === 'refused') return outcome;
  const { message: draft } = wish.wish;
  return fateOf(
    wish,
    outcome.kind === 'replayed'
      ? outcome
      : { kind: 'written', accepted: { draft, written: outcome.message, letter: null } },
  );
}

const rowOf = ({ keyed, wish }: BatchWish): SetRow => ({ draft: wish.message, ...keyed });

/** Divides messages into those of one transaction each. */
function chunksOf(wishes: readonly BatchWish[]): BatchWish[][] {
  const chunks: BatchWish[][] = [];
  let bytes = 0;
  for (const each of wishes) {
    const size = bytesOf(each.wish.message);
    const chunk = chunks.at(-1);
    if (chunk && chunk.length < MAX_ROWS && bytes + size <= MAX_BYTES) {
      chunk.push(each);
      bytes += size;
    } else {
      chunks.push([each]);
      bytes = size;
    }
  }
  return chunks;
}

/** @throws what is no AppError */
function refusalOf(error: unknown): Fate {
  if (error instanceof AppError) return { kind: 'refused', error };
  throw error;
}

/** Accepts messages, each on its own. */
export async function acceptEach(
  _deps: SendDeps,
  { acceptSet, acceptLetter }: SendParts,
  tenant: Tenant,
  wishes: readonly BatchWish[],
): Promise<Fates> {
  const fates = new Map<number, Fate>();
  for (const chunk of chunksOf(wishes.filter(({ wish }) => !wish.letter))) {
    try {
      const { outcomes } = await acceptSet(chunk.map(rowOf), { atomic: false });
      for (const [n, each] of chunk.entries())
        fates.set(each.place, plainFate(each, outcomes[n] as SetOutcome));
    } catch (error) {
      for (const { place } of chunk) fates.set(place, refusalOf(error));
    }
  }
  const letters = wishes.filter(({ wish }) => wish.letter);
  await mapSeveral(letters, LETTERS_AT_ONCE, async (each) => {
    const { place, keyed, wish } = each;
    const { letter } = wish;
    if (!letter) return;
    try {
      fates.set(place, fateOf(each, await acceptLetter(tenant, keyed, { ...wish, letter })));
    } catch (error) {
      fates.set(place, refusalOf(error));
    }
  });
  return fates;
}

interface Stored {
  each: BatchWish;
  files: NewAttachment[];
}

async function storeFiles({ attachments }: SendDeps, tenant: Tenant, wishes: readonly BatchWish[]) {
  return mapSeveral(wishes, LETTERS_AT_ONCE, async (each): Promise<Stored> => {
    const { letter, files, message } = each.wish;
    const until = message.scheduled_at;
    return { each, files: letter ? await attachments.storeFiles(tenant, files, { until }) : [] };
  });
}

/** The messages as one set, in which the copies of a letter follow each other. */
function setOf(stored: readonly Stored[]) {
  const rows: SetRow[] = [];
  const letters: { first: number; count: number; letter: NewLetter }[] = [];
  for (const { each, files } of stored) {
    const { letter } = each.wish;
    if (!letter) {
      rows.push(rowOf(each));
      continue;
    }
    const copies = rowsOf(letter, each.keyed);
    letters.push({ first: rows.length, count: copies.length, letter: { ...letter.letter, files } });
    rows.push(...copies);
  }
  return { rows, letters };
}

/** @returns undefined if nothing is wrong with the message, but another one is refused */
function togetherFate({ each, files }: Stored, outcomes: readonly SetOutcome[]): Fate | undefined {
  const kept = outcomes.filter((outcome) => outcome.kind !== 'refused');
  if (kept.length < outcomes.length) {
    const own = outcomes.find((each) => each.kind === 'refused' && !(each.error.cause instanceof AppError));
    return own?.kind === 'refused' ? own : undefined;
  }
  const { letter } = each.wish;
  if (!letter) return plainFate(each, outcomes[0] as SetOutcome);
  return fateOf(each, acceptedLetter({ ...each.wish, letter }, files, kept));
}

/**
 * Accepts all messages in one transaction, or none.
 * @returns if none is accepted, only the fates of those that are refused for a reason of their own
 * @throws AppError if it is not a message that is wrong
 */
export async function acceptTogether(
  deps: SendDeps,
  { acceptSet }: SendParts,
  tenant: Tenant,
  wishes: readonly BatchWish[],
): Promise<Fates> {
  if (wishes.length === 0) return new Map();
  const release = () =>
    mapSeveral(wishes, LETTERS_AT_ONCE, ({ wish }) => deps.attachments.releaseFiles(tenant, wish.files));
  return untilFilesStay('a file', async () => {
    const stored = await storeFiles(deps, tenant, wishes);
    const { rows, letters } = setOf(stored);
    const { committed, outcomes } = await acceptSet(rows, {
      atomic: true,
      ...(letters.length > 0 && { letters }),
    });
    if (!committed) await release();
    let next = 0;
    return new Map(
      stored.flatMap((each) => {
        const count = each.each.wish.letter?.copies.length ?? 1;
        const fate = togetherFate(each, outcomes.slice(next, (next += count)));
        return fate ? [[each.each.place, fate] as const] : [];
      }),
    );
  });
}
