/** Clients that send messages in three ways, and repeat each request until it is accepted. */
import { setTimeout as delay } from 'node:timers/promises';
import { type SmtpDialogue, startDialogue } from '../smtp-dialogue.ts';
import { logIn, mailOver } from '../submission.ts';

/** The number of messages in a batch. */
const BATCH = 10;
const RETRY_MS = 50;
const REQUEST_LIMIT_MS = 30_000;
const PROGRESS_LIMIT_MS = 90_000;

/** By the remainder of a message's number. */
export const ways = ['request', 'batch', 'smtp'] as const;
export type Way = (typeof ways)[number];
export const wayOf = (n: number): Way => ways[n % ways.length] as Way;

export interface Submission {
  apiPort: number;
  smtpPort: number;
  apiKey: string;
  /** Of all messages. */
  from: string;
  /** Recipients are `<prefix>-<n>@example.com`, and of some messages also `cc-<prefix>-<n>@example.com`. */
  prefix: string;
  count: number;
  /** Number of clients of each way. */
  parallel: number;
  /** While `ahead` more messages are accepted than have arrived, none is sent. */
  arrived: () => number;
  ahead: number;
  /** How long before its time a message is sent, of every third one. */
  scheduledMs: number;
}

/** What is sent, the same whenever it is sent again. */
export interface SubmittedMessage {
  n: number;
  to: string;
  cc: string | null;
  subject: string;
  /** Null: it leaves at once. */
  scheduledAt: Date | null;
}

export interface Submitters {
  /** By the number of the message; each has its id. */
  readonly accepted: ReadonlyMap<number, number>;
  readonly messages: ReadonlyMap<number, SubmittedMessage>;
  /** Number of repeated requests and mails that had been accepted before. */
  readonly replayed: Readonly<Record<Way, number>>;
  /** Rejects if a message is refused for good, or not accepted for too long. */
  readonly done: Promise<unknown>;
  /** Breaks the connections of all requests that are open. */
  breakConnections(): void;
}

/** Thrown by requests that may be repeated. */
class NoAnswer extends Error {}

interface Client {
  submission: Submission;
  outage(): AbortSignal;
  onReplay(way: Way): void;
}

const textsOf = ({ to, subject }: SubmittedMessage) => ({
  subject,
  html: `<p>Hello, ${to}: everything accepted arrives.</p>`,
});

const fieldsOf = (message: SubmittedMessage) => ({
  ...{ channel: 'email', to: message.cc === null ? message.to : [message.to] },
  ...(message.cc === null ? {} : { cc: [message.cc] }),
  ...textsOf(message),
  ...(message.scheduledAt ? { scheduled_at: message.scheduledAt.toISOString() } : {}),
});

