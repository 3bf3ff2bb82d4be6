import type { CountedRequest } from './counted-request.ts';

/** Within this time, counted from the headers, the whole body must arrive. */
const BODY_SECONDS = 120;
/** A body that is being read must bring at least this many bytes in each of these intervals. */
const PACE_SECONDS = 10;
const PACE_BYTES = 1_024 * PACE_SECONDS;
const TICK_MS = 1_000;
/** For a body that is stored while it arrives: enough for 1 GB at 5 Mbit/s. */
const SLOW_BODY_MS = 1_800_000;
/** Such a body must not stall: a client that sends nothing for this time is ended within twice the time. */
const STALLED_MS = 30_000;

interface Deadline {
  timer: NodeJS.Timeout;
  expire: () => void;
  /** Counted by ticks: time in which the process was too busy to read does not count. */
  seconds: number;
  /** Of the current interval. Null until a handler reads it. */
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
 * Bounds the time in which the body of a request arrives. Node's `requestTimeout` does the same, but for all requests of
 * a server alike.
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

/** From now on the body is read, and must bring 1 KiB a second. */
export function expectPace(request: CountedRequest): void {
  const deadline = deadlines.get(request);
  if (deadline) deadline.pace = { seconds: 0, bytesBefore: request.receivedBytes };
}

/**
 * Gives the body 30 minutes as long as bytes keep coming. Time in which our disk takes nothing counts as a stall, too.
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
