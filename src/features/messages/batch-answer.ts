/** Shows what became of the messages of a batch. */
import { AppError, errorBody } from '../../errors.ts';
import type { Tenant } from '../../platform/auth/tenant.ts';
import { mapSeveral } from '../../platform/processes/map-in-turns.ts';
import type { Fate, Fates } from './batch-accept.ts';
import type { KeptResult } from './batch-record.ts';
import type { BatchResource } from './batch-schema.ts';
import { type Reader, withoutHiddenLetter } from './letter-presenter.ts';
import { type AcceptedMessage, presentMessage } from './presenter.ts';
import { findMessages } from './scan.ts';
import { findStored, type SendDeps } from './send.ts';

/** Number of letters that are read at the same time. Each takes two connections. */
const LETTERS_AT_ONCE = 2;

/** What a batch keeps of what became of a message. */
export function keptResult(fate: Fate): KeptResult {
  if (fate.kind === 'written') return { id: fate.accepted.written.id };
  if (fate.kind === 'there') return { id: fate.id, ...(fate.replayed ? { replayed: true as const } : {}) };
  const { error: _isError, ...error } = errorBody(fate.error);
  return { error };
}

type Deps = Pick<SendDeps, 'pool' | 'letters' | 'presentAccepted'>;

/** Reads messages that were written before. Those that were removed since are missing. */
async function readMessages(
  deps: Deps,
  tenant: Tenant,
  reader: Reader,
  ids: readonly number[],
): Promise<Map<number, AcceptedMessage>> {
  if (ids.length === 0) return new Map();
  const rows = await findMessages(deps.pool, tenant, ids);
  const found = await mapSeveral(rows, LETTERS_AT_ONCE, async (row): Promise<AcceptedMessage[]> => {
    if (typeof row.letter_id !== 'number') return [presentMessage(withoutHiddenLetter(reader, row))];
    try {
      return [await findStored(deps, { tenant, reader }, row.id)];
    } catch (error) {
      if (error instanceof AppError && error.code === 'not_found') return [];
      throw error;
    }
  });
  return new Map(found.flat().map((message) => [message.id, message]));
}

const idOf = (result: KeptResult): number | null => ('id' in result ? result.id : null);

/** @returns a function that shows results in their order; `fates` has the messages that this request has written */
export function createBatchPresenter(deps: Deps) {
  return async (
    tenant: Tenant,
    reader: Reader,
    kept: readonly KeptResult[],
    fates: Fates = new Map(),
  ): Promise<BatchResource> => {
    const accepted = [...fates.values()].flatMap((fate) => (fate.kind === 'written' ? [fate.accepted] : []));
    const written = await deps.presentAccepted(tenant, reader, accepted);
    const messages = new Map(written.map((message) => [message.id, message]));
    const others = kept.map(idOf).filter((id) => id !== null && !messages.has(id)) as number[];
    for (const [id, message] of await readMessages(deps, tenant, reader, others)) messages.set(id, message);
    const results = kept.map((result): BatchResource['results'][number] => {
      if ('error' in result) return { status: 'refused', error: result.error };
      const status = result.replayed ? 'replayed' : 'created';
      return { status, message: messages.get(result.id) ?? null };
    });
    const count = (status: BatchResource['results'][number]['status']) =>
      results.filter((result) => result.status === status).length;
    return {
      ...{ created: count('created'), replayed: count('replayed'), refused: count('refused') },
      results,
    };
  };
}
