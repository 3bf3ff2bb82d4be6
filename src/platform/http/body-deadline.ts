import type { IncomingMessage } from 'node:http';

/** Within this time, counted from the headers, the whole body must arrive. */
const BODY_MS = 120_000;
/** For a body that is stored while it arrives: enough for 1 GB at 5 Mbit/s. */
const SLOW_BODY_MS = 1_800_000;
/** Such a body must not stall: a client that sends nothing for this time is ended within twice the time. */
const STALLED_MS = 30_000;

interface Deadline {
  timer: NodeJS.Timeout;
  expire: () => void;
}

const deadlines = new WeakMap<IncomingMessage, Deadline>();

/**
 * Bounds the time in which the body of a request arrives. Node's `requestTimeout` does the same, but for all requests of
 * a server alike.
 * @param expire ends the request; not called once the body is complete
 */
export function startBodyDeadline(request: IncomingMessage, expire: () => void): void {
  const late = () => {
    if (!request.complete) expire();
  };
  deadlines.set(request, { timer: setTimeout(late, BODY_MS), expire });
}

export function endBodyDeadline(request: IncomingMessage): void {
  const deadline = deadlines.get(request);
  if (deadline) clearInterval(deadline.timer);
}

/**
 * Gives the body 30 minutes as long as bytes keep coming. Time in which our disk takes nothing counts as a stall, too.
 */
export function allowSlowBody(request: IncomingMessage): void {
  const deadline = deadlines.get(request);
  if (!deadline) return;
  clearTimeout(deadline.timer);
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
