import { createHash, randomBytes } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import {
  addProvider,
  type NamedProvider,
  requireProviderKind,
} from '../../../src/delivery/wire/providers/named.ts';
import { createKeyring } from '../../../src/platform/secrets/keyring.ts';
import { eventually } from '../eventually.ts';
import { type ReceivedRequest, startReceiver } from '../https-receiver.ts';
import { callbackSettings, mailgunCallback } from '../signed-callbacks.ts';
import { CRASH_SECRET, type CrashStage } from './stage.ts';

/** A message that a service has accepted, although its client may not have noticed. */
export interface Taken {
  reference: string;
  to: string;
  /** The hash of what was handed over. */
  sha256: string;
  at: number;
}

/** A service with an HTTP API, in this process, and the named provider that uses it. */
export interface CrashService {
  provider: NamedProvider;
  /** Every request with a message, including repeated ones. */
  taken: Taken[];
  /** How many requests have no response yet. */
  unanswered: number;
  /** Called with each request before its response. */
  onTaken: (() => void) | null;
  /** The service responds to no request until the returned function is called. */
  hold(): () => void;
  /** Makes the service report messages as delivered, including those that it already has. */
  startReports(): void;
  close(): Promise<void>;
}

/** Slow enough that some requests are in progress whenever a sender is killed. */
const REPLY_MS = 100;

const hashOf = (text: string) => createHash('sha256').update(text).digest('hex');

const partOf = (body: string, name: string) =>
  new RegExp(`name="${name}"\\r\\n\\r\\n([^\\r]*)`).exec(body)?.[1] ?? '';

/** Resend recognizes a repeated request by its idempotency key. */
const resend = {
  settings: {
    api_key: 're_0123456789',
    webhook_secret: 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw',
    requests_per_second: 1_000,
  },
  read({ headers, body }: ReceivedRequest): Omit<Taken, 'at'> {
    const { to } = JSON.parse(body) as { to: [string] };
    return { reference: String(headers['idempotency-key']), to: to[0], sha256: hashOf(body) };
  },
  reply: (reference: string) => ({ id: `resend-${hashOf(reference).slice(0, 20)}` }),
};

/** Mailgun treats every request as a new message, and reports its outcome. */
const mailgun = {
  settings: callbackSettings.mailgun ?? {},
  read({ body }: ReceivedRequest): Omit<Taken, 'at'> {
    // The boundary of the form differs from request to request.
    const message = body.slice(body.indexOf('name="message"')).split(/\r\n--[^\r\n]+--\r\n$/)[0] ?? '';
    return { reference: partOf(body, 'v:carillon'), to: partOf(body, 'to'), sha256: hashOf(message) };
  },
  reply: (reference: string) => ({ id: `<${hashOf(reference).slice(0, 20)}@mailgun>`, message: 'Queued' }),
};

const kinds = { resend, mailgun };

/** Repeats a callback until the response is 200, like services do. */
async function report(stage: CrashStage, { callbackToken }: NamedProvider, reference: string): Promise<void> {
  const url = `http://127.0.0.1:${stage.apiPort}/callbacks/mailgun/${callbackToken}`;
  const { body, headers } = mailgunCallback(randomBytes(25).toString('hex'), 'delivered', reference);
  await eventually(async () => {
    const response = await fetch(url, { method: 'POST', body, headers });
    if (response.status !== 200) throw new Error(`callback got the response ${response.status}`);
  }, 60_000);
}

/** Starts a service, adds its provider, and makes it the only one of an account. */
export async function startCrashService(
  stage: CrashStage,
  name: keyof typeof kinds,
  accountId: number,
): Promise<CrashService> {
  const { settings, read, reply } = kinds[name];
  const { pool } = stage.database;
  const receiver = await startReceiver();
  const base_url = `https://127.0.0.1:${receiver.port}`;
  const kind = requireProviderKind(name);
  const keyring = createKeyring(CRASH_SECRET);
  const provider = await addProvider(pool, keyring, {
    name: `crash-${name}`,
    kind,
    settings: { ...settings, base_url },
  });
  await pool.query('update accounts set email_provider_ids = array[$2::bigint] where id = $1', [
    accountId,
    provider.id,
  ]);
  let reports = false;
  let answering: Promise<unknown> = Promise.resolve();
  let reporting = Promise.resolve();
  const reportTaken = (reference: string) => {
    reporting = reporting.then(() => report(stage, provider, reference));
    reporting.catch(() => undefined);
  };
  const service: CrashService = {
    provider,
    taken: [],
    unanswered: 0,
    onTaken: null,
    hold() {
      const { promise, resolve } = Promise.withResolvers<undefined>();
      answering = promise;
      return () => resolve(undefined);
    },
    startReports() {
      reports = true;
      for (const { reference } of service.taken) reportTaken(reference);
    },
    async close() {
      await reporting;
      await receiver.close();
    },
  };
  receiver.answer = async (request, response) => {
    const message = read(request);
    service.taken.push({ ...message, at: Date.now() });
    service.unanswered += 1;
    service.onTaken?.();
    if (reports) reportTaken(message.reference);
    await delay(REPLY_MS);
    await answering;
    service.unanswered -= 1;
    response
      .writeHead(200, { 'content-type': 'application/json' })
      .end(JSON.stringify(reply(message.reference)));
  };
  return service;
}
