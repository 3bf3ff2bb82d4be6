import type pg from 'pg';
import { keptOutcome } from '../../delivery/ledger/accept/kept-keys.ts';
import type { WrittenMessage } from '../../delivery/ledger/accept/new-message.ts';
import type { TrackingDefaults } from '../../delivery/ledger/accept/route.ts';
import { MESSAGE_ID_SEQUENCE, needsFunction } from '../../delivery/ledger/accept/write-messages.ts';
import { DEFAULT_PROVIDER } from '../../delivery/terms/backlog.ts';
import type { LETTER_QUEUE, RAW_QUEUE } from '../../delivery/terms/channels/queue-channel.ts';
import { type Admission, createAdmission } from '../../delivery/ledger/limits/admission.ts';
import type { LimitSettings } from '../../delivery/ledger/limits/authority.ts';
import { AppError } from '../../errors.ts';
import { createCoalescer } from '../../platform/db/coalescer.ts';
import { createIdAllocator, type IdAllocator } from '../../platform/db/id-allocator.ts';
import { isSameFingerprint, keyConflict } from '../../platform/db/idempotency.ts';
import { decide, type DecideDeps, type Outcome, type Row, type Submission } from './decide.ts';
import type { MessageDraft } from './draft.ts';
import { messageKeyOf } from './message-key.ts';
import { KnownRefusals } from './known-refusals.ts';
import { Payers } from './payers.ts';

const MAX_GROUP = 100;
/**
 * How long messages gather under a steady load, in ms: the statement itself costs as much as the rows of ten messages.
 */
const GROUP_INTERVAL_MS = 3;
const MAX_GROUP_BYTES = 8 * 1024 * 1024;

/** The message of a submission: written now, or by an earlier request with the same key. */
export type Accepted =
  { replayed: false; written: WrittenMessage } | { replayed: true; id: number; status: number };

export interface AcceptDeps {
  pool: pg.Pool;
  /** Settings of the limits that may refuse messages. */
  limits: LimitSettings;
  tracking: TrackingDefaults;
  /** Called after each commit with the messages of the group, some of which may not have been written. */
  onQueued: (messages: readonly QueuedMessage[]) => void;
  /**
   * Called once with a function that must be called when accounts may send more than before.
   * @param forget its argument is the accounts; null: perhaps all
   */
  watchFunds: (forget: (accountIds: readonly number[] | null) => void) => void;
}

export interface QueuedMessage {
  draft: MessageDraft;
  /** The provider whose share of the queue it waits in. */
  providerId: number;
  /** The queue it waits in, unless that is named as its channel. */
  queue?: typeof LETTER_QUEUE | typeof RAW_QUEUE;
}

/** What a process knows about accounts, and the ids that it has taken: one for all ways to accept messages. */
export interface AcceptMemory {
  ids: IdAllocator;
  admission: Admission;
  payers: Payers;
  known: KnownRefusals;
}

export function createAcceptMemory({ pool, limits, watchFunds }: AcceptDeps): AcceptMemory {
  const admission = createAdmission(pool, limits);
  const known = new KnownRefusals();
  watchFunds((accountIds) => {
    admission.raise(accountIds);
    known.forget(accountIds);
  });
  return { ids: createIdAllocator(pool, MESSAGE_ID_SEQUENCE), admission, payers: new Payers(), known };
}

/** The refusal of a message that need not ask the database, if it has no key. */
export const knownRefusal = (draft: MessageDraft, { admission, known }: AcceptMemory): AppError | null =>
  admission.knownRefusal(draft) ?? known.find(draft);

/** What the client gets; `again`: the message must be submitted again. */
type Answer = { accepted: Accepted } | { error: unknown } | 'again';

function answerOf(outcome: Outcome): Answer {
  switch (outcome.kind) {
    case 'written':
      return { accepted: { replayed: false, written: outcome.message } };
    case 'replayed':
      return { accepted: { replayed: true, id: outcome.id, status: outcome.status } };
    case 'conflict':
      return { error: keyConflict() };
    case 'refused':
    case 'failed':
      return { error: outcome.error };
    case 'missing':
      return { error: new AppError('unavailable', 'the message could not be written; try again') };
    case 'pays':
      return 'again';
  }
}

/** Senders that have nothing else to do look for messages of later times by themselves. */
const WOKEN_AHEAD_MS = 1_000;

/** @returns a list of one, or of none if nothing was written that is to be sent now */
export function queuedMessage(
  draft: MessageDraft,
  outcome: Outcome,
  queue?: QueuedMessage['queue'],
): QueuedMessage[] {
  if (outcome.kind !== 'written' && outcome.kind !== 'replayed') return [];
  const { scheduled_at: time } = draft;
  if (time && time.getTime() > Date.now() + WOKEN_AHEAD_MS) return [];
  const providerId = (outcome.kind === 'written' ? outcome.message.provider_id : null) ?? DEFAULT_PROVIDER;
  return [{ draft, providerId, ...(queue && { queue }) }];
}

