import { LRUCache } from 'lru-cache';
import { isPaidByMessage } from '../../delivery/terms/units.ts';
import type { AppError } from '../../errors.ts';
import type { MessageDraft } from './draft.ts';

/** For one second, a refusal is repeated without asking the database. */
const KNOWN = { max: 10_000, ttl: 1_000 };

/** Refusals of the last second: messages that their accounts could not pay. */
export class KnownRefusals {
  readonly #byName = new LRUCache<string, AppError>(KNOWN);
  #raises = 0;

  /** How often accounts could pay more than before. A refusal from before that must not be remembered. */
  get raises(): number {
    return this.#raises;
  }

  static #nameOf({ account_id, channel, to_key, segments }: MessageDraft): string {
    // Numbers with the same beginning are in the same country, and cost the same.
    return isPaidByMessage(channel)
      ? `${account_id}`
      : `${account_id}/${to_key.slice(0, 8)}/${segments ?? 1}`;
  }

  find(draft: MessageDraft): AppError | null {
    return (draft.test ? null : this.#byName.get(KnownRefusals.#nameOf(draft))) ?? null;
  }

  /** Forgets the refusals of accounts that can pay more now. @param accountIds null: of all accounts */
  forget(accountIds: readonly number[] | null): void {
    this.#raises += 1;
    if (accountIds === null) return this.#byName.clear();
    const raised = new Set(accountIds.map(String));
    for (const name of [...this.#byName.keys()]) {
      if (raised.has(name.split('/', 1)[0] ?? '')) this.#byName.delete(name);
    }
  }

  /** @param raises as they were before the database was asked */
  add(draft: MessageDraft, error: AppError, raises = this.#raises): void {
    if (raises !== this.#raises || error.code === 'validation_error') return;
    this.#byName.set(KnownRefusals.#nameOf(draft), error);
  }
}
