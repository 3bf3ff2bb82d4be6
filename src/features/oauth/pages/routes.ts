import { defineRoute, type RouteDefinition } from '../../../platform/http/route.ts';
import type { ConfirmSession, SignIn } from '../../sessions/service.ts';
import { interactionPath } from '../provider.ts';
import { createDecisions, type DecisionDeps, type Decisions } from './decisions.ts';
import { styleSheet } from './page.ts';
import { confirmWith, signInWith } from './sign-in-form.ts';
import { signInPage } from './sign-in.ts';
import { STYLE_PATH } from './style.ts';
import { createWithVisit, pageParams, type VisitDeps, type WithVisit } from './visit.ts';

export interface PageRouteDeps extends VisitDeps, DecisionDeps {
  signIn: SignIn;
  confirm: ConfirmSession;
}

const PATH = interactionPath(':uid');
/** A form with 2,000 ticked brands. */
const MAX_BODY_BYTES = 64 * 1024;

const pageRoute = {
  tag: 'OAuth',
  auth: 'none',
  opaque: true,
  params: pageParams,
  maxBodyBytes: MAX_BODY_BYTES,
  responses: { 200: { description: 'A page.', schema: null, contentType: 'text/html' } },
} as const;

function formRoutes(deps: PageRouteDeps, decisions: Decisions, withVisit: WithVisit): RouteDefinition[] {
  const { signIn, confirm, database } = deps;
  const form = { ...pageRoute, method: 'POST', idempotency: 'none' } as const;
  return [
    defineRoute({
      ...form,
      path: `${PATH}/login`,
      operationId: 'signInForOAuth',
      summary: 'Sign in to answer a request for access',
      handler: (input) => withVisit(input, (visit, { fields }) => signInWith(signIn, visit, fields)),
    }),
    defineRoute({
      ...form,
      path: `${PATH}/confirm`,
      operationId: 'confirmForOAuth',
      summary: 'Give the password again to answer a request for access',
      handler: (input) =>
        withVisit(input, (visit, { fields }) => confirmWith({ db: database.pool, confirm }, visit, fields)),
    }),
    defineRoute({
      ...form,
      path: `${PATH}/consent`,
      operationId: 'allowOAuthClient',
      summary: 'Allow access',
      handler: (input) => withVisit(input, (visit, form) => decisions.allow(visit, form)),
    }),
    defineRoute({
      ...form,
      path: `${PATH}/deny`,
      operationId: 'denyOAuthClient',
      summary: 'Deny access',
      handler: (input) => withVisit(input, (visit) => decisions.deny(visit)),
    }),
  ];
}

/** The pages on which users sign in, and allow a client what it asks for. */
export function createPageRoutes(deps: PageRouteDeps): RouteDefinition[] {
  const withVisit = createWithVisit(deps);
  const decisions = createDecisions(deps);
  return [
    defineRoute({
      ...pageRoute,
      method: 'GET',
      path: PATH,
      operationId: 'showOAuthInteraction',
      summary: 'Show a request for access',
      handler: (input) =>
        withVisit(input, async (visit) => {
          const another = new URLSearchParams(input.ctx.querystring).has('sign_in');
          return visit.session === null || another ? signInPage(visit) : decisions.ask(visit);
        }),
    }),
    ...formRoutes(deps, decisions, withVisit),
    defineRoute({
      method: 'GET',
      path: STYLE_PATH,
      operationId: 'showOAuthStyle',
      tag: 'OAuth',
      summary: 'The style sheet of the pages',
      auth: 'none',
      opaque: true,
      responses: { 200: { description: 'A style sheet.', schema: null, contentType: 'text/css' } },
      handler: () => styleSheet(),
    }),
  ];
}
