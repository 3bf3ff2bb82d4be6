/**
 * Links whose URL differs between recipients, such as `https://shop.example/?customer={{ contact.id }}`. Each becomes a
 * separate value, which is built for each recipient: with the parameters of the content, and with a token if the link
 * is tracked. The rest of the content stays constant.
 */
import { hasMark, markOf, type Piece, piecesOf } from './slotted.ts';
import { LinkFinder, type LinkTracking, targetOf } from '../mime/tracked-html.ts';
import { escapeHtml } from '../mime/escape-html.ts';
import { addToTextLinks, type LinkParameters, withParameters } from '../mime/utm.ts';

/** A text as its constant parts and the values between them. */
type Pieces = readonly Piece[];

const join = (pieces: Pieces, values: readonly string[]): string => {
  let text = '';
  for (const piece of pieces) text += typeof piece === 'string' ? piece : (values[piece] ?? '');
  return text;
};

/** A link that is built for each recipient. */
export interface PersonalLink {
  /** @returns the link for a recipient; null if the message has to be built as a whole */
  textOf: (values: readonly string[], tokenOf: (url: string) => string) => string | null;
  /** Whether it may be tracked, and so get a token. */
  mayBeTracked: boolean;
}

export interface PersonalLinks {
  /** The text in which each personal link is one value. */
  marked: string;
  /** The first one has the number after that of the last value. */
  links: readonly PersonalLink[];
}

/** An unfinished entity, which the next value could complete. */
const OPEN_ENTITY = /&[#a-z0-9]*$/i;

/** Decodes an attribute's value as a browser does. */
function decode(source: string, quote: string): string {
  if (!source.includes('&')) return source;
  return new LinkFinder(`<a href=${quote}${source}${quote}>`).links[0]?.value ?? source;
}

interface LinkSettings {
  parameters: LinkParameters;
  tracking: LinkTracking | null;
}

function htmlLink(pieces: Pieces, quote: string, optedOut: boolean, settings: LinkSettings): PersonalLink {
  const { parameters, tracking } = settings;
  const textOf: PersonalLink['textOf'] = (values, tokenOf) => {
    const source = join(pieces, values);
    const value = decode(source, quote);
    const url = value.trim();
    const changed = parameters.length > 0 ? withParameters(url, parameters) : url;
    const target = tracking && targetOf({ value: changed === url ? value : changed, optedOut }, tracking);
    if (target) return `${tracking.clickPrefix ?? ''}${tokenOf(target)}`;
    return changed === url ? source : escapeHtml(changed);
  };
  return { textOf, mayBeTracked: !optedOut && typeof tracking?.clickPrefix === 'string' };
}

/**
 * Finds the links in HTML that contain values, and so differ between recipients.
 * @param marked values are only in quoted attributes
 * @param first the number of the first link as a value
 * @param isOwn whether a link points to one of Carillon's own pages, and stays unchanged
 * @returns null if a link cannot be built for each recipient
 */
export function personalHtmlLinks(
  marked: string,
  first: number,
  isOwn: (value: string) => boolean,
  settings: LinkSettings,
): PersonalLinks | null {
  const found = new LinkFinder(marked).links.filter(({ value }) => hasMark(value) && !isOwn(value));
  const links: PersonalLink[] = [];
  let result = '';
  let done = 0;
  for (const { start, end, optedOut } of found) {
    const pieces = piecesOf(marked.slice(start, end));
    if (pieces.some((piece) => typeof piece === 'string' && OPEN_ENTITY.test(piece))) return null;
    result += marked.slice(done, start) + markOf(first + links.length);
    done = end;
    links.push(htmlLink(pieces, marked.charAt(start - 1), optedOut, settings));
  }
  return { marked: result + marked.slice(done), links };
}

/** They decide where a link ends that is not in angle brackets. */
const BRACKET = /[()[\]{}]/;

/** @param isEnclosed whether the link is in angle brackets, which end it */
function textLink(pieces: Pieces, isEnclosed: boolean, parameters: LinkParameters): PersonalLink {
  const used = pieces.filter((piece) => typeof piece === 'number');
  const textOf: PersonalLink['textOf'] = (values) => {
    if (!isEnclosed && used.some((value) => BRACKET.test(values[value] ?? ''))) return null;
    const url = join(pieces, values);
    let whole = false;
    const changed = addToTextLinks(isEnclosed ? `<${url}>` : url, parameters, (found) => {
      whole = found === url;
      return false;
    });
    // If not, a value ends the link, or contains a link itself.
    if (!whole) return null;
    return isEnclosed ? changed.slice(1, -1) : changed;
  };
  return { textOf, mayBeTracked: false };
}

/** Finds the links of a text that contain values, and adds parameters to all others. */
export function personalTextLinks(marked: string, first: number, parameters: LinkParameters): PersonalLinks {
  const links: PersonalLink[] = [];
  const result = addToTextLinks(marked, parameters, hasMark, (url, isEnclosed) => {
    links.push(textLink(piecesOf(url), isEnclosed, parameters));
    return markOf(first + links.length - 1);
  });
  return { marked: result, links };
}
