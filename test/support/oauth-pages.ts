import { TEST_PASSWORD, type TestApi } from './api.ts';
import type { Assistant } from './assistant.ts';
import { createHeadlessUser, shownBefore } from './headless-user.ts';

/** A page of an authorization, or a redirect. */
export interface ShownPage {
  status: number;
  headers: Headers;
  html: string;
  /** Where a redirect leads. */
  location: URL | null;
}

export type Fields = Record<string, string | string[]>;

type FormAction = 'login' | 'confirm' | 'consent' | 'deny';

/** Someone who fills in the pages by hand. */
export interface PageVisitor {
  cookies: Map<string, string>;
  /** Begins an authorization. @returns the path of its page */
  begin(scope?: string): Promise<string>;
  open(path: string): Promise<ShownPage>;
  /**
   * Opens a page. @returns the hidden fields of its forms
   * @param options.isHasty whether the form will be sent at once; otherwise it was shown a while ago
   */
  fill(path: string, options?: { isHasty?: boolean }): Promise<{ fields: Record<string, string> }>;
  /** Sends a form with these fields. */
  post(path: string, action: FormAction, fields: Fields): Promise<ShownPage>;
  /** Sends a form of the page. @param fields replace its hidden ones */
  submit(path: string, action: FormAction, fields?: Fields): Promise<ShownPage>;
  /** Signs in. @param email default: the owner's */
  signIn(path: string, email?: string, fields?: Fields): Promise<ShownPage>;
  /** Follows the redirects of this service. @returns the URL of the client */
  follow(page: ShownPage): Promise<URL>;
}

const HIDDEN = /type="hidden" name="([^"]*)" value="([^"]*)"/g;

/**
 * @param assistant the client that asks for access
 * @param origin the header that the visitor's browser sends with forms; by default that of the API
 */
export function createPageVisitor(api: TestApi, assistant: Assistant, origin = api.baseUrl): PageVisitor {
  const browser = createHeadlessUser({ origin, email: api.email });

  async function request(path: string | URL, form?: URLSearchParams): Promise<ShownPage> {
    const response = await browser.request(new URL(path, api.baseUrl), form);
    const location = response.headers.get('location');
    const { status, headers } = response;
    const target = location === null ? null : new URL(location, api.baseUrl);
    return { status, headers, html: await response.text(), location: target };
  }

  const visitor: PageVisitor = {
    cookies: browser.cookies,
    open: (path) => request(path),
    async begin(scope = 'mcp:read') {
      const { location, html } = await request(assistant.authorizationUrl({ scope }));
      if (!location) throw new Error(html);
      return location.pathname;
    },
    async fill(path, { isHasty = false } = {}) {
      const { html } = await request(path);
      const fields = Object.fromEntries([...html.matchAll(HIDDEN)].map(([, name, value]) => [name, value]));
      return { fields: isHasty ? fields : shownBefore(fields) };
    },
    post(path, action, fields) {
      const form = new URLSearchParams();
      for (const [name, value] of Object.entries(fields)) {
        for (const each of [value].flat()) form.append(name, each);
      }
      return request(`${path}/${action}`, form);
    },
    async submit(path, action, fields = {}) {
      return visitor.post(path, action, { ...(await visitor.fill(path)).fields, ...fields });
    },
    signIn: (path, email = api.email, fields = {}) =>
      visitor.submit(path, 'login', { email, password: TEST_PASSWORD, ...fields }),
    async follow(page) {
      let { location } = page;
      while (location?.origin === api.baseUrl) ({ location } = await request(location));
      if (!location) throw new Error('the browser stays here');
      return location;
    },
  };
  return visitor;
}
