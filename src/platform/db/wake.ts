import pg from 'pg';
import { breakConnection, type DatabaseOptions, sessionSettings } from './database.ts';

/** Name of a queue on which idle processes wait for work, such as `send`. Lower-case letters only. */
export type WakeChannel = string;

/**
 * Notifies this and other processes that rows were committed. It is only a hint: listeners also poll, so a lost
 * notification costs at most a second.
 */
export interface Waker {
  /**
   * Call after the commit, never inside a transaction: NOTIFY serializes commits.
   * @param hints words without spaces that say where the rows are; if omitted, they may be anywhere
   */
  wake(channel: WakeChannel, hints?: readonly string[]): void;
  /** @returns a function that stops listening */
  listen(channel: WakeChannel, listener: WakeListener): () => void;
  close(): Promise<void>;
}

/** @param hints where the rows are; null if they may be anywhere */
export type WakeListener = (hints: readonly string[] | null) => void;

/** A cheaper way than NOTIFY. It is used while it reaches all processes. */
export interface WakeRoute {
  /** @returns whether all processes are reached; if not, NOTIFY is used */
  wake(channel: WakeChannel, hints: readonly string[] | null): boolean;
  /** Makes other processes wake this one for the channel. */
  listen(channel: WakeChannel): void;
  close(): Promise<void>;
}

/** @param onWake called when another process wakes this one */
export type OpenWakeRoute = (
  onWake: (channel: WakeChannel, hints: readonly string[] | null) => void,
) => WakeRoute;

/** Prefix of the channel names in PostgreSQL. */
const PREFIX = 'carillon_';
const NOTIFY_INTERVAL_MS = 5;
/** PostgreSQL allows 7,999 bytes. */
const MAX_PAYLOAD = 7_500;
const RECONNECT_MS = 1_000;

interface State {
  client: pg.Client | null;
  closed: boolean;
  listeners: Map<WakeChannel, Set<WakeListener>>;
  /** The channels to notify, with their hints; null if rows may be anywhere. */
  pending: Map<WakeChannel, Set<string> | null>;
  notifying: boolean;
  timer: NodeJS.Timeout | null;
  notifiedAt: number;
  /** Null: all wake-ups go through NOTIFY. */
  route: WakeRoute | null;
}

function callListeners(state: State, channel: WakeChannel, hints: readonly string[] | null): void {
  for (const listener of state.listeners.get(channel) ?? []) listener(hints);
}

function addPending({ pending }: State, channel: WakeChannel, hints: readonly string[] | null): void {
  const known = pending.get(channel);
  if (hints === null || known === null) pending.set(channel, null);
  else pending.set(channel, new Set([...(known ?? []), ...hints]));
}

/** @returns the hints, split into as many payloads as they need */
function payloadsOf(hints: ReadonlySet<string> | null): string[] {
  const payloads: string[] = [''];
  for (const hint of hints ?? []) {
    const last = payloads.at(-1) ?? '';
    if (last === '') payloads.splice(-1, 1, hint);
    else if (last.length + hint.length < MAX_PAYLOAD) payloads.splice(-1, 1, `${last} ${hint}`);
    else payloads.push(hint);
  }
  return payloads;
}

const notifySql = (client: pg.Client, channel: WakeChannel, hints: ReadonlySet<string> | null): string =>
  payloadsOf(hints)
    .map((payload) => `notify ${PREFIX}${channel}, ${client.escapeLiteral(payload)}`)
    .join(';');

const listenSql = (channel: WakeChannel): string => `listen ${PREFIX}${channel}`;

async function connect(state: State, options: DatabaseOptions): Promise<void> {
  if (state.closed) return;
  const client = new pg.Client({ ...sessionSettings(options), application_name: 'carillon wake' });
  const openedAt = Date.now();
  const leave = (lostAt: number) => openedAt < lostAt && breakConnection(client);
  options.serverChanges?.on('changed', leave);
  let lost = false;
  const retry = () => {
    // A connection that breaks during a statement reports it twice.
    if (lost) return;
    lost = true;
    options.serverChanges?.off('changed', leave);
    if (state.client === client) state.client = null;
    client.end().catch(() => undefined);
    if (!state.closed) setTimeout(() => void connect(state, options), RECONNECT_MS).unref();
  };
  client.on('error', retry);
  client.on('notification', ({ channel, payload }) =>
    callListeners(state, channel.slice(PREFIX.length), payload ? payload.split(' ') : null),
  );
  try {
    await client.connect();
    // NOTIFY runs in a transaction of its own, which need not reach the disk.
    await client.query('set synchronous_commit = off');
    if (state.closed) return void client.end().catch(() => undefined);
    state.client = client;
    const channels = [...state.listeners.keys()];
    if (channels.length > 0) await client.query(channels.map(listenSql).join(';'));
    // Rows may have been committed before LISTEN took effect.
    for (const channel of channels) callListeners(state, channel, null);
  } catch {
    retry();
  }
}

/** Wakes processes at once, unless the last wake-up was within the last few milliseconds. */
function schedule(state: State): void {
  if (state.timer) return;
  const wait = state.notifiedAt + NOTIFY_INTERVAL_MS - performance.now();
  if (wait <= 0) flush(state);
  else state.timer = setTimeout(() => flush(state), wait);
}

/**
 * Wakes the processes that listen to pending channels: through the route, or by NOTIFY, which is sent one at a time.
 * Channels that are woken while one is being sent go with the next.
 */
function flush(state: State): void {
  state.timer = null;
  if (state.notifying) return;
  state.notifiedAt = performance.now();
  const { client, route } = state;
  const pending = [...state.pending].filter(([channel, hints]) => !route?.wake(channel, hints && [...hints]));
  state.pending.clear();
  if (pending.length === 0 || !client) return;
  state.notifying = true;
  void client
    .query(pending.map(([channel, hints]) => notifySql(client, channel, hints)).join(';'))
    .catch(() => undefined)
    .finally(() => {
      state.notifying = false;
      if (state.pending.size > 0) schedule(state);
    });
}

/**
 * Keeps one connection of its own open, and connects again if it breaks.
 * @param openRoute by default, all wake-ups go through NOTIFY
 */
export function createWaker(options: DatabaseOptions, openRoute?: OpenWakeRoute): Waker {
  const state: State = {
    client: null,
    closed: false,
    listeners: new Map(),
    pending: new Map(),
    notifying: false,
    timer: null,
    notifiedAt: 0,
    route: null,
  };
  state.route = openRoute?.((channel, hints) => callListeners(state, channel, hints)) ?? null;
  void connect(state, options);
  return {
    wake(channel, hints) {
      if (hints?.length === 0) return;
      callListeners(state, channel, hints ?? null);
      addPending(state, channel, hints ?? null);
      schedule(state);
    },
    listen(channel, listener) {
      const set = state.listeners.get(channel) ?? new Set();
      if (!state.listeners.has(channel)) {
        void state.client?.query(listenSql(channel)).catch(() => undefined);
        state.route?.listen(channel);
      }
      state.listeners.set(channel, set.add(listener));
      return () => void set.delete(listener);
    },
    async close() {
      state.closed = true;
      if (state.timer) clearTimeout(state.timer);
      await state.route?.close();
      await state.client?.end().catch(() => undefined);
    },
  };
}
