import { createHmac, generateKeyPairSync, sign } from 'node:crypto';
import {
  addProvider,
  type NamedProvider,
  requireProviderKind,
} from '../../src/delivery/wire/providers/named.ts';
import type { Queryable } from '../../src/platform/db/queryable.ts';
import { createKeyring } from '../../src/platform/secrets/keyring.ts';
import { TEST_SECRET } from './api.ts';

const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
const MAILGUN_KEY = 'signing-0123456789abcdef';

/** The settings under which the callbacks below are genuine. */
export const callbackSettings: Record<string, Record<string, unknown>> = {
  sendgrid: {
    api_key: 'SG.0123456789.abcdefghijkl',
    verification_key: publicKey.export({ format: 'der', type: 'spki' }).toString('base64'),
  },
  mailgun: { api_key: 'key-0123456789abcdef', webhook_signing_key: MAILGUN_KEY },
};

/** Adds a named provider, like `carillon provider add` does. */
export function addTestProvider(db: Queryable, name: string, kind: string): Promise<NamedProvider> {
  const settings = callbackSettings[kind] ?? {};
  return addProvider(db, createKeyring(TEST_SECRET), { name, kind: requireProviderKind(kind), settings });
}

/** A request of a service to a callback URL. */
export interface SignedCallback {
  body: string;
  headers: Record<string, string>;
}

/** Signs any content like SendGrid does. */
export function signAsSendgrid(content: unknown): SignedCallback {
  const timestamp = String(Math.floor(Date.now() / 1_000));
  const body = JSON.stringify(content);
  const signature = sign('sha256', Buffer.from(timestamp + body), privateKey).toString('base64');
  return {
    body,
    headers: {
      'content-type': 'application/json',
      'x-twilio-email-event-webhook-timestamp': timestamp,
      'x-twilio-email-event-webhook-signature': signature,
    },
  };
}

/** SendGrid events, each with the reference of its message. */
export function sendgridCallback(events: readonly { event: string; reference: string }[]): SignedCallback {
  return signAsSendgrid(
    events.map(({ reference, ...event }) => ({
      ...event,
      timestamp: Math.floor(Date.now() / 1_000),
      sg_message_id: 'abc.recvd-1',
      carillon_reference: reference,
    })),
  );
}

/** Signs a token like Mailgun does. The signature does not cover the event. */
export function signAsMailgun(token: string, event: unknown): SignedCallback {
  const timestamp = String(Math.floor(Date.now() / 1_000));
  const signature = createHmac('sha256', MAILGUN_KEY)
    .update(timestamp + token)
    .digest('hex');
  return {
    body: JSON.stringify({ signature: { timestamp, token, signature }, 'event-data': event }),
    headers: { 'content-type': 'application/json' },
  };
}

export function mailgunCallback(token: string, event: string, reference: string): SignedCallback {
  const timestamp = Math.floor(Date.now() / 1_000);
  return signAsMailgun(token, { event, timestamp, 'user-variables': { carillon: reference } });
}
