import type { MessageKey } from '../../delivery/ledger/accept/kept-keys.ts';
import { keySpace } from '../../platform/db/idempotency.ts';
import type { MessageDraft } from './draft.ts';

export const MESSAGES_ENDPOINT = 'POST /v1/my/messages';
const LIVE_KEYS = keySpace(MESSAGES_ENDPOINT, false);
export const TEST_KEYS = keySpace(MESSAGES_ENDPOINT, true);

/** A key that no client chose, in a space of its own. It has the fingerprint of the message. */
export interface HiddenKey {
  /** The name of its space, without that of test keys. */
  endpoint: string;
  key: string;
}

/** A message with or without an idempotency key. */
interface Keyed {
  draft: Pick<MessageDraft, 'test'>;
  idempotencyKey: string | null;
  fingerprint: Buffer | null;
  hiddenKey?: HiddenKey | undefined;
}

/** The key of a message as it is kept; undefined if it has none. */
export function messageKeyOf(message: Keyed): MessageKey | undefined {
  const { draft, idempotencyKey: key, fingerprint: given, hiddenKey } = message;
  const fingerprint = given ?? Buffer.alloc(0);
  if (key !== null) return { endpoint: draft.test ? TEST_KEYS : LIVE_KEYS, key, fingerprint };
  if (!hiddenKey) return undefined;
  const endpoint = keySpace(hiddenKey.endpoint, draft.test);
  return { endpoint, key: hiddenKey.key, fingerprint, shown: false };
}
