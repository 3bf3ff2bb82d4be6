import { setTimeout as delay } from 'node:timers/promises';

export interface Sending {
  apiPort: number;
  apiKey: string;
  /** Recipients are `<prefix>-<n>@example.com`. Each message's idempotency key is its recipient. */
  prefix: string;
  /**
   * Returns the fields of a message in addition to its channel and recipient; by default a subject and a text. Called for
   * each request, and again if it throws.
   */
  fieldsOf?: (to: string) => object | Promise<object>;
  count: number;
  /** Number of concurrent requests. */
  parallel: number;
  /** Returns the number of mails that have arrived. While `ahead` more messages are accepted, no request is sent. */
  arrived: () => number;
  ahead: number;
  /**
   * When it is aborted, the connections of all open requests break, and their responses are not read. Each request reads
   * this property.
   */
  outage: AbortSignal;
}

/** A message that got a 2xx response. */
export interface Accepted {
  id: number;
  to: string;
  at: number;
  /** Whether an earlier request had already created the message. */
  replayed: boolean;
}

const RETRY_MS = 50;
const REQUEST_LIMIT_MS = 30_000;
const PROGRESS_LIMIT_MS = 90_000;

const textOf = (to: string) => ({
  subject: `To ${to} 📬`,
  html: `<p>Hello, ${to}: everything accepted arrives.</p>`,
});

async function requestOf({ apiKey, fieldsOf = textOf }: Sending, to: string): Promise<RequestInit> {
  return {
    method: 'POST',
    headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json', 'idempotency-key': to },
    body: JSON.stringify({ channel: 'email', to, ...(await fieldsOf(to)) }),
  };
}

interface Answer {
  status: number;
  text: string;
  replayed: boolean;
}

/** Sends one request. Returns null if no response came. */
async function ask(sending: Sending, to: string): Promise<Answer | null> {
  try {
    const request = await requestOf(sending, to);
    const { apiPort, outage } = sending;
    const limit = AbortSignal.timeout(REQUEST_LIMIT_MS);
    const signal = outage.aborted ? limit : AbortSignal.any([limit, outage]);
    const url = `http://127.0.0.1:${apiPort}/v1/my/messages`;
    const response = await fetch(url, { ...request, signal });
    const replayed = response.headers.get('idempotent-replayed') === 'true';
    return { status: response.status, text: await response.text(), replayed };
  } catch {
    return null;
  }
}

/** Returns null if the same request must be sent again. */
async function tryOnce(sending: Sending, to: string): Promise<Accepted | null> {
  const answer = await ask(sending, to);
  if (!answer || answer.status >= 500) return null;
  if (answer.status >= 300) throw new Error(`${to} was rejected with ${answer.status}: ${answer.text}`);
  const { id } = JSON.parse(answer.text) as { id: number };
  return { id, to, at: Date.now(), replayed: answer.replayed };
}

async function sendOne(sending: Sending, to: string): Promise<Accepted> {
  const end = Date.now() + PROGRESS_LIMIT_MS;
  while (Date.now() < end) {
    const accepted = await tryOnce(sending, to);
    if (accepted) return accepted;
    await delay(RETRY_MS);
  }
  throw new Error(`${to} was not accepted within ${PROGRESS_LIMIT_MS} ms`);
}

async function untilCaughtUp({ ahead, arrived }: Sending, accepted: readonly Accepted[]): Promise<void> {
  const end = Date.now() + PROGRESS_LIMIT_MS;
  while (accepted.length - arrived() >= ahead) {
    if (Date.now() > end) throw new Error(`only ${arrived()} of ${accepted.length} mails have arrived`);
    await delay(5);
  }
}

export interface Sent {
  /** The messages accepted so far. */
  readonly accepted: readonly Accepted[];
  /** Rejects on a 4xx response, or if the API or the mails stop for too long. */
  readonly done: Promise<unknown>;
}

/** Sends messages like a careful client does: repeats each request, with its idempotency key, until it gets a 2xx. */
export function startSending(sending: Sending): Sent {
  const accepted: Accepted[] = [];
  let next = 0;
  const sendNext = async () => {
    for (;;) {
      await untilCaughtUp(sending, accepted);
      if (next >= sending.count) return;
      accepted.push(await sendOne(sending, `${sending.prefix}-${next++}@example.com`));
    }
  };
  return { accepted, done: Promise.all(Array.from({ length: sending.parallel }, sendNext)) };
}
