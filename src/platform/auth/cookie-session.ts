import type { IncomingMessage } from 'node:http';
import type { Queryable } from '../db/queryable.ts';
import type { LastUses } from './last-use.ts';
import type { SessionCookies } from './session-cookie.ts';
import { findUserCaller } from './session-tenant.ts';
import type { UserSession } from './session.ts';

/**
 * Finds the session of a browser that shows a page. A page that changes something must prove on its own that its form
 * was ours.
 * @returns null if the browser is not signed in
 */
export type FindCookieSession = (request: Pick<IncomingMessage, 'headers'>) => Promise<UserSession | null>;

export interface FindCookieSessionDeps {
  db: Queryable;
  cookies: SessionCookies;
  sessionUses: LastUses;
}

export function createFindCookieSession({
  db,
  cookies,
  sessionUses,
}: FindCookieSessionDeps): FindCookieSession {
  return async ({ headers }) => {
    const digest = cookies.digestOf(headers);
    const caller = digest && (await findUserCaller(db, digest, { accountId: null, brandId: null }));
    if (!caller) return null;
    sessionUses.used(caller.session.id);
    return caller.session;
  };
}
