import type { CountedRequest } from './counted-request.ts';

/** The whole body must arrive within this time after the headers. */
const BODY_SECONDS = 120;
/** Minimum number of bytes that must arrive in each of these intervals while a body is read. */
const PACE_SECONDS = 10;
const PACE_BYTES = 1_024 * PACE_SECONDS;
const TICK_MS = 1_000;
/** The deadline for a body that is stored while it arrives: enough for 1 GB at 5 Mbit/s. */
const SLOW_BODY_MS = 1_800_000;
/** How often such a body is checked for progress. A stalled client is disconnected within twice this time. */
const STALLED_MS = 30_000;

interface Deadline {
  timer: NodeJS.Timeout;
  expire: () => void;
  /** Counted in ticks, so that time in which the process is too busy to read does not count. */
  seconds: number;
  /** Bytes that arrived in the current interval; null until a handler reads the body. */
  pace: { seconds: number; bytesBefore: number } | null;
}

const deadlines = new WeakMap<CountedRequest, Deadline>();

function isTooSlow({ receivedBytes }: CountedRequest, deadline: Deadline): boolean {
  const { pace } = deadline;
  if (!pace) return false;
  pace.seconds += 1;
  if (pace.seconds < PACE_SECONDS) return false;
  deadline.pace = { seconds: 0, bytesBefore: receivedBytes };
  return receivedBytes - pace.bytesBefore < PACE_BYTES;
}

function tick(request: CountedRequest, deadline: Deadline): void {
  deadline.seconds += 1;
  const isLate = deadline.seconds >= BODY_SECONDS || isTooSlow(request, deadline);
  if (!request.complete && !isLate) return;
  clearInterval(deadline.timer);
  if (!request.complete) deadline.expire();
}

/**
 * Limits how long the body of a request may take to arrive. Node's `requestTimeout` does the same, but with one value
 * for all requests of a server.
 * @param expire ends the request; not called once the body is complete
 */
export function startBodyDeadline(request: CountedRequest, expire: () => void): void {
  const timer = setInterval(() => tick(request, deadline), TICK_MS);
  const deadline: Deadline = { timer, expire, seconds: 0, pace: null };
  deadlines.set(request, deadline);
}

export function endBodyDeadline(request: CountedRequest): void {
  const deadline = deadlines.get(request);
  if (deadline) clearInterval(deadline.timer);
}

/**
 * Call this when a handler starts to read the body. From then on, at least {@link PACE_BYTES} must arrive in every
 * interval.
 */
export function expectPace(request: CountedRequest): void {
  const deadline = deadlines.get(request);
  if (deadline) deadline.pace = { seconds: 0, bytesBefore: request.receivedBytes };
}

/**
 * Extends the deadline to 30 minutes for a body that is stored while it arrives, provided that bytes keep arriving. A
 * slow disk on our side also counts as a stall, because reading stops.
 */
export function allowSlowBody(request: CountedRequest): void {
  const deadline = deadlines.get(request);
  if (!deadline) return;
  clearInterval(deadline.timer);
  let checksLeft = SLOW_BODY_MS / STALLED_MS;
  let seen = -1;
  deadline.timer = setInterval(() => {
    const { bytesRead } = request.socket;
    checksLeft -= 1;
    if (!request.complete && bytesRead > seen && checksLeft > 0) {
      seen = bytesRead;
      return;
    }
    endBodyDeadline(request);
    if (!request.complete) deadline.expire();
  }, STALLED_MS);
}
