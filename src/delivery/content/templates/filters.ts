/**
 * The Liquid filters that Carillon defines itself: common ones in linear time, `date` independent of the process's time
 * zone, and those whose result depends on whether they produce HTML. All others are the library's.
 */
import { formatDate } from './dates.ts';
import { isAllowedUrl } from './urls.ts';
import { bounded, escapeValue, escapeOnce, stripHtml, textOf, withoutControls } from './values.ts';

/** What a text is part of: HTML, where values are escaped; plain text; or a header, which has one line. */
export type Mode = 'html' | 'text' | 'header';

export interface Filter {
  /** @param args positional arguments, and pairs of name and value */
  run(value: unknown, args: readonly unknown[], mode: Mode): unknown;
  /** In HTML, it returns HTML: its result is not escaped if it is the last filter. */
  returnsHtml?: true;
}

function checked(text: string): string {
  bounded(text.length);
  return text;
}

const onText = (run: (text: string, args: readonly unknown[]) => string): Filter => ({
  run: (value, args) => run(textOf(value), args),
});

function isBlank(value: unknown): boolean {
  return (
    value === undefined || value === null || value === '' || (Array.isArray(value) && value.length === 0)
  );
}

function allowsFalse(args: readonly unknown[]): boolean {
  return args.some((arg) => Array.isArray(arg) && arg[0] === 'allow_false' && arg[1] === true);
}

const MAX_CSS = 200;
/** Not allowed in a value of a style: it could end the value, or load something. */
const CSS_UNSAFE = /[^\p{L}\p{N} #%.,+_-]/gu;
const CSS_URL_UNSAFE = /['"()\\<>\s]/g;
const NAME_UNSAFE = /[^a-zA-Z0-9_-]/g;

function truncate(text: string, args: readonly unknown[]): string {
  const length = typeof args[0] === 'number' || typeof args[0] === 'string' ? Number(args[0]) : 50;
  const ellipsis = args[1] === undefined ? '...' : textOf(args[1]);
  if (!(text.length > length)) return text;
  return text.slice(0, Math.max(length - ellipsis.length, 0)).toWellFormed() + ellipsis;
}

function capitalize(text: string): string {
  return text.slice(0, 1).toUpperCase() + text.slice(1).toLowerCase();
}

/**
 * A value in brackets, such as the target of a link in a generated text. A class that ends at every bracket keeps this
 * linear.
 */
const BRACKETS = /( ?)<\{\{([^{}]*)\}\}>/g;
const HAS_RAW = /\{%-?\s*raw\b/;

/** Omits the brackets around empty values of a text that is about to be rendered. */
export function withoutEmptyBrackets(liquid: string): string {
  if (HAS_RAW.test(liquid)) return liquid;
  return liquid.replace(BRACKETS, (all: string, before: string, inner: string) => {
    const expression = inner.replace(/^-/, '').replace(/-$/, '');
    return expression.trim() === '' ? all : `{{${expression}| in_brackets: "${before}" }}`;
  });
}

/** @param now milliseconds since 1970, for `now` and `today` */
export function createFilters(now: () => number = Date.now): Readonly<Record<string, Filter>> {
  return {
    default: {
      run(value, args) {
        const otherwise = Array.isArray(args[0]) ? '' : (args[0] ?? '');
        if (value === false) return allowsFalse(args) ? value : otherwise;
        return isBlank(value) ? otherwise : value;
      },
    },
    upcase: onText((text) => text.toUpperCase()),
    downcase: onText((text) => text.toLowerCase()),
    capitalize: onText(capitalize),
    strip: onText((text) => text.trim()),
    lstrip: onText((text) => text.trimStart()),
    rstrip: onText((text) => text.trimEnd()),
    strip_newlines: onText((text) => text.replace(/\r?\n/g, '')),
    strip_html: onText(stripHtml),
    truncate: onText(truncate),
    append: onText((text, [more]) => {
      const added = textOf(more);
      bounded(text.length + added.length);
      return text + added;
    }),
    prepend: onText((text, [more]) => {
      const added = textOf(more);
      bounded(text.length + added.length);
      return added + text;
    }),
    url_encode: onText((text) => checked(encodeURIComponent(text.toWellFormed()).replaceAll('%20', '+'))),
    date: {
      run: (value, [format, zone]) =>
        isBlank(value) ? '' : (formatDate(value, textOf(format), textOf(zone) || 'UTC', now()) ?? value),
    },
    escape: {
      run: (value, _args, mode) => (mode === 'html' ? checked(escapeValue(textOf(value))) : textOf(value)),
      returnsHtml: true,
    },
    escape_once: {
      run: (value, _args, mode) => (mode === 'html' ? checked(escapeOnce(textOf(value))) : textOf(value)),
      returnsHtml: true,
    },
    newline_to_br: {
      run: (value, _args, mode) =>
        mode === 'html' ? checked(escapeOnce(textOf(value)).replace(/\r?\n/g, '<br>\n')) : textOf(value),
      returnsHtml: true,
    },
    raw: { run: (value) => withoutControls(textOf(value)), returnsHtml: true },
    in_css: onText((text) => text.slice(0, MAX_CSS).replace(CSS_UNSAFE, '')),
    // Inside `url(…)`: the whole URL, or the rest of it.
    in_css_url: onText((text, [part]) =>
      part === 'rest' || isAllowedUrl(text, 'image')
        ? text.replace(CSS_URL_UNSAFE, (character) => `%${character.charCodeAt(0).toString(16)}`)
        : '',
    ),
    in_name: onText((text) => text.slice(0, MAX_CSS).replace(NAME_UNSAFE, '')),
    in_attribute: onText((text) => text),
    // In a text: nothing instead of empty brackets.
    in_brackets: onText((text, [before]) => (text.trim() === '' ? '' : `${textOf(before)}<${text}>`)),
  };
}
