import { AppError } from '../../errors.ts';
import { problemPage } from './pages/page.ts';
import type { RawResult } from '../../platform/http/route.ts';
import type { ProviderAnswer } from './providers.ts';
import { interactionPath } from './provider.ts';
import { readResource } from './resources.ts';
import { readScopes } from './scopes.ts';

/** What a client may send. The library has parameters of features that are off, and of identity, which is no use here. */
const PASSED = [
  'client_id',
  'redirect_uri',
  'response_type',
  'state',
  'code_challenge',
  'code_challenge_method',
  'resource',
];
/** Every authorization asks the user, so that other values of `prompt` change nothing. */
const NO_PROMPT = 'none';

/** Whether a form or query has the character NUL, which PostgreSQL cannot store. @param encoded not decoded yet */
export const hasNul = (encoded: string): boolean => encoded.includes('%00') || encoded.includes('\0');
export const NUL_REFUSED = 'parameters must not contain the character NUL';

/**
 * Returns the query for the library. A parameter that is given twice stays so, and is refused there.
 * @param resource the only one there is
 * @throws AppError validation_error
 */
export function authorizationQuery(querystring: string, resource: string): string {
  if (hasNul(querystring)) throw new AppError('validation_error', NUL_REFUSED);
  const given = new URLSearchParams(querystring);
  const passed = new URLSearchParams();
  for (const name of PASSED) {
    for (const value of given.getAll(name)) {
      passed.append(name, name === 'resource' ? readResource(value, resource) : value);
    }
  }
  passed.set('scope', readScopes(given.getAll('scope').join(' ')).join(' '));
  if (given.getAll('prompt').join(' ').split(' ').includes(NO_PROMPT)) passed.set('prompt', NO_PROMPT);
  return passed.toString();
}

function describeError(body: Buffer): string {
  try {
    const { error, error_description: text } = JSON.parse(body.toString()) as Record<string, unknown>;
    return `The reason: ${String(text ?? error)}.`;
  } catch {
    return 'The request cannot be understood.';
  }
}

/**
 * Where an answer to the beginning of an authorization sends the browser away from our pages: to the client, with what is
 * wrong, as only the user's decision leads there otherwise.
 * @returns null if the browser stays
 */
export function faultyRedirect({ headers }: ProviderAnswer, issuer: string): URL | null {
  const { location } = headers;
  const target = typeof location === 'string' ? URL.parse(location, issuer) : null;
  const isOwn = target?.origin === issuer && target.pathname.startsWith(interactionPath(''));
  return isOwn ? null : target;
}

/** The answer that shows a page instead of a redirect to a client. */
export function withoutRedirect(target: URL): ProviderAnswer {
  const given = [target.search, target.hash.slice(1)].map((text) => new URLSearchParams(text));
  const named = (name: string) => given.map((each) => each.get(name)).find((text) => text !== null);
  const [error, text] = [named('error'), named('error_description')];
  return { status: 400, headers: {}, body: Buffer.from(JSON.stringify({ error, error_description: text })) };
}

/** A page for what must not be sent to the client, because the request does not prove where it is. */
export function authorizationProblem({ status, body }: ProviderAnswer): RawResult {
  return problemPage(
    status,
    'This program cannot be connected',
    `${describeError(body)} Go back to the program and try to connect it again.`,
  );
}
