/**
 * Mends the heads of responses that are not quite HTTP/1.1 but mean one thing only. The parser of undici refuses them,
 * so that a webhook that an endpoint has taken would count as failed:
 *
 * | response                                                 | read as                             | source             |
 * | -------------------------------------------------------- | ----------------------------------- | ------------------ |
 * | `100 Continue` that was not asked for                    | another interim response            | RFC 9110, 15.2     |
 * | 1xx, 204 or 304 with `Content-Length` or a body          | no body; the connection is closed   | RFC 9112, 6.3 (1)  |
 * | the same `Content-Length` twice, or as a list            | one of them                         | RFC 9112, 6.3 (5)  |
 * | `Transfer-Encoding: chunked` with `Content-Length`       | chunked; the connection is closed   | RFC 9112, 6.3 (3)  |
 * | `Transfer-Encoding: chunked` twice                       | once                                | servers and proxies that both add it |
 * | `Transfer-Encoding: identity`, or an empty one           | none                                | RFC 2616, 3.6      |
 * | lines that end with LF alone                             | lines                               | RFC 9112, 2.2      |
 * | a space before the colon, or a folded line               | without it                          | RFC 9112, 5.1, 5.2 |
 * | a line that is no header, or a control character in one  | left out, or a space                | RFC 9110, 5.5      |
 *
 * What can be read in two ways, such as two different lengths, stays as it is and is refused.
 */
import type { Socket } from 'node:net';

/** As undici allows. */
const MAX_HEAD_BYTES = 16 * 1024;
const NOTHING = Buffer.alloc(0);
const BEGINNING = 'HTTP/1.';
const LF = 10;
const CR = 13;
/** The bytes of an empty line that may have arrived without its last one. */
const MAX_LINE_END = 2;

