import { z } from 'zod';
import { notFound } from '../../errors.ts';
import { deleteSession } from '../../platform/auth/session-rows.ts';
import { inTransaction } from '../../platform/db/queryable.ts';
import { defineRoute, type RouteDefinition } from '../../platform/http/route.ts';
import { type ConfirmDeps, createConfirmSession } from './confirm.ts';
import { findSession, findSessions } from './model.ts';
import { presentSession } from './presenter.ts';
import { confirmBody, credentialHeaders, sessionParams, sessionSchema } from './schema.ts';
import { endSessions } from './service.ts';

export type SessionRouteDeps = ConfirmDeps;

const CURRENT = '/v1/my/session';
const ALL = '/v1/my/sessions';
const tag = 'Sessions';
const { 'X-CSRF-Token': csrfHeader } = credentialHeaders;

function currentRoute({ database: { pool }, sessions }: SessionRouteDeps): RouteDefinition {
  return defineRoute({
    method: 'GET',
    path: CURRENT,
    operationId: 'getSession',
    tag,
    summary: 'Show the current session',
    description: 'With a cookie, the response has the CSRF token, also after a page was loaded again.',
    auth: 'user',
    responses: {
      200: { description: 'The session', schema: sessionSchema, headers: { 'X-CSRF-Token': csrfHeader } },
    },
    async handler({ session }) {
      const row = await findSession(pool, session.userId, session.id);
      return { status: 200, body: presentSession(row, session), headers: sessions.headersOf(session) };
    },
  });
}

function confirmRoute(deps: SessionRouteDeps): RouteDefinition {
  const { pool } = deps.database;
  const confirm = createConfirmSession(deps);
  return defineRoute({
    method: 'POST',
    path: `${CURRENT}/confirm`,
    operationId: 'confirmSession',
    tag,
    summary: 'Give the password again',
    description:
      'For 15 minutes after this, and after a sign-in, the user may change keys, secrets, the second factor and roles. ' +
      'The session is replaced: use the token, or the cookie and CSRF token, of the response; the old ones are refused. ' +
      'It still expires when it would have. Wrong passwords are limited: 10 per minute.',
    auth: 'user',
    idempotency: 'none',
    body: confirmBody,
    responses: {
      200: { description: 'The new session', schema: sessionSchema, headers: credentialHeaders },
    },
    errors: ['otp_required'],
    async handler({ session, body, ctx: { req } }) {
      const renewed = await confirm(req, session, body);
      const row = await findSession(pool, session.userId, renewed.session.id);
      return { status: 200, body: presentSession(row, renewed.session), headers: renewed.headers };
    },
  });
}

function endCurrentRoute({ database: { pool }, sessions }: SessionRouteDeps): RouteDefinition {
  return defineRoute({
    method: 'DELETE',
    path: CURRENT,
    operationId: 'endCurrentSession',
    tag,
    summary: 'End the current session',
    auth: 'user',
    responses: { 200: { description: 'The session, which has ended', schema: sessionSchema } },
    async handler({ session, ctx: { req } }) {
      const row = await findSession(pool, session.userId, session.id);
      await deleteSession(pool, session.userId, session.id);
      return { status: 200, body: presentSession(row, session), headers: sessions.endHeaders(req, session) };
    },
  });
}

function listRoute({ database: { pool } }: SessionRouteDeps): RouteDefinition {
  return defineRoute({
    method: 'GET',
    path: ALL,
    operationId: 'listSessions',
    tag,
    summary: 'List where the user is signed in',
    auth: 'user',
    responses: { 200: { description: 'The sessions, newest first', schema: z.array(sessionSchema) } },
    async handler({ session }) {
      const rows = await findSessions(pool, session.userId);
      return { status: 200, body: rows.map((row) => presentSession(row, session)) };
    },
  });
}

function endRoute({ database: { pool }, sessions }: SessionRouteDeps): RouteDefinition {
  return defineRoute({
    method: 'DELETE',
    path: `${ALL}/:id`,
    operationId: 'endSession',
    tag,
    summary: 'End a session',
    auth: 'user',
    params: sessionParams,
    responses: { 200: { description: 'The session, which has ended', schema: sessionSchema } },
    async handler({ session, params, ctx: { req } }) {
      const row = await findSession(pool, session.userId, params.id);
      if (!(await deleteSession(pool, session.userId, params.id))) throw notFound('session');
      const headers = params.id === session.id ? sessions.endHeaders(req, session) : {};
      return { status: 200, body: presentSession(row, session), headers };
    },
  });
}

function endOthersRoute({ database: { pool } }: SessionRouteDeps): RouteDefinition {
  return defineRoute({
    method: 'DELETE',
    path: ALL,
    operationId: 'endOtherSessions',
    tag,
    summary: 'End all other sessions',
    description: 'The current session stays. `POST /v1/logout` with `all` ends it, too.',
    auth: 'user',
    responses: { 200: { description: 'The sessions that are left', schema: z.array(sessionSchema) } },
    async handler({ session }) {
      const rows = await inTransaction(pool, async (trx) => {
        await endSessions(trx, session.userId, session.id);
        return findSessions(trx, session.userId);
      });
      return { status: 200, body: rows.map((row) => presentSession(row, session)) };
    },
  });
}

/** `/v1/my/session` and `/v1/my/sessions`. */
export function createSessionRoutes(deps: SessionRouteDeps): RouteDefinition[] {
  const ofCurrent = [currentRoute(deps), confirmRoute(deps), endCurrentRoute(deps)];
  return [...ofCurrent, listRoute(deps), endRoute(deps), endOthersRoute(deps)];
}
