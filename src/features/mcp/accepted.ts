const JSON_TYPE = 'application/json';
const EVENTS_TYPE = 'text/event-stream';
/** What the library demands of every client, as the protocol does, even of those that need only one of the two. */
export const BOTH_TYPES = `${JSON_TYPE}, ${EVENTS_TYPE}`;

/** In which forms a client takes the answer to a message. */
export interface Accepted {
  json: boolean;
  /** Only if the client names it: those that take anything do not expect a stream. */
  events: boolean;
}

interface MediaRange {
  type: string;
  isRefused: boolean;
}

function readRange(text: string): MediaRange {
  const [type = '', ...parameters] = text.split(';').map((part) => part.trim().toLowerCase());
  return { type, isRefused: parameters.some((each) => /^q\s*=\s*0(?:\.0*)?$/.test(each)) };
}

/**
 * Reads the header `Accept` (RFC 9110, section 12.5.1).
 * @param header undefined or empty: the client takes anything
 */
export function readAccept(header: string | undefined): Accepted {
  if (header === undefined || header.trim() === '') return { json: true, events: false };
  const ranges = header.split(',').map(readRange);
  const find = (...types: string[]) =>
    types.map((type) => ranges.find((each) => each.type === type)).find((each) => each !== undefined);
  // The most specific range decides.
  const json = find(JSON_TYPE, 'application/*', '*/*', '*');
  const events = find(EVENTS_TYPE);
  return { json: json?.isRefused === false, events: events?.isRefused === false };
}

interface Answer {
  contentType: string;
  body: string;
}

/** The data of the last event: this service sends one for each answer, and nothing before it. */
function dataOf(events: string): string | undefined {
  const data = events.split(/\r?\n\r?\n/).map((event) =>
    event
      .split(/\r?\n/)
      .flatMap((line) => /^data: ?(.*)$/.exec(line)?.[1] ?? [])
      .join('\n'),
  );
  return data.findLast((each) => each !== '');
}

/** Puts an answer of the library into the form that the client takes. */
export function inAcceptedForm({ contentType, body }: Answer, accepted: Accepted): Answer {
  const isEvents = contentType.startsWith(EVENTS_TYPE);
  if (isEvents && !accepted.events) {
    const data = dataOf(body);
    if (data !== undefined) return { contentType: JSON_TYPE, body: data };
  }
  // JSON has no line breaks outside its texts, and none within them.
  if (!isEvents && !accepted.json)
    return { contentType: EVENTS_TYPE, body: `event: message\ndata: ${body}\n\n` };
  return { contentType, body };
}
