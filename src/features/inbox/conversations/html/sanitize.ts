import sanitizeHtml from 'sanitize-html';
import { allowedAttributes, allowedTags, removedWithContents } from './rules.ts';
import { allowedStyles } from './styles.ts';

/** Larger HTML is not shown. A mail that was read has at most half a megabyte of it. */
const MAX_LENGTH = 1024 * 1024;
const MAX_TAGS = 50_000;
/** Closing an element may search all that are open, so the depth is bounded. */
const MAX_OPEN = 1_000;
/** Elements below this level lose their tags; the text in them stays. */
const MAX_LEVELS = 100;
const MAX_URL_LENGTH = 8_192;

const LINK_PROTOCOLS: ReadonlySet<string> = new Set(['http:', 'https:', 'mailto:']);

type Attributes = sanitizeHtml.Attributes;

/** The HTML has too many tags. */
class TooLarge extends Error {}

/** A link as the browser would read it; null unless it is complete and of an allowed kind. */
function linkOf(href: string | undefined): string | null {
  if (href === undefined || href.length > MAX_URL_LENGTH) return null;
  const url = URL.parse(href);
  return url && LINK_PROTOCOLS.has(url.protocol) ? url.href : null;
}

function transformLink(tagName: string, { href, ...others }: Attributes): sanitizeHtml.Tag {
  const link = linkOf(href);
  const attribs = { ...others };
  delete attribs.rel;
  delete attribs.target;
  if (link === null) return { tagName, attribs };
  return {
    tagName,
    attribs: { ...attribs, href: link, rel: 'noopener noreferrer nofollow', target: '_blank' },
  };
}

/** The content id that `cid:` names; null for any other image. */
function contentIdOf(src: string | undefined): string | null {
  const [, id] = /^\s*cid:(.{1,998})$/is.exec(src ?? '') ?? [];
  if (id === undefined) return null;
  try {
    return decodeURIComponent(id.trim());
  } catch {
    return id.trim();
  }
}

const imageTransformer =
  (images: ReadonlyMap<string, string>) =>
  (tagName: string, { src, ...others }: Attributes): sanitizeHtml.Tag => {
    const id = contentIdOf(src);
    const path = id === null ? undefined : images.get(id);
    return { tagName, attribs: path === undefined ? others : { ...others, src: path } };
  };

/** Counts tags while they are parsed. */
function createCounter() {
  let tags = 0;
  let open = 0;
  return {
    onOpenTag() {
      tags += 1;
      open += 1;
      if (tags > MAX_TAGS || open > MAX_OPEN) throw new TooLarge();
    },
    onCloseTag() {
      open -= 1;
    },
  };
}

/**
 * Makes the HTML of a mail harmless: it has only allowed elements, attributes and CSS, runs nothing, sends nothing, and
 * loads nothing but images of the mail itself.
 * @param images addresses of the images in the mail that may be shown, by content id
 * @returns null if the HTML is too large
 */
export function sanitize(html: string, images: ReadonlyMap<string, string>): string | null {
  if (html.length > MAX_LENGTH) return null;
  try {
    return sanitizeHtml(html, {
      allowedTags,
      nonTextTags: removedWithContents,
      allowedAttributes,
      allowedStyles: { '*': allowedStyles },
      // The transformers have checked links and images. An image's address is a path.
      allowedSchemes: ['http', 'https', 'mailto'],
      allowProtocolRelative: false,
      disallowedTagsMode: 'discard',
      nestingLimit: MAX_LEVELS,
      transformTags: { a: transformLink, img: imageTransformer(images) },
      exclusiveFilter: ({ tag, attribs }) => tag === 'img' && !attribs.src && !attribs.alt,
      ...createCounter(),
    });
  } catch (error) {
    if (error instanceof TooLarge) return null;
    throw error;
  }
}
