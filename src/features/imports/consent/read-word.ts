import { readConsentTime } from './times.ts';
import { toolWords } from './tool-words.ts';
import type { ConsentChannel, ConsentKind } from './known-headings.ts';
import {
  BLANK,
  type ConsentState,
  consentStates,
  generalWords,
  NO,
  PHRASES,
  simplified,
  type WordTable,
  YES,
} from './words.ts';

/** How a column about subscriptions is read. Stored as JSON with the layout of the file. */
export interface ConsentUse {
  channel: ConsentChannel;
  kind: ConsentKind;
  /** Words that mean something else in this file, as {@link simplified}; null: such a cell says nothing. */
  words?: Readonly<Record<string, ConsentState | null>>;
}

/** What a cell says. */
export interface Said {
  /** Null: nothing about the subscription itself. */
  state: ConsentState | null;
  /** When it became so, if the cell has a time that can be read. */
  at: Date | null;
}

const NOTHING: Said = { state: null, at: null };

/** Returns the state that leaves the least mail, so that a no counts however many columns say yes. */
export function strictest(one: ConsentState | null, other: ConsentState | null): ConsentState | null {
  if (one === null || other === null) return one ?? other;
  return consentStates.indexOf(one) > consentStates.indexOf(other) ? one : other;
}

/** Returns the words of tables with their states. A word that means several things gets the strictest of them. */
export function stateByWord(tables: readonly WordTable[]): Map<string, ConsentState> {
  const states = new Map<string, ConsentState>();
  for (const state of consentStates)
    for (const table of tables) for (const word of table[state] ?? []) states.set(simplified(word), state);
  return states;
}

/** The words of all tools, as {@link simplified}, with their states. */
export const anyTool = stateByWord([...Object.values(toolWords), generalWords]);
// Words such as `active` may be about the column itself: an active block is none.
const inverseWords = new Map(
  [...anyTool].filter(([word]) => !['active', 'inactive', 'enabled', 'disabled', 'confirmed'].includes(word)),
);
const yes = new Set(YES.map(simplified));
const no = new Set(NO.map(simplified));
const blank = new Set(BLANK);
const nothingSaid = new Set(['na', 'none', 'unknown', 'never', 'notset', 'undefined']);

/** Whether a cell says nothing, although it is not empty. */
export const isBlank = (text: string): boolean =>
  blank.has(text.trim().toLowerCase()) || blank.has(simplified(text));

/** What yes and no, a time, and any other text mean in a column. Undefined: such a text is not understood. */
const readings: Record<
  ConsentKind,
  {
    yes: ConsentState | null;
    no: ConsentState | null;
    time: ConsentState | null;
    other?: ConsentState | null;
  }
> = {
  positive: { yes: 'subscribed', no: 'unsubscribed', time: 'subscribed' },
  confirmed: { yes: 'subscribed', no: 'pending', time: 'subscribed' },
  inverse: { yes: 'unsubscribed', no: null, time: 'unsubscribed' },
  ambiguous: { yes: null, no: null, time: null },
  bounced: { yes: 'bounced', no: null, time: 'bounced', other: 'bounced' },
  complained: { yes: 'complained', no: null, time: 'complained', other: 'complained' },
  opted_out: { yes: 'unsubscribed', no: null, time: 'unsubscribed', other: 'unsubscribed' },
  // Also of headings such as `Consent on file`.
  opted_in_at: { yes: null, no: 'unsubscribed', time: null, other: null },
};

const wordsOf = (kind: ConsentKind): ReadonlyMap<string, ConsentState> => {
  if (kind === 'positive' || kind === 'confirmed') return anyTool;
  return kind === 'inverse' ? inverseWords : new Map();
};

/** What a word means in every column of the kind; undefined: nothing special. */
function readAnyWord(kind: ConsentKind, word: string): ConsentState | null | undefined {
  const reading = readings[kind];
  // A tick of a pen.
  if (yes.has(word) || (kind === 'inverse' && word === 'x')) return reading.yes;
  // A time of 0 is none.
  if (no.has(word)) return kind === 'opted_in_at' && word === '0' ? null : reading.no;
  const saysNothing = reading.other !== undefined || kind === 'inverse';
  return saysNothing && nothingSaid.has(word) ? null : undefined;
}