/** A name of the key that is unique among all brands; null without a key. */
function keyName(submission: Submission): string | null {
  const found = messageKeyOf(submission);
  return found ? `${submission.draft.brand_id}/${found.endpoint}/${found.key}` : null;
}

/** Finds the leaders: the first of the messages with the same key, and every message without a key. */
export function findLeaders(rows: readonly Row[]): Map<Row, Row> {
  const first = new Map<string, Row>();
  return new Map(
    rows.map((row) => {
      const name = keyName(row);
      if (name === null) return [row, row];
      if (!first.has(name)) first.set(name, row);
      return [row, first.get(name) as Row];
    }),
  );
}

/** The answer to a follower, which depends on the outcome of its leader. */
function followerAnswer(row: Row, leader: Row, outcome: Outcome): Answer {
  const fingerprint = leader.fingerprint ?? Buffer.alloc(0);
  const replayed = (id: number, status: number) =>
    answerOf(keptOutcome({ fingerprint, resource_id: id, status }, row.fingerprint));
  if (outcome.kind === 'written') return replayed(outcome.message.id, 201);
  if (outcome.kind === 'replayed') return replayed(outcome.id, outcome.status);
  // The leader took no key. A follower with another payload may have another outcome.
  return isSameFingerprint(fingerprint, row.fingerprint) ? answerOf(outcome) : 'again';
}

/** Bytes of a message in the statement, roughly. */
export function bytesOf({ html, text, subject, headers, tags }: MessageDraft): number {
  const small = JSON.stringify([subject, headers, tags]).length;
  return small + Buffer.byteLength(html ?? '') + Buffer.byteLength(text ?? '');
}

/** Accepts the submissions that arrive together as one group. */
function createGroups(deps: AcceptDeps & AcceptMemory & DecideDeps) {
  return createCoalescer<Submission & { bytes: number }, Answer>({
    maxGroupSize: MAX_GROUP,
    bytes: { of: ({ bytes }) => bytes, max: MAX_GROUP_BYTES },
    // One group at a time: while it commits, the next one gathers, and larger groups cost less per message.
    concurrency: 1,
    intervalMs: GROUP_INTERVAL_MS,
    run: async (group) => {
      const taken = await deps.ids.take(group.length);
      const rows: Row[] = group.map((submission, index) => ({ ...submission, id: taken[index] ?? 0 }));
      const leaderOf = findLeaders(rows);
      const outcomes = await decide([...new Set(leaderOf.values())], deps);
      deps.onQueued([...outcomes].flatMap(([{ draft }, outcome]) => queuedMessage(draft, outcome)));
      return rows.map((row) => {
        const leader = leaderOf.get(row) as Row;
        const outcome = outcomes.get(leader) as Outcome;
        return leader === row ? answerOf(outcome) : followerAnswer(row, leader, outcome);
      });
    },
  });
}

/**
 * Accepts messages: each is committed with its queue row and its key before the response.
 *
 * Submissions that arrive together become a group, written by one statement. If several submissions have the same key,
 * the first leads, and its followers replay its result. Messages of accounts that have reached a limit are left out,
 * and for one second further ones are refused without asking the database, unless the account may send more meanwhile.
 *
 * Messages that cost something form groups of their own, so that the others do not wait for locks on the accounts'
 * money. Those groups also take what only the function writes, such as a time to send. Messages of test keys wait until
 * other test messages of their accounts are counted, so they form groups of their own, too.
 * @param memory shared with the acceptor of sets
 * @returns a function that accepts one submission
 * @throws AppError idempotency_conflict, sandbox_limit_reached, spend_cap_reached, insufficient_funds, unavailable
 */
export function createAcceptor(
  deps: AcceptDeps,
  memory: AcceptMemory = createAcceptMemory(deps),
): (submission: Submission) => Promise<Accepted> {
  const groups = (money: DecideDeps['money']) => createGroups({ ...deps, ...memory, money });
  const [unpaid, tests, paid] = [groups('leave_out'), groups('leave_out'), groups('reserve')];
  return async (submission) => {
    const { draft } = submission;
    const key = messageKeyOf(submission);
    // A request with a key may repeat an accepted one, whatever its account has left.
    const refusal = key ? null : knownRefusal(draft, memory);
    if (refusal) throw refusal;
    const isRare = needsFunction({ ...draft, key, alias: submission.alias });
    const item = { ...submission, bytes: bytesOf(draft) };
    for (;;) {
      const live = isRare || memory.payers.pays(draft) ? paid : unpaid;
      const answer = await (draft.test ? tests : live).submit(item);
      if (answer === 'again') continue;
      if ('error' in answer) throw answer.error;
      return answer.accepted;
    }
  };
}
