import { setTimeout as delay } from 'node:timers/promises';

export interface Sending {
  apiPort: number;
  apiKey: string;
  /** Recipients are `<prefix>-<n>@example.com`; each message's key is its recipient. */
  prefix: string;
  count: number;
  /** Requests at once. */
  parallel: number;
}

/** A message that was answered with a 2xx. */
export interface Accepted {
  id: number;
  to: string;
  at: number;
}

const RETRY_MS = 50;
const PATIENCE_MS = 90_000;

/** @returns null where the same request is to be made again */
async function tryOnce(sending: Sending, to: string): Promise<number | null> {
  let response: Response;
  try {
    response = await fetch(`http://127.0.0.1:${sending.apiPort}/v1/my/messages`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${sending.apiKey}`,
        'content-type': 'application/json',
        'idempotency-key': to,
      },
      body: JSON.stringify({
        channel: 'email',
        to,
        subject: `To ${to} 📬`,
        html: `<p>Hello, ${to}: everything accepted arrives.</p>`,
      }),
      signal: AbortSignal.timeout(30_000),
    });
    const text = await response.text();
    if (response.ok) return (JSON.parse(text) as { id: number }).id;
    if (response.status < 500) throw new TypeError(`refused with ${response.status}: ${text}`);
  } catch (error) {
    if (error instanceof TypeError && error.message.startsWith('refused')) throw error;
  }
  return null;
}

async function sendOne(sending: Sending, to: string): Promise<Accepted> {
  const end = Date.now() + PATIENCE_MS;
  while (Date.now() < end) {
    const id = await tryOnce(sending, to);
    if (id !== null) return { id, to, at: Date.now() };
    await delay(RETRY_MS);
  }
  throw new Error(`${to} was not accepted within ${PATIENCE_MS} ms`);
}

/**
 * What a careful client does: each message under an idempotency key, asked for again under the same key until a 2xx
 * says that it is accepted.
 * @throws Error at a 4xx, or where the API stays away
 */
export async function sendAll(sending: Sending): Promise<Accepted[]> {
  const accepted: Accepted[] = [];
  let next = 0;
  const sendNext = async () => {
    while (next < sending.count)
      accepted.push(await sendOne(sending, `${sending.prefix}-${next++}@example.com`));
  };
  await Promise.all(Array.from({ length: sending.parallel }, sendNext));
  return accepted;
}
