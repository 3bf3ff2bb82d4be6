import { createHash } from 'node:crypto';
import pino from 'pino';
import { z } from 'zod';
import { messageReference } from '../../src/delivery/terms/addresses/reference.ts';
import type {
  CallbackRequest,
  CallbackResult,
  InboundSms,
  ProviderFact,
  ProviderKind,
} from '../../src/delivery/wire/adapters/kind.ts';
import type { NamedProvider } from '../../src/delivery/wire/providers/named.ts';
import { createRecipientFence } from '../../src/delivery/ledger/consent/recipient-fence.ts';
import { createCallbackRecording } from '../../src/features/callbacks/recording.ts';
import { type CallbackDeps, type Callbacks, createCallbacks } from '../../src/features/callbacks/service.ts';
import type { Database } from '../../src/platform/db/database.ts';
import type { Egress } from '../../src/platform/egress/client.ts';
import { createKeyring } from '../../src/platform/secrets/keyring.ts';
import { TEST_SECRET } from './api.ts';
import { testEvents } from './events.ts';

/** A report in a callback of the service below. */
export interface TestItem {
  reference: string | null;
  type: ProviderFact['type'];
  id?: string;
  response?: string;
  optedOut?: true;
}

const bounce = { type: 'hard', subtype: 'no_such_mailbox', diagnostic: '550 5.1.1 unknown' } as const;

function factOf({ reference, type, id, response, optedOut }: TestItem): ProviderFact {
  return {
    reference,
    providerMessageId: id ?? null,
    type,
    occurredAt: new Date(),
    response: response ?? null,
    bounce: type === 'bounced' ? bounce : null,
    failure: type === 'failed' ? { code: 'rejected', message: 'dropped' } : null,
    suppresses: true,
    ...(optedOut && { optedOut }),
  };
}

/** A service that signs its callbacks with the word `genuine`. */
const testKind: ProviderKind = {
  name: 'test',
  channel: 'email',
  title: 'Test',
  settings: z.strictObject({}),
  secrets: [],
  repeatable: false,
  create() {
    throw new Error('sends nothing');
  },
  check: () => Promise.resolve(null),
  callbacks: {
    parseCallback({ headers, body }): Promise<CallbackResult> {
      if (headers['x-signature'] !== 'genuine') return Promise.resolve({ kind: 'refused', reason: 'wrong' });
      const {
        items = [],
        token,
        confirm,
        unavailable,
        inbound = [],
      } = JSON.parse(body.toString('utf8')) as {
        items?: TestItem[];
        token?: string;
        confirm?: string;
        unavailable?: string;
        inbound?: InboundSms[];
      };
      if (confirm !== undefined) return Promise.resolve({ kind: 'confirm', url: confirm });
      if (unavailable !== undefined) return Promise.resolve({ kind: 'unavailable', reason: unavailable });
      const onceTokens = token === undefined ? [] : [token];
      return Promise.resolve({
        kind: 'reports',
        facts: items.map(factOf),
        inbound,
        ignored: 0,
        onceTokens,
      });
    },
  },
};

/** A named provider of that service. */
export function testProvider(name: string, id = 1): NamedProvider {
  const callbackToken = createHash('sha256').update(name).digest('hex');
  const at = new Date();
  return {
    id,
    name,
    channel: 'email',
    kind: testKind,
    settings: {},
    callbackToken,
    accountIds: null,
    createdAt: at,
    updatedAt: at,
  };
}

/** A callback of that service. */
export function testCallback(body: unknown, signature = 'genuine'): CallbackRequest {
  return {
    headers: { 'x-signature': signature },
    body: Buffer.from(JSON.stringify(body)),
    url: 'https://mail.test/callbacks/test/x',
    now: new Date(),
  };
}

const keyring = createKeyring(TEST_SECRET);

/** A message's reference in the form that a provider returns. */
export function testReference(accountId: number, messageId: number): string {
  return messageReference(keyring.subkey('reference').key, { accountId, messageId });
}

/**
 * Takes callbacks like the api role does.
 * @param takeSms handles inbound SMS; by default none may arrive
 */
export function testCallbacks(
  { pool }: Database,
  egress: Egress,
  takeSms: CallbackDeps['takeSms'] = () => Promise.reject(new Error('an inbound SMS')),
): Callbacks {
  const log = pino({ level: 'silent' });
  const waker = { wake: () => undefined };
  const fence = createRecipientFence(pool);
  const recording = createCallbackRecording({ pool, keyring, events: testEvents, waker, fence, log });
  return createCallbacks({ keyring, egress, recording, takeSms, log });
}
