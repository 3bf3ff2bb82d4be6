/** Divides the texts of a content into the parts that all recipients share and the values that differ. */
import { type PersonalLink, personalHtmlLinks, personalTextLinks } from './personal-links.ts';
import {
  hasFixedStructure,
  hasMark,
  markOf,
  markValues,
  type Piece,
  piecesOf,
  RECIPIENT,
  type SlottedText,
} from './slotted.ts';
import { type LinkTracking, trackHtml } from '../mime/tracked-html.ts';
import { addToHtmlLinks, type LinkParameters } from '../mime/utm.ts';

/** The texts of a content, and how their links are rewritten. */
export interface SharedTexts {
  html: SlottedText;
  text: SlottedText;
  /** Numbers of the values of `html` that are links to unsubscribe or to the preference page. */
  ownLinks: ReadonlySet<number>;
  /** Added to web links; empty: none. */
  parameters: LinkParameters;
  tracking: LinkTracking | null;
  /** The part of a link's token that all recipients share. */
  targetToken(target: { link: number; links: number; url: string }): string;
}

/** The pieces of a text. Personal links are numbered as values after those of the text. */
export interface DividedPart {
  pieces: Piece[];
  /** Appends the recipient's personal links to the values. @returns null if the message has to be built as a whole */
  complete: (values: readonly string[], recipientToken: string) => readonly string[] | null;
}

/** @param tokenOf returns the token of a link; `n` counts the personal links that may be tracked from 1 */
function divided(
  pieces: Piece[],
  links: readonly PersonalLink[],
  tokenOf: (n: number, url: string) => string,
): DividedPart {
  if (links.length === 0) return { pieces, complete: (values) => values };
  return {
    pieces,
    complete(values, recipientToken) {
      const completed = [...values];
      let tracked = 0;
      for (const { textOf, mayBeTracked } of links) {
        const n = mayBeTracked ? (tracked += 1) : 0;
        const text = textOf(values, (url) => recipientToken + tokenOf(n, url));
        if (text === null) return null;
        completed.push(text);
      }
      return completed;
    },
  };
}

const numberOfValues = (text: SlottedText) => text.length - 1;

/** @returns null if a value could change the structure of the HTML, or complete an entity */
export function dividedHtml(content: SharedTexts): DividedPart | null {
  const { tracking, parameters } = content;
  const all = markValues(content.html);
  if (all === null || !hasFixedStructure(all)) return null;
  const changesLinks = parameters.length > 0 || typeof tracking?.clickPrefix === 'string';
  const own = new Set([...content.ownLinks].map(markOf));
  const personal = changesLinks
    ? personalHtmlLinks(all, numberOfValues(content.html), (value) => own.has(value.trim()), content)
    : { marked: all, links: [] };
  if (!personal) return null;
  const { marked } = personal;
  const html = parameters.length > 0 ? addToHtmlLinks(marked, parameters, hasMark) : marked;
  const tracked = tracking && trackHtml(html, {}, tracking);
  const shared = tracked?.links.length ?? 0;
  const links = shared + personal.links.filter(({ mayBeTracked }) => mayBeTracked).length;
  const tokenOf = (n: number, url: string) => content.targetToken({ link: shared + n, links, url });
  if (!tracked) return divided(piecesOf(html), personal.links, tokenOf);
  const pieces = tracked.pieces.flatMap((piece, n): Piece[] => {
    const slot = tracked.slots[n];
    if (!slot) return piecesOf(piece);
    const url = tracked.links[slot.link - 1] ?? '';
    return [...piecesOf(piece), RECIPIENT, content.targetToken({ link: slot.link, links, url })];
  });
  return divided(pieces, personal.links, tokenOf);
}

export function dividedText({ text, parameters }: SharedTexts): DividedPart | null {
  const all = markValues(text);
  if (all === null) return null;
  if (parameters.length === 0) return divided(piecesOf(all), [], () => '');
  const { marked, links } = personalTextLinks(all, numberOfValues(text), parameters);
  return divided(piecesOf(marked), links, () => '');
}
