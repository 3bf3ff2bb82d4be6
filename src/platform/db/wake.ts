import pg from 'pg';
import { connectionSettings, type DatabaseOptions } from './database.ts';

/** Work that other processes may be idling for. */
export type WakeChannel = 'send' | 'webhook' | 'outbox';

/**
 * Tells this and other processes that rows were committed. A hint only: whoever listens also polls,
 * so a wake-up that is lost costs a second at most.
 */
export interface Waker {
  /** Call after the commit, never inside a transaction: NOTIFY serialises commits. */
  wake(channel: WakeChannel): void;
  /** @returns a function that stops listening */
  listen(channel: WakeChannel, listener: () => void): () => void;
  close(): Promise<void>;
}

const NOTIFY_INTERVAL_MS = 5;
const RECONNECT_MS = 1_000;

interface State {
  client: pg.Client | null;
  closed: boolean;
  listeners: Map<WakeChannel, Set<() => void>>;
  pending: Set<WakeChannel>;
  notifying: boolean;
  timer: NodeJS.Timeout | null;
  notifiedAt: number;
}

function ring(state: State, channel: WakeChannel): void {
  for (const listener of state.listeners.get(channel) ?? []) listener();
}

async function connect(state: State, options: DatabaseOptions): Promise<void> {
  if (state.closed) return;
  const client = new pg.Client({ ...connectionSettings(options), application_name: 'carillon wake' });
  let lost = false;
  const retry = () => {
    // A connection that breaks during a statement is told of twice.
    if (lost) return;
    lost = true;
    if (state.client === client) state.client = null;
    client.end().catch(() => undefined);
    if (!state.closed) setTimeout(() => void connect(state, options), RECONNECT_MS).unref();
  };
  client.on('error', retry);
  client.on('notification', (message) =>
    ring(state, message.channel.replace('carillon_', '') as WakeChannel),
  );
  try {
    await client.connect();
    // A NOTIFY is a transaction, and nobody needs it on disk.
    await client.query('set synchronous_commit = off');
    await client.query('listen carillon_send; listen carillon_webhook; listen carillon_outbox');
    if (state.closed) return void client.end().catch(() => undefined);
    state.client = client;
    // Whatever was committed while nobody listened.
    for (const channel of state.listeners.keys()) ring(state, channel);
  } catch {
    retry();
  }
}

/** At once, unless a NOTIFY went out within the last few milliseconds. */
function schedule(state: State): void {
  if (state.timer) return;
  const wait = state.notifiedAt + NOTIFY_INTERVAL_MS - performance.now();
  if (wait <= 0) flush(state);
  else state.timer = setTimeout(() => flush(state), wait);
}

/** One NOTIFY at a time; what is woken meanwhile goes with the next. */
function flush(state: State): void {
  state.timer = null;
  if (state.notifying) return;
  state.notifiedAt = performance.now();
  const channels = [...state.pending];
  state.pending.clear();
  if (channels.length === 0 || !state.client) return;
  state.notifying = true;
  void state.client
    .query(channels.map((channel) => `notify carillon_${channel}`).join(';'))
    .catch(() => undefined)
    .finally(() => {
      state.notifying = false;
      if (state.pending.size > 0) schedule(state);
    });
}

/** @param options of the database; one connection of its own is kept open, and made again when it breaks */
export function createWaker(options: DatabaseOptions): Waker {
  const state: State = {
    client: null,
    closed: false,
    listeners: new Map(),
    pending: new Set(),
    notifying: false,
    timer: null,
    notifiedAt: 0,
  };
  void connect(state, options);
  return {
    wake(channel) {
      ring(state, channel);
      state.pending.add(channel);
      schedule(state);
    },
    listen(channel, listener) {
      const set = state.listeners.get(channel) ?? new Set();
      state.listeners.set(channel, set.add(listener));
      return () => void set.delete(listener);
    },
    async close() {
      state.closed = true;
      if (state.timer) clearTimeout(state.timer);
      await state.client?.end().catch(() => undefined);
    },
  };
}