const STATUS_LINE = /^HTTP\/1\.[01] +(\d{3})(?: |$)/;
/** A head that the parser takes: most are. Its framing is checked by the next two. */
const PLAIN =
  /^HTTP\/1\.[01] (?!1|204|304)\d{3}[^\r\n]*\r\n(?:[!#$%&'*+.^_`|~\w-]+:[\t\x20-\x7e\x80-\xff]*\r\n)*\r\n$/;
const FRAMING = /\n(?:content-length|transfer-encoding):/gi;
const UNUSUAL_FRAMING = /\n(?:content-length:[^\n]*,|transfer-encoding:(?! ?chunked\r))/i;

const TOKEN = /^[!#$%&'*+.^_`|~\w-]+$/;
/** The characters that a value must not have: all control characters but the tab. */
const CONTROLS = /[^\P{Cc}\t\x80-\x9f]/gu;

interface Header {
  name: string;
  value: string;
}

interface Head {
  statusLine: string;
  status: number;
  headers: Header[];
}

/**
 * The length of a head with its empty line; null if it is not complete.
 * @param searched how many bytes were searched before, when the rest had not arrived
 */
function headLength(bytes: Buffer, searched: number): number | null {
  const from = Math.max(0, searched - MAX_LINE_END);
  for (let end = bytes.indexOf(LF, from); end !== -1; end = bytes.indexOf(LF, end + 1)) {
    if (bytes[end + 1] === LF) return end + 2;
    if (bytes[end + 1] === CR && bytes[end + 2] === LF) return end + 3;
  }
  return null;
}

/** Whether there is nothing to repair. Reading and writing a head costs several times as much. */
const isPlain = (text: string): boolean =>
  PLAIN.test(text) && (text.match(FRAMING)?.length ?? 0) < 2 && !UNUSUAL_FRAMING.test(text);

function readHead(text: string): Head | null {
  const [statusLine = '', ...lines] = text.replace(/\r?\n[ \t]+/g, ' ').split(/\r?\n/);
  const status = STATUS_LINE.exec(statusLine)?.[1];
  if (status === undefined) return null;
  const headers = lines.flatMap((line): Header[] => {
    const colon = line.indexOf(':');
    const name = line.slice(0, Math.max(0, colon)).trim();
    return TOKEN.test(name)
      ? [
          {
            name,
            value: line
              .slice(colon + 1)
              .replace(CONTROLS, ' ')
              .trim(),
          },
        ]
      : [];
  });
  return { statusLine, status: Number(status), headers };
}

const without = (headers: Header[], ...names: string[]) =>
  headers.filter(({ name }) => !names.includes(name.toLowerCase()));

const valuesOf = (headers: Header[], wanted: string) =>
  headers
    .filter(({ name }) => name.toLowerCase() === wanted)
    .flatMap(({ value }) => value.split(','))
    .map((value) => value.trim());

/** Leaves one `Transfer-Encoding` if all of them say the same, and none if it says nothing. */
function mendCodings(headers: Header[]): Header[] {
  const codings = valuesOf(headers, 'transfer-encoding').map((each) => each.toLowerCase());
  const meant = new Set(codings.filter((each) => each !== 'identity' && each !== ''));
  if (codings.length === 0 || (codings.length === 1 && meant.size === 1)) return headers;
  const others = without(headers, 'transfer-encoding');
  if (meant.size === 0) return others;
  return meant.size === 1 && meant.has('chunked')
    ? [...others, { name: 'transfer-encoding', value: 'chunked' }]
    : headers;
}

/** Leaves one `Content-Length` if all of them are the same number. */
function mendLengths(headers: Header[]): Header[] {
  const lengths = valuesOf(headers, 'content-length');
  if (lengths.length < 2) return headers;
  const numbers = new Set(lengths.map((each) => each.replace(/^0+(?=\d)/, '')));
  const [value = ''] = numbers;
  if (numbers.size > 1 || !/^\d+$/.test(value)) return headers;
  return [...without(headers, 'content-length'), { name: 'content-length', value }];
}

const hasNoBody = (status: number) => status < 200 || status === 204 || status === 304;

/** Makes the connection end after the response, since where it ends is uncertain. */
const closing = (headers: Header[]): Header[] => [
  ...without(headers, 'connection', 'keep-alive'),
  { name: 'connection', value: 'close' },
];

/** @param hasMore whether bytes follow that can only belong to a body */
function mendHeaders({ status, headers }: Head, hasMore: boolean): Header[] {
  const isFramed = (each: Header[]) => valuesOf(each, 'transfer-encoding').length > 0;
  if (hasNoBody(status)) {
    const mayHaveBody =
      isFramed(headers) || valuesOf(headers, 'content-length').some((each) => !/^0*$/.test(each));
    const bare = without(headers, 'transfer-encoding', 'content-length');
    return status >= 200 && (mayHaveBody || hasMore) ? closing(bare) : bare;
  }
  const mended = mendCodings(mendLengths(headers));
  const isTwofold = isFramed(mended) && valuesOf(mended, 'content-length').length > 0;
  return isTwofold ? closing(without(mended, 'content-length')) : mended;
}

function writeHead({ statusLine, status }: Head, headers: Header[]): Buffer {
  // undici closes the connection at a 100, but counts other interim responses.
  const line = status === 100 ? 'HTTP/1.1 102 Processing' : statusLine.replace(CONTROLS, ' ');
  const lines = [line, ...headers.map(({ name, value }) => `${name}: ${value}`)];
  return Buffer.from(`${lines.join('\r\n')}\r\n\r\n`, 'latin1');
}

/** Whether the beginning of a response may be that of HTTP/1, as far as it has arrived. */
function mayBeHttp(bytes: Buffer): boolean {
  const length = Math.min(bytes.length, BEGINNING.length);
  return bytes.toString('latin1', 0, length) === BEGINNING.slice(0, length);
}

function withoutEmptyLines(bytes: Buffer): Buffer {
  let start = 0;
  while (bytes[start] === CR || bytes[start] === LF) start += 1;
  return start === 0 ? bytes : bytes.subarray(start);
}

/** Mends the heads in the bytes of a connection, on which one request at a time is under way. */
export class AnswerHeads {
  #held: Buffer = NOTHING;
  #state: 'head' | 'body' | 'done' = 'body';

  /** Call this when a request is sent: what arrives next is a head. */
  begin(): void {
    this.#state = 'head';
    this.#held = NOTHING;
  }

  /**
   * @returns the bytes to parse; those of an incomplete head are kept. What comes after a response without a body is
   *   passed, so that the parser closes the connection: it must not become the response to the next request.
   */
  take(chunk: Buffer): Buffer {
    if (this.#state !== 'head') return chunk;
    let searched = this.#held.length;
    const parts: Buffer[] = [];
    let rest = this.#held.length === 0 ? chunk : Buffer.concat([this.#held, chunk]);
    while (this.#state === 'head' && rest.length > 0) {
      rest = withoutEmptyLines(rest);
      const length = headLength(rest, searched);
      searched = 0;
      if (!mayBeHttp(rest) || (length === null && rest.length > MAX_HEAD_BYTES)) this.#state = 'body';
      else if (length === null) break;
      else rest = this.#takeHead(rest, length, parts);
    }
    const isHeld = this.#state === 'head';
    this.#held = isHeld ? rest : NOTHING;
    if (this.#state === 'body') parts.push(rest);
    return parts.length === 1 ? (parts[0] as Buffer) : Buffer.concat(parts);
  }

  /** @returns the bytes after the head */
  #takeHead(bytes: Buffer, length: number, parts: Buffer[]): Buffer {
    const rest = bytes.subarray(length);
    const text = bytes.toString('latin1', 0, length);
    const head = isPlain(text) ? null : readHead(text.trimEnd());
    if (!head || head.status === 101) {
      this.#state = 'body';
      parts.push(bytes.subarray(0, length));
      return rest;
    }
    parts.push(writeHead(head, mendHeaders(head, rest.length > 0)));
    if (head.status >= 200) this.#state = hasNoBody(head.status) ? 'done' : 'body';
    return rest;
  }
}

/** Lets what is read from a connection have mended heads. Each request must be written in one go. */
export function mendAnswers(socket: Socket): void {
  const heads = new AnswerHeads();
  const read: (size?: number) => Buffer | null = socket.read.bind(socket);
  const write: typeof socket.write = socket.write.bind(socket);
  socket.read = (size?: number): Buffer | null => {
    // With 0, the stream itself asks for more bytes.
    if (size === 0) return read(0);
    for (;;) {
      const chunk = read(size);
      const mended = chunk && heads.take(chunk);
      if (mended === null || mended.length > 0) return mended;
    }
  };
  socket.write = ((...args: Parameters<typeof socket.write>) => {
    heads.begin();
    return write(...args);
  }) as typeof socket.write;
}
