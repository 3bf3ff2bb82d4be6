import type { MessageKey } from '../../delivery/ledger/accept/kept-keys.ts';
import { keySpace } from '../../platform/db/idempotency.ts';
import type { MessageDraft } from './draft.ts';

export const MESSAGES_ENDPOINT = 'POST /v1/my/messages';
const LIVE_KEYS = keySpace(MESSAGES_ENDPOINT, false);
export const TEST_KEYS = keySpace(MESSAGES_ENDPOINT, true);

/** A message with or without an idempotency key. */
interface Keyed {
  draft: Pick<MessageDraft, 'test'>;
  idempotencyKey: string | null;
  fingerprint: Buffer | null;
}

/** The key of a message as it is kept; undefined if it has none. */
export const messageKeyOf = ({ draft, idempotencyKey: key, fingerprint }: Keyed): MessageKey | undefined =>
  key === null
    ? undefined
    : { endpoint: draft.test ? TEST_KEYS : LIVE_KEYS, key, fingerprint: fingerprint ?? Buffer.alloc(0) };