async function post<T>(
  way: Way,
  { submission: { apiPort, apiKey }, outage, onReplay }: Client,
  path: string,
  key: string,
  body: object,
): Promise<T> {
  const headers = { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' };
  const request = async () => {
    const response = await fetch(`http://127.0.0.1:${apiPort}/v1/my/messages${path}`, {
      method: 'POST',
      headers: { ...headers, 'idempotency-key': key },
      body: JSON.stringify(body),
      signal: AbortSignal.any([AbortSignal.timeout(REQUEST_LIMIT_MS), outage()]),
    });
    return { response, text: await response.text() };
  };
  const { response, text } = await request().catch((cause: unknown) => {
    throw new NoAnswer('no response', { cause });
  });
  if (response.status >= 500) throw new NoAnswer(text);
  if (response.status >= 300) throw new Error(`${key} was refused with ${response.status}: ${text}`);
  if (response.headers.get('idempotent-replayed') === 'true') onReplay(way);
  return JSON.parse(text) as T;
}

type Send = (messages: SubmittedMessage[]) => Promise<number[]>;

function createRequests(client: Client): Send {
  return async (messages) => {
    const ids: number[] = [];
    for (const message of messages)
      ids.push((await post<{ id: number }>('request', client, '', message.to, fieldsOf(message))).id);
    return ids;
  };
}

interface BatchAnswer {
  results: { status: string; message?: { id: number }; error?: object }[];
}

function createBatches(client: Client): Send {
  return async (messages) => {
    const body = { messages: messages.map(fieldsOf) };
    const { results } = await post<BatchAnswer>('batch', client, '/batch', `batch ${messages[0]?.to}`, body);
    return results.map(({ message, error }) => {
      if (!message) throw new Error(`refused: ${JSON.stringify(error)}`);
      return message.id;
    });
  };
}

/** A mail as a program writes it: when it is sent again, it has the same bytes. */
function mailOf({ from }: Submission, message: SubmittedMessage): string {
  const { to, cc, scheduledAt } = message;
  const { subject, html } = textsOf(message);
  return [
    `From: ${from}`,
    `To: ${to}`,
    ...(cc === null ? [] : [`Cc: ${cc}`]),
    `Subject: ${subject}`,
    `Message-ID: <${to}>`,
    ...(scheduledAt ? [`X-Carillon-Send-At: ${scheduledAt.toISOString()}`] : []),
    'MIME-Version: 1.0',
    'Content-Type: text/html; charset=utf-8',
    ...['', html, ''],
  ].join('\r\n');
}

function createMails({ submission, outage, onReplay }: Client): Send {
  const { smtpPort, apiKey, from } = submission;
  let dialogue: SmtpDialogue | null = null;
  async function open(): Promise<SmtpDialogue> {
    const opened = await startDialogue(smtpPort);
    await opened.say('EHLO app.example.com');
    await opened.say('STARTTLS');
    await opened.secure();
    const reply = await logIn(opened, apiKey);
    if (!reply.startsWith('235')) throw new NoAnswer(reply);
    return opened;
  }
  async function sendOne(message: SubmittedMessage): Promise<string> {
    const signal = AbortSignal.any([AbortSignal.timeout(REQUEST_LIMIT_MS), outage()]);
    const end = () => void dialogue?.socket.destroy();
    signal.addEventListener('abort', end);
    try {
      dialogue ??= await open();
      const to = [message.to, ...(message.cc === null ? [] : [message.cc])];
      return await mailOver(dialogue, { from, to, data: mailOf(submission, message) });
    } catch (cause) {
      dialogue = null;
      throw new NoAnswer('the connection ended', { cause });
    } finally {
      signal.removeEventListener('abort', end);
    }
  }
  return async (messages) => {
    const ids: number[] = [];
    for (const message of messages) {
      const reply = await sendOne(message);
      const id = /^250 2\.0\.0 queued as (\d+)( \(again\))?$/.exec(reply);
      if (id) {
        if (id[2]) onReplay('smtp');
        ids.push(Number(id[1]));
        continue;
      }
      dialogue?.socket.destroy();
      dialogue = null;
      if (reply.startsWith('5')) throw new Error(`${message.to} was refused: ${reply}`);
      throw new NoAnswer(reply);
    }
    return ids;
  };
}

async function untilAccepted(send: Send, messages: SubmittedMessage[]): Promise<number[]> {
  const end = Date.now() + PROGRESS_LIMIT_MS;
  for (;;) {
    try {
      return await send(messages);
    } catch (error) {
      if (!(error instanceof NoAnswer) || Date.now() > end) throw error;
      await delay(RETRY_MS);
    }
  }
}

/** A third of the messages goes each way, and a third of each is scheduled. */
export function startSubmitters(submission: Submission): Submitters {
  const { prefix, count, parallel, ahead, arrived, scheduledMs } = submission;
  const accepted = new Map<number, number>();
  const messages = new Map<number, SubmittedMessage>();
  let outage = new AbortController();
  const replayed = { request: 0, batch: 0, smtp: 0 };
  const client: Client = {
    submission,
    outage: () => outage.signal,
    onReplay: (way) => (replayed[way] += 1),
  };

  function messageOf(n: number): SubmittedMessage {
    const message = {
      n,
      to: `${prefix}-${n}@example.com`,
      cc: n % 7 === 0 ? `cc-${prefix}-${n}@example.com` : null,
      subject: `Message ${n}`,
      scheduledAt: Math.floor(n / 3) % 3 === 0 ? new Date(Date.now() + scheduledMs) : null,
    };
    messages.set(n, message);
    return message;
  }

  async function untilCaughtUp(): Promise<void> {
    const end = Date.now() + PROGRESS_LIMIT_MS;
    while (accepted.size - arrived() >= ahead) {
      if (Date.now() > end) throw new Error(`only ${arrived()} of ${accepted.size} messages have arrived`);
      await delay(5);
    }
  }

  const clients = {
    request: { create: createRequests, size: 1 },
    batch: { create: createBatches, size: BATCH },
    smtp: { create: createMails, size: 1 },
  };
  const loops = ways.flatMap((way, first) => {
    const { create, size } = clients[way];
    let next = first;
    return Array.from({ length: parallel }, async () => {
      const send = create(client);
      for (;;) {
        await untilCaughtUp();
        const group: SubmittedMessage[] = [];
        for (; group.length < size && next < count; next += ways.length) group.push(messageOf(next));
        if (group.length === 0) return;
        const ids = await untilAccepted(send, group);
        for (const [index, { n }] of group.entries()) accepted.set(n, ids[index] ?? 0);
      }
    });
  });
  return {
    accepted,
    messages,
    replayed,
    done: Promise.all(loops),
    breakConnections() {
      outage.abort();
      outage = new AbortController();
    },
  };
}
