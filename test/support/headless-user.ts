import { parseSetCookie, stringifyCookie } from 'cookie';
import { selectAll, selectOne } from 'css-select';
import { isText, type AnyNode, type Element } from 'domhandler';
import { parseDocument } from 'htmlparser2';
import { createFormTokens } from '../../src/features/oauth/pages/forms.ts';
import { createKeyring } from '../../src/platform/secrets/keyring.ts';
import { TEST_PASSWORD, TEST_SECRET } from './api.ts';

/** More redirects and forms than an authorization has. */
const MAX_STEPS = 20;

export interface HeadlessUserOptions {
  /** The server whose pages the user fills in. */
  origin: string;
  email: string;
  /** Default: {@link TEST_PASSWORD} */
  password?: string;
  /** The boxes of the consent page to tick, by name; by default all. */
  ticks?: (name: string, value: string) => boolean;
  /** Denies the access. */
  denies?: boolean;
}

/** A page that the user cannot get past. */
export class UnexpectedPage extends Error {
  readonly status: number;
  readonly html: string;

  constructor(status: number, url: string, html: string) {
    super(`${status} at ${url}: ${html}`);
    this.status = status;
    this.html = html;
  }
}

/** A user with a browser that has cookies, but runs no scripts. */
export interface HeadlessUser {
  /** Name and value of each cookie. */
  cookies: Map<string, string>;
  /** The path of each page that was shown. */
  shown: string[];
  /** The text of the consent page that was shown last. */
  consent: string;
  /** Requests a page with the cookies, or sends a form. Follows no redirects. */
  request(url: string | URL, form?: URLSearchParams): Promise<Response>;
  /**
   * Opens an authorization URL, signs in and consents.
   * @returns the URL of the client that the browser is sent to. It is not requested.
   * @throws UnexpectedPage if the browser is not sent to the client
   */
  authorize(url: string | URL): Promise<URL>;
}

function textOf(node: AnyNode): string {
  if (isText(node)) return node.data;
  return 'children' in node ? node.children.map(textOf).join('') : '';
}

function formTo(page: AnyNode, action: string): Element | null {
  return selectOne<AnyNode, Element>(`form[method="post"][action$="/${action}"]`, page);
}

/** What a browser sends: the given values, hidden fields, and the ticked boxes. */
function fillIn(
  form: Element,
  values: Record<string, string>,
  ticks: (name: string, value: string) => boolean,
): URLSearchParams {
  const fields = new URLSearchParams();
  for (const { attribs } of selectAll<AnyNode, Element>('input[name]', form)) {
    const { name = '', type = 'text', value = '' } = attribs;
    if (type === 'checkbox') {
      if (ticks(name, value)) fields.append(name, value);
    } else {
      fields.append(name, values[name] ?? value);
    }
  }
  const shown = fields.get('shown');
  if (shown !== null) fields.set('shown', shownBefore({ csrf: fields.get('csrf') ?? '', shown }).shown ?? '');
  return fields;
}

const READING_MS = 60_000;
const readBefore = createFormTokens(createKeyring(TEST_SECRET), () => Date.now() - READING_MS);

/** The hidden fields of a form as if it had been shown a minute ago, so that tests need not wait until it counts. */
export function shownBefore(fields: Record<string, string>): Record<string, string> {
  const { csrf = '', shown } = fields;
  return shown === undefined ? fields : { ...fields, shown: readBefore.timeOf(csrf) };
}

export function createHeadlessUser(options: HeadlessUserOptions): HeadlessUser {
  const { origin, email, password = TEST_PASSWORD, ticks = () => true, denies = false } = options;

  function keep(response: Response): void {
    for (const line of response.headers.getSetCookie()) {
      const { name, value = '', maxAge, expires } = parseSetCookie(line);
      const isGone = maxAge === 0 || (expires !== undefined && expires.getTime() <= Date.now());
      if (isGone) user.cookies.delete(name);
      else user.cookies.set(name, value);
    }
  }

  /** The next form of a page and its fields. */
  function nextForm(url: URL, html: string): { action: URL; fields: URLSearchParams } | null {
    const page = parseDocument(html);
    const login = formTo(page, 'login');
    const consent = formTo(page, denies ? 'deny' : 'consent');
    const form = login ?? consent;
    if (!form) return null;
    if (!login) user.consent = textOf(page);
    const fields = fillIn(form, login ? { email, password } : {}, ticks);
    return { action: new URL(form.attribs.action ?? '', url), fields };
  }

  const user: HeadlessUser = {
    cookies: new Map(),
    shown: [],
    consent: '',

    async request(url, form) {
      const cookie = stringifyCookie(Object.fromEntries(user.cookies));
      const response = await fetch(url, {
        redirect: 'manual',
        headers: { ...(cookie && { Cookie: cookie }), ...(form && { Origin: origin }) },
        ...(form && { method: 'POST', body: form }),
      });
      keep(response);
      return response;
    },

    async authorize(start) {
      let url = new URL(start);
      let form: URLSearchParams | undefined;
      const sent = new Set<string>();
      for (let step = 0; step < MAX_STEPS; step += 1) {
        const response = await user.request(url, form);
        const location = response.headers.get('location');
        form = undefined;
        if (location !== null) {
          await response.body?.cancel();
          url = new URL(location, url);
          if (url.origin !== origin) return url;
          continue;
        }
        const html = await response.text();
        user.shown.push(url.pathname);
        const next = response.ok ? nextForm(url, html) : null;
        // The same form twice: it was refused.
        if (!next || sent.has(next.action.href)) throw new UnexpectedPage(response.status, url.href, html);
        sent.add(next.action.href);
        url = next.action;
        form = next.fields;
      }
      throw new Error(`more than ${MAX_STEPS} pages and redirects`);
    },
  };
  return user;
}
