import { setTimeout as sleep } from 'node:timers/promises';
import { createTrackingTokens } from '../../src/features/tracking/tokens.ts';
import { createKeyring } from '../../src/platform/secrets/keyring.ts';
import { CHROME, pathOf } from '../support/tracking.ts';
import { ask } from './ask.ts';
import { draftOf } from './campaign.ts';
import { fileOf } from './imports.ts';
import { rounded } from './machine.ts';
import type { Usage } from './process-usage.ts';
import type { Stage } from './stage.ts';

export interface WholeBenchOptions {
  seconds: number;
  /** Number of messages posted per second. The number of events is half of it. */
  rate: number;
  recipients: number;
  rows: number;
}

/** Number of parts into which the time is divided. */
export const PARTS = 10;
const OPENED_EVERY = 10;
const OPEN_AFTER_MS = 2_000;
const LINKS = 5;

interface Client {
  accountId: number;
  key: string;
  from?: string;
}

/** What the load did, and its results. */
export interface Ledger {
  /** Accepted messages by recipient: in which part of the time each was posted, and when (in ms). */
  accepted: Map<string, { part: number; at: number }>;
  /** Number of accepted messages of the account with the webhook. */
  subscribed: number;
  arrivals: Map<string, number>;
  twice: string[];
  events: number;
  opens: number;
  /** Number of occurrences of each error. */
  errors: Map<string, number>;
}

export function createLedger(): Ledger {
  return {
    accepted: new Map(),
    subscribed: 0,
    arrivals: new Map(),
    twice: [],
    events: 0,
    opens: 0,
    errors: new Map(),
  };
}

export interface Running {
  stage: Stage;
  settings: Record<string, string>;
  ledger: Ledger;
  clients: Client[];
  processes: Record<string, () => Usage>;
}

export function count(errors: Map<string, number>, error: string): void {
  errors.set(error, (errors.get(error) ?? 0) + 1);
}

/** Calls `act` at a steady rate, whether or not earlier calls have ended. */
async function pace(rate: number, seconds: number, act: (n: number) => Promise<void>): Promise<void> {
  const startedAt = performance.now();
  const acts: Promise<void>[] = [];
  for (let n = 0; n < rate * seconds; n += 1) {
    const wait = startedAt + (n * 1_000) / rate - performance.now();
    if (wait > 0) await sleep(wait);
    acts.push(act(n));
  }
  await Promise.all(acts);
}

/** @returns the response; null if there was an error, which is counted */
async function post({ stage, ledger }: Running, key: string, path: string, body: object) {
  try {
    const answer = await fetch(`http://127.0.0.1:${stage.apiPort}/v1/my${path}`, {
      method: 'POST',
      headers: { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' },
      body: JSON.stringify(body),
    });
    const text = await answer.text();
    if (answer.ok) return JSON.parse(text) as { id: number };
    count(ledger.errors, `POST ${path}: ${answer.status} ${text.slice(0, 200)}`);
  } catch (error) {
    count(ledger.errors, `POST ${path}: ${String(error)}`);
  }
  return null;
}

/** Fetches the pixel of a message like a reader's mail client does. */
async function open({ stage, settings, ledger }: Running, { accountId }: Client, messageId: number) {
  await sleep(OPEN_AFTER_MS);
  const tokens = createTrackingTokens(createKeyring(settings.APP_SECRET ?? ''));
  const path = pathOf({ accountId, messageId, link: 0, links: 1, url: '' }, tokens);
  try {
    const answer = await fetch(`http://127.0.0.1:${stage.apiPort}${path}`, {
      headers: { 'User-Agent': CHROME },
    });
    await answer.arrayBuffer();
    if (answer.ok) ledger.opens += 1;
    else count(ledger.errors, `GET /o: ${answer.status}`);
  } catch (error) {
    count(ledger.errors, `GET /o: ${String(error)}`);
  }
}

async function postMessage(running: Running, n: number, part: number): Promise<void> {
  const { ledger, clients } = running;
  const client = clients[n % clients.length] as Client;
  const to = `whole-${n}@example.com`;
  const at = performance.now();
  const accepted = await post(running, client.key, '/messages', {
    channel: 'email',
    to,
    from: client.from,
    subject: `Your receipt ${n}`,
    html: `<h1>Order ${n}</h1><p>Thank you for your order. It is on its way.</p>`,
    body: `Order ${n}. Thank you for your order. It is on its way.`,
  });
  if (!accepted) return;
  ledger.accepted.set(to, { part, at });
  if (n % clients.length === 0) ledger.subscribed += 1;
  if (n % OPENED_EVERY === 0) await open(running, client, accepted.id);
}

async function postEvent(running: Running, n: number, contacts: number): Promise<void> {
  const accepted = await post(running, running.stage.apiKey, '/events', {
    event: `event_${n % 20}`,
    contact_email: `r${(n % contacts) + 1}@example.com`,
    data: { order: 'a-1042', items: n },
  });
  if (accepted) running.ledger.events += 1;
}

async function postImport({ stage }: Running, rows: number): Promise<number> {
  const parts = [];
  for await (const part of fileOf(rows, 0)) parts.push(part);
  const form = new FormData();
  form.set('file', new Blob(parts), 'whole.csv');
  const answer = await fetch(`http://127.0.0.1:${stage.apiPort}/v1/my/imports`, {
    method: 'POST',
    headers: { Authorization: `Bearer ${stage.apiKey}` },
    body: form,
  });
  const text = await answer.text();
  if (!answer.ok) throw new Error(`import refused: ${text}`);
  return (JSON.parse(text) as { id: number }).id;
}

const mapped = <T>(processes: Record<string, () => Usage>, map: (usage: Usage) => T) =>
  Object.fromEntries(Object.entries(processes).map(([name, usage]) => [name, map(usage())]));

/**
 * Runs the whole load.
 * @returns ids of campaign and import, and what each process used in each part
 */
export async function load(running: Running, listId: number, options: WholeBenchOptions) {
  const { stage, processes } = running;
  const { seconds, rate, recipients, rows } = options;
  const parts: { memory: Record<string, number>; cpu: Record<string, number> }[] = [];
  const look = () =>
    void parts.push({
      memory: mapped(processes, ({ memoryMb }) => rounded(memoryMb, 0)),
      cpu: mapped(processes, ({ cpuSeconds }) => cpuSeconds),
    });
  const startedAt = performance.now();
  const partNow = () => Math.floor(((performance.now() - startedAt) / (seconds * 1_000)) * PARTS);
  const campaign = (async () => {
    await sleep((seconds * 1_000) / PARTS);
    const { id } = await draftOf(stage, listId, { links: LINKS });
    await ask(stage, 'POST', `/campaigns/${id}/send`, {});
    return id;
  })();
  const imported = sleep((seconds * 1_000) / 3).then(() => postImport(running, rows));
  look();
  const looking = setInterval(look, (seconds * 1_000) / PARTS);
  await Promise.all([
    pace(rate, seconds, (n) => postMessage(running, n, Math.min(PARTS - 1, partNow()))),
    pace(rate / 2, seconds, (n) => postEvent(running, n, recipients)),
    campaign,
    imported,
  ]);
  clearInterval(looking);
  if (parts.length <= PARTS) look();
  return { campaignId: await campaign, importId: await imported, parts };
}
