/** The API, with types generated from its description. Each request of the console goes through here. */
import createClient, { type Middleware } from 'openapi-fetch';
import { ApiError, errorOf } from './errors.ts';
import type { components, paths } from './schema.d.ts';

/** The resources of the API, by their names in its description. */
export type Schemas = components['schemas'];

/** The account and brand that requests are about. Each tab has its own, from its URL. */
export interface Tenant {
  accountId: number;
  brandId: number | null;
}

const SAFE = new Set(['GET', 'HEAD']);
const UNAUTHORIZED = 401;

let tenant: Tenant | null = null;
let csrfToken: string | null = null;
let askPassword: () => Promise<boolean> = () => Promise.resolve(false);
let onSignedOut: () => void = () => undefined;

export const setTenant = (next: Tenant | null): void => {
  tenant = next;
};

/** @param ask asks the user for the password again, and resolves to whether it was given */
export const onConfirmationRequired = (ask: () => Promise<boolean>): void => {
  askPassword = ask;
};

export const onSessionEnded = (handle: () => void): void => {
  onSignedOut = handle;
};

const identify: Middleware = {
  onRequest({ request }) {
    // A request that names its tenant may be sent after another one is shown.
    const current = request.headers.has('X-Account-Id') ? null : tenant;
    if (current) request.headers.set('X-Account-Id', String(current.accountId));
    const brandId = current?.brandId ?? null;
    if (brandId !== null) request.headers.set('X-Brand-Id', String(brandId));
    if (!SAFE.has(request.method) && csrfToken !== null) request.headers.set('X-CSRF-Token', csrfToken);
    return request;
  },
  onResponse({ response }) {
    csrfToken = response.headers.get('x-csrf-token') ?? csrfToken;
    return response;
  },
};

/** Sends one request, typed by path. Pass the promise to {@link call} or {@link callPage}. */
export const api = createClient<paths>({ baseUrl: globalThis.location.origin });
api.use(identify);

interface Answer<Data> {
  data?: Data | undefined;
  error?: unknown;
  response: Response;
}

async function send<Data>(request: () => Promise<Answer<Data>>): Promise<Answer<Data>> {
  try {
    return await request();
  } catch (error) {
    if (error instanceof DOMException && error.name === 'AbortError') throw error;
    throw new ApiError({ status: 0, code: 'network', message: 'The service cannot be reached.' });
  }
}

/** Asks whether the session lives, and for its token: another tab, or the password given again, may have renewed both. */
const isSignedIn = async (): Promise<boolean> =>
  (await send(() => api.GET('/v1/my/session'))).response.status !== UNAUTHORIZED;

const codeOf = ({ error }: Answer<unknown>): string | null =>
  typeof error === 'object' && error !== null && 'code' in error ? String(error.code) : null;

/** Responses that mean that the session may have ended or been renewed. */
const REFUSALS: ReadonlySet<string | null> = new Set(['forbidden', 'unauthorized']);
/** The API answers `unauthorized` to a wrong password, too. */
const REFUSALS_OF_PASSWORDS: ReadonlySet<string | null> = new Set(['forbidden']);

/** Sends a request, and again if the user has entered the password again or the session has been renewed meanwhile. */
async function persist<Data>(
  request: () => Promise<Answer<Data>>,
  refusals = REFUSALS,
): Promise<Answer<Data>> {
  const before = { tenant, csrfToken };
  const answer = await send(request);
  if (answer.response.ok) return answer;
  // A change that was meant for one brand must not be made in another.
  const repeat = () => (tenant === before.tenant ? send(request) : answer);
  const code = codeOf(answer);
  if (code === 'confirmation_required') return (await askPassword()) ? repeat() : answer;
  if (!refusals.has(code)) return answer;
  // The password given again, here or in another tab, renews the cookie and its token.
  if (!(await isSignedIn())) onSignedOut();
  else if (csrfToken !== before.csrfToken) return repeat();
  return answer;
}

/**
 * Sends a request and returns the resource.
 * @param request sends it; called again after the user has entered the password again
 * @throws ApiError if the response is not 2xx
 */
export async function call<Data>(request: () => Promise<Answer<Data>>): Promise<Data> {
  const { data, error, response } = await persist(request);
  if (!response.ok) throw errorOf(response, error);
  return data as Data;
}

/**
 * Asks for the session, and returns it. A 401 means that there is none.
 * @throws ApiError if the response is not 2xx
 */
export async function callForSession<Data>(request: () => Promise<Answer<Data>>): Promise<Data> {
  const { data, error, response } = await send(request);
  if (response.status === UNAUTHORIZED) onSignedOut();
  if (!response.ok) throw errorOf(response, error);
  return data as Data;
}

/**
 * Sends a password, and returns the resource. A wrong one does not end the session.
 * @throws ApiError if the response is not 2xx
 */
export async function callWithPassword<Data>(request: () => Promise<Answer<Data>>): Promise<Data> {
  const { data, error, response } = await persist(request, REFUSALS_OF_PASSWORDS);
  if (!response.ok) throw errorOf(response, error);
  return data as Data;
}

/** A page of a list. */
export interface Page<Row> {
  rows: Row[];
  total: number;
  pages: number;
  /** Whether `total` is an estimate. */
  estimated: boolean;
  /**
   * The id after which the list continues; null at its end, and for lists whose pages have only numbers. A page may have
   * few rows, even none, and still not be the last: some filters search a part of the list for each page.
   */
  after: string | null;
}

/** Reads the `after` of the link to the next page. */
function nextAfter(links: string | null): string | null {
  const url = /<([^>]*)>; rel="next"/.exec(links ?? '')?.[1];
  return url === undefined ? null : new URL(url).searchParams.get('after');
}

/**
 * Sends a request for a list.
 * @throws ApiError if the response is not 2xx
 */
export async function callPage<Row>(request: () => Promise<Answer<Row[]>>): Promise<Page<Row>> {
  const { data, error, response } = await persist(request);
  if (!response.ok) throw errorOf(response, error);
  const rows = data ?? [];
  const header = (name: string, missing: number) => Number(response.headers.get(name) ?? missing);
  return {
    rows,
    total: header('x-total-count', rows.length),
    pages: header('x-total-pages', 1),
    estimated: response.headers.get('x-total-count-estimated') === 'true',
    after: nextAfter(response.headers.get('link')),
  };
}

/**
 * Returns a resource with its `ETag`, which goes back as `If-Match`, so that a change by someone else is not
 * overwritten. It is made from the revision: a proxy that compresses may have changed the header.
 * Without a resource there is none.
 */
export async function callWithTag<Data extends { revision: number } | null>(
  request: () => Promise<Answer<Data>>,
): Promise<{ data: Data; etag: string }> {
  const data = await call(request);
  return { data, etag: data ? `"${data.revision}"` : '' };
}
