import { MAX_DIAGNOSTIC, type SuppressionReason } from '../../../delivery/ledger/consent/suppressions.ts';
import { judgeBounce } from '../../../delivery/wire/adapters/reported-bounce.ts';
import { type Cell, type Cells, requireReadable, type RowProblem } from '../cells.ts';
import { anyTool } from '../consent/read-word.ts';
import { type ConsentState, simplified } from '../consent/words.ts';
import {
  type Meaning,
  reasonColumns,
  reasonHeadings,
  reasonsOfFiles,
  suppressionLists,
  reasonWords,
  suppressionHeadings,
} from './tables.ts';
import type { ColumnField } from '../schema.ts';

/** Why an address is suppressed. */
export interface ReadReason {
  reason: SuppressionReason;
  /** Whether the row suppresses it at all. */
  isSuppressed: boolean;
  /** The server's reply, or what the file says; null if it says no more than the reason. */
  diagnostic: string | null;
}

/** The words about subscriptions that many lists have mean the same here. */
const ofStates: Partial<Record<ConsentState, Meaning>> = {
  bounced: 'hard_bounce',
  complained: 'complaint',
  unsubscribed: 'manual',
};

/** @returns undefined if the word is not known */
function meaningOf(text: string): Meaning | undefined {
  const word = simplified(text);
  const state = anyTool.get(word);
  return reasonWords.get(word) ?? (state && ofStates[state]);
}

const includesAll = (present: ReadonlySet<string>) => (entry: { headings: readonly string[] }) =>
  entry.headings.every((heading) => present.has(heading));

/**
 * Finds the fields of the columns of a suppression file by their headings.
 * @returns for each column its field; null: the column has none of these; undefined: the heading is not known here
 */
export function suppressionFields(names: readonly string[]): (ColumnField | null | undefined)[] {
  const headings = names.map(simplified);
  const present = new Set(headings);
  const ofReason =
    reasonColumns.find(includesAll(present))?.reason ??
    reasonHeadings.find((heading) => present.has(heading));
  const isFirst = new Set<string>();
  return headings.map((heading) => {
    if (heading === ofReason && !isFirst.has(heading)) {
      isFirst.add(heading);
      return 'reason';
    }
    // Beside a better column of reasons, SendGrid has the code of the reply there.
    if (heading === 'status') return 'status_code';
    if (reasonHeadings.includes(heading)) return null;
    // Mailgun's. Without a code, it is the column that our own reports add.
    if (heading === 'error' && !present.has('code')) return undefined;
    const found = Object.entries(suppressionHeadings).find(([, known]) => known.includes(heading));
    return found?.[0] as ColumnField | undefined;
  });
}

/** Finds out by the headings of a file why all of its addresses are suppressed; null if they do not say it. */
export function reasonOfFile(names: readonly string[]): SuppressionReason | null {
  const present = new Set(names.map(simplified));
  return reasonsOfFiles.find(includesAll(present))?.reason ?? null;
}

/** Finds the service whose suppression list a file is, by headings that lists of contacts do not have. */
export function suppressionListOf(names: readonly string[]): string | null {
  const present = new Set(names.map(simplified));
  return suppressionLists.find(includesAll(present))?.of ?? null;
}

/** A reply of a mail server: it begins with a code, or has an enhanced one (RFC 3463). */
const REPLY = /^\s*(?:smtp\s*;\s*)?[245]\d\d(?:[ -]|$)|(?:^|[\s(#])[45]\.\d{1,3}\.\d{1,3}(?=$|[\s):;,-])/i;
const ENHANCED = /^[45]\.\d{1,3}\.\d{1,3}$/;

/** Classifies a server's reply. Other services have suppressed the address, so a soft bounce suppresses it here, too. */
function reasonOfReply(text: string, status: string | null): SuppressionReason {
  const { bounce, suppresses } = judgeBounce({ text, status, permanent: true });
  return bounce.type === 'hard' && suppresses ? 'hard_bounce' : 'soft_bounce';
}

const asDiagnostic = (text: string): string =>
  text
    .replace(/[\s\x00-\x1f]+/g, ' ')
    .slice(0, MAX_DIAGNOSTIC)
    .toWellFormed();

/** What the cells of a row say besides a known word. */
interface Said {
  texts: readonly string[];
  /** The enhanced code, if the row has it in a column of its own. */
  status: string | null;
}

/** @returns undefined if the cells have no reply of a mail server */
function reasonOfTexts({ texts, status }: Said): SuppressionReason | undefined {
  const reply = texts.find((text) => REPLY.test(text));
  return reply === undefined && status === null ? undefined : reasonOfReply(reply ?? '', status);
}

/**
 * Reads why the address of a row is suppressed: by the word in the column of reasons, or else as the client or the
 * headings say, or by the reply of a mail server in that or another column.
 * @param ofFile why the addresses of the file are suppressed whose rows do not say it; null: unknown
 * @param warn called with the problem of a cell that says something unknown. The address is suppressed nevertheless
 */
export function readReason(
  { reason: cell, diagnostic: reply, status_code: code }: Cells,
  ofFile: SuppressionReason | null,
  warn: (problem: RowProblem & { column: string }) => void,
): ReadReason {
  const filled = [cell, reply, code].filter((each): each is Cell => each !== undefined);
  filled.forEach(requireReadable);
  const meaning = cell && meaningOf(cell.text);
  if (meaning === 'none') return { reason: 'manual', isSuppressed: false, diagnostic: null };
  const texts = filled.filter((each) => meaning === undefined || each !== cell).map(({ text }) => text);
  const status = code && ENHANCED.test(code.text) ? code.text : null;
  const reason = meaning ?? ofFile ?? reasonOfTexts({ texts, status });
  if (reason === undefined && cell) {
    const message = `${cell.column} is no known reason, so the address is suppressed as manual`;
    warn({ code: 'invalid_reason', message, column: cell.column });
  }
  const [text] = texts;
  return {
    reason: reason ?? 'manual',
    isSuppressed: true,
    diagnostic: text === undefined ? null : asDiagnostic(text),
  };
}
