/**
 * Lists whose items may be large. The response has the whole page, but reads and writes it in slices, at the client's
 * pace.
 */
import { once } from 'node:events';
import { Readable } from 'node:stream';
import { tooMany } from '../../errors.ts';
import type { AccountTenant } from '../auth/tenant.ts';
import type { Page, RowCount, SizedItem } from '../db/paging.ts';
import { FairGate } from '../processes/fair-gate.ts';
import { paginate } from './pagination.ts';
import type { RouteInput, RouteResult } from './route.ts';

/** Bytes of texts in a slice. As JSON they may be twice as large, so a slice has at most 8 MiB. */
const SLICE_BYTES = 4 * 1024 * 1024;
/** Number of bytes that a client has to read within {@link STALL_MS}. */
const PIECE_BYTES = 256 * 1024;
const STALL_MS = 30_000;
/** Minimum speed at which a client must read a page, after the leeway. Slow clients must not occupy all slots. */
const MIN_BYTES_PER_SECOND = 64 * 1024;
const LEEWAY_MS = 60_000;

/** A smaller page needs no place. */
const SMALL_PAGE_BYTES = 256 * 1024;
/** Limits on concurrent responses, of the process and of an account. Each keeps a slice in memory until it is read. */
const PAGES_OF_ONE_SLICE = { slots: 32, perKey: 4, maxWaiting: 16 };
const PAGES_OF_MANY_SLICES = { slots: 8, perKey: 2, maxWaiting: 4 };
const WAIT_MS = 10_000;
const RETRY_SECONDS = 5;

/** The code of the error that ends a response to a client that does not read it. */
export const SLOW_READER = 'CLIENT_READS_TOO_SLOWLY';

type Read = (ids: number[]) => Promise<readonly unknown[]>;

/** The responses of lists whose items may be large. */
export interface LargeLists {
  /**
   * @param items those of the page, newest first
   * @param read reads and presents some of them, in the same order
   * @throws AppError rate_limited if the account has too many such responses in progress
   */
  reply(
    input: Pick<RouteInput, 'ctx' | 'publicUrl'> & { tenant: AccountTenant },
    page: Page,
    items: readonly SizedItem[],
    count: RowCount,
    read: Read,
  ): Promise<RouteResult>;
}

/** Divides a page into slices, each of at least one item. */
export function slicesOf(items: readonly SizedItem[], maxBytes = SLICE_BYTES): number[][] {
  const slices: number[][] = [];
  let room = 0;
  for (const { id, bytes } of items) {
    if (bytes > room || slices.length === 0) {
      slices.push([]);
      room = maxBytes;
    }
    slices.at(-1)?.push(id);
    room -= bytes;
  }
  return slices;
}

/** The JSON array in pieces. A slice is read once the client has received those before it. */
async function* jsonPieces(
  first: readonly unknown[],
  others: readonly number[][],
  read: Read,
): AsyncGenerator<Buffer> {
  let separator = '[';
  for (const slice of [null, ...others]) {
    for (const item of slice === null ? first : await read(slice)) {
      const json = Buffer.from(separator + JSON.stringify(item));
      separator = ',';
      for (let at = 0; at < json.length; at += PIECE_BYTES) yield json.subarray(at, at + PIECE_BYTES);
    }
  }
  yield Buffer.from(separator === '[' ? '[]' : ']');
}

/**
 * The body of a response. It keeps a slice in memory and occupies a place, so a client that reads no piece for too
 * long, or not the whole page in time, is disconnected.
 */
function openBody(pieces: AsyncIterable<Buffer>, limits: { stallMs: number; deadlineMs: number }): Readable {
  const endAfter = (ms: number) => {
    const error = Object.assign(new Error('the client reads a list too slowly'), { code: SLOW_READER });
    return setTimeout(() => body.destroy(error), ms).unref();
  };
  const stall = endAfter(limits.stallMs);
  const deadline = endAfter(limits.deadlineMs);
  async function* watched() {
    for await (const piece of pieces) {
      stall.refresh();
      yield piece;
    }
  }
  const body = Readable.from(watched());
  return body.once('close', () => {
    clearTimeout(stall);
    clearTimeout(deadline);
  });
}

const refusalOf =
  ({ perKey }: { perKey: number }) =>
  () =>
    tooMany(
      `an account reads at most ${perKey} pages of this size at once; ask for summaries`,
      RETRY_SECONDS,
    );

export function createLargeLists({
  stallMs = STALL_MS,
  waitMs = WAIT_MS,
  leewayMs = LEEWAY_MS,
  minBytesPerSecond = MIN_BYTES_PER_SECOND,
} = {}): LargeLists {
  const ofOneSlice = new FairGate({ ...PAGES_OF_ONE_SLICE, waitMs, refusal: refusalOf(PAGES_OF_ONE_SLICE) });
  const ofManySlices = new FairGate({
    ...PAGES_OF_MANY_SLICES,
    waitMs,
    refusal: refusalOf(PAGES_OF_MANY_SLICES),
  });
  return {
    async reply(input, page, items, count, read) {
      const { headers = {} } = paginate(input, page, [...items], count);
      const [first = [], ...others] = slicesOf(items);
      const size = items.reduce((sum, { bytes }) => sum + bytes, 0);
      if (size < SMALL_PAGE_BYTES) return { status: 200, body: await read(first), headers };
      const deadlineMs = leewayMs + (size / minBytesPerSecond) * 1_000;
      const gate = others.length === 0 ? ofOneSlice : ofManySlices;
      const leave = await gate.enter(input.tenant.accountId);
      try {
        const body = openBody(jsonPieces(await read(first), others, read), { stallMs, deadlineMs });
        // The response is in progress until the client has read it.
        void once(body, 'close').then(leave, leave);
        return { status: 200, raw: { contentType: 'application/json; charset=utf-8', body }, headers };
      } catch (error) {
        leave();
        throw error;
      }
    },
  };
}