function readState(kind: ConsentKind, word: string, text: string): ConsentState | null | undefined {
  const { other } = readings[kind];
  const phrase = () => PHRASES.find(([pattern]) => pattern.test(text))?.[1];
  if (kind === 'opted_in_at') return phrase() === 'unsubscribed' ? 'unsubscribed' : null;
  if (other !== undefined) return other;
  const state = wordsOf(kind).get(word) ?? phrase();
  // That a column of opt-outs has none is no consent.
  return kind === 'inverse' && state === 'subscribed' ? null : state;
}

function readSingle({ kind, words }: ConsentUse, text: string, timezone: string): Said | undefined {
  const word = simplified(text);
  const given = words && Object.hasOwn(words, word) ? words[word] : undefined;
  if (given !== undefined) return { state: given, at: null };
  if (isBlank(text)) return NOTHING;
  if (kind === 'ambiguous') return undefined;
  const known = readAnyWord(kind, word);
  if (known !== undefined) return { state: known, at: null };
  const at = readConsentTime(text, timezone);
  if (at !== undefined) return { state: readings[kind].time, at };
  const state = readState(kind, word, text.trim());
  return state === undefined ? undefined : { state, at: null };
}

/**
 * Reads a cell.
 * @param timezone of times that name none: an IANA name
 * @returns undefined if it is not understood
 */
export function readConsentCell(use: ConsentUse, text: string, timezone = 'UTC'): Said | undefined {
  const whole = readSingle(use, text, timezone);
  if (whole) return whole;
  // A list, such as the reasons of Klaviyo's suppressions.
  const parts = text.split(/[,;|[\]"']+/).filter((part) => part.trim() !== '');
  if (parts.length < 1 || (parts.length === 1 && parts[0] === text)) return undefined;
  let said: Said = NOTHING;
  for (const part of parts) {
    const read = readSingle(use, part, timezone);
    if (!read) return undefined;
    said = { state: strictest(said.state, read.state), at: said.at ?? read.at };
  }
  return said;
}

/** The letters of The Newsletter Plugin, which are too short to mean anything under another heading. */
const LETTERS = /^[a-z]$/;

/** Words that are about nothing else than subscriptions, whatever the heading says. */
const OF_SUBSCRIPTIONS = new RegExp(
  [
    'unsub|subscri|opt(?:ed)?(?:in|out)|blocklist|blacklist|suppress|bounce|cleaned|complain|spam|abgemeldet|abbestellt|abonn',
    'inscri|suscri|iscri|afgemeld|aangemeld|uitgeschreven|wypisan|подпис|отпис|配信|購読|订阅|退订|訂閱|구독',
  ].join('|'),
);
const speaksOfSubscription = (word: string): boolean => OF_SUBSCRIPTIONS.test(word);

/** Whether a word, under any heading, means that a person must not get mail. @param word as {@link simplified} */
export function saysNo(word: string): boolean {
  const state = anyTool.get(word);
  return speaksOfSubscription(word) && state !== undefined && state !== 'subscribed';
}

/**
 * Decides what the words of a column with an ambiguous heading mean.
 * @param words all words of the column, as {@link simplified}, without blank ones
 * @returns their meanings if all are states of one tool; else null. A yes is left to the options of the import: the
 *   column may be about customers
 */
export function fitTool(
  heading: string,
  words: readonly string[],
): Readonly<Record<string, ConsentState | null>> | null {
  if (words.length === 0) return null;
  if (simplified(heading) !== 'status' && words.some((word) => LETTERS.test(word))) return null;
  const tables = Object.values(toolWords);
  if (words.some(speaksOfSubscription)) tables.push(generalWords);
  const fitting = tables.filter((table) => {
    const states = stateByWord([table]);
    return words.every((word) => states.has(word));
  });
  if (fitting.length === 0) return null;
  const states = stateByWord(fitting);
  return Object.fromEntries(
    words.map((word) => {
      const state = states.get(word) ?? null;
      return [word, state === 'subscribed' ? null : state];
    }),
  );
}
