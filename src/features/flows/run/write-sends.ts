/** Writes the messages of steps. A limit may refuse some of them, which undoes nothing else of the transaction. */
import type { NewRenderedMessage, WrittenMessage } from '../../../delivery/ledger/accept/new-message.ts';
import type { TrackingDefaults } from '../../../delivery/ledger/accept/route.ts';
import { writeMessages } from '../../../delivery/ledger/accept/write-messages.ts';
import { findExceeding, isLimitRefusal } from '../../../delivery/ledger/limits/admission.ts';
import { isCounted, type LimitSettings } from '../../../delivery/ledger/limits/authority.ts';
import { messageClasses } from '../../../delivery/terms/message.ts';
import { AppError } from '../../../errors.ts';
import type { Queryable } from '../../../platform/db/queryable.ts';

export interface WriteDeps {
  tracking: TrackingDefaults;
  limits: LimitSettings;
}

/** The message of a run. */
export type RunMessage = NewRenderedMessage & { flow_id: number; flow_run_id: number };

/** By the ids of the messages: what was written, or the code of the limit that refused the message. */
export type Written = Map<number, WrittenMessage | { refused: string }>;

/** How often the messages that fit are found again, if other transactions have used up what was left for them. */
const MAX_LOOKS = 3;

interface Writing extends WriteDeps {
  trx: Queryable;
  flowId: number;
  outcomes: Written;
}

async function write(
  { trx, flowId, limits, tracking, outcomes }: Writing,
  messages: readonly RunMessage[],
): Promise<void> {
  const written = await writeMessages(trx, messages, {
    source: { class: messageClasses.flow, flow_id: flowId },
    limits,
    counted: messages.some(isCounted),
    tracking,
    rendered: true,
  });
  for (const [id, message] of written) outcomes.set(id, message);
}

/**
 * Writes messages, or none of them.
 * @returns why a limit refused them, which may be the daily limit of test messages; null if they are written
 */
async function tryToWrite(writing: Writing, messages: readonly RunMessage[]): Promise<AppError | null> {
  const { trx } = writing;
  await trx.query('savepoint flow_messages');
  try {
    await write(writing, messages);
    return null;
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    if (!isLimitRefusal(error) && error.code !== 'rate_limited') throw error;
    await trx.query('rollback to savepoint flow_messages');
    return error;
  }
}

/** Sets aside the messages that do not fit into what their account has left. @returns the others */
async function setAside(
  { trx, limits, outcomes }: Writing,
  messages: readonly RunMessage[],
): Promise<RunMessage[]> {
  const exceeding = await findExceeding(trx, messages, limits);
  for (const [{ id }, { code }] of exceeding) outcomes.set(id, { refused: code });
  return messages.filter((message) => !exceeding.has(message));
}

/** Writes a message unless a limit refuses it. */
async function writeAlone(writing: Writing, message: RunMessage): Promise<void> {
  const refusal = await tryToWrite(writing, [message]);
  if (refusal) writing.outcomes.set(message.id, { refused: refusal.code });
}

/**
 * Writes as many of the messages as fit, the first ones. Other transactions may use up what was left before this one
 * has locked the counters. Once a part is written, they wait.
 */
async function writeFitting(writing: Writing, messages: readonly RunMessage[]): Promise<void> {
  const [first] = messages;
  if (first && messages.length === 1) return writeAlone(writing, first);
  for (let looks = 0; looks < MAX_LOOKS; looks += 1) {
    const fitting = await setAside(writing, messages);
    if (fitting.length === 0 || (await tryToWrite(writing, fitting)) === null) return;
  }
  const half = Math.ceil(messages.length / 2);
  await writeFitting(writing, messages.slice(0, half));
  await writeFitting(writing, messages.slice(half));
}

/**
 * Writes the messages of runs, in one statement for each flow. If a limit has too little left for them, it refuses those
 * of the last runs.
 * @param messages those of test runs are written alone, because their limit has no figures
 */
export async function writeSends(
  trx: Queryable,
  deps: WriteDeps,
  messages: readonly RunMessage[],
): Promise<Written> {
  const outcomes: Written = new Map();
  const ordered = messages.toSorted((one, other) => one.flow_run_id - other.flow_run_id);
  for (const [flowId, ofFlow] of Map.groupBy(ordered, (message) => message.flow_id)) {
    const writing = { ...deps, trx, flowId, outcomes };
    const live = ofFlow.filter(({ test }) => !test);
    if (live.some(isCounted)) await writeFitting(writing, live);
    else if (live.length > 0) await write(writing, live);
    for (const message of ofFlow.filter(({ test }) => test)) await writeAlone(writing, message);
  }
  return outcomes;
}
