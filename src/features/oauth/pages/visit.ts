import { z } from 'zod';
import { AppError } from '../../../errors.ts';
import { clientNetwork, createClientAddress } from '../../../platform/auth/client-address.ts';
import type { FindCookieSession } from '../../../platform/auth/cookie-session.ts';
import type { SessionIssuer } from '../../../platform/auth/session-issuer.ts';
import type { UserSession } from '../../../platform/auth/session.ts';
import type { RateLimiter } from '../../../platform/http/rate-limiter.ts';
import type { RawResult, RouteInput } from '../../../platform/http/route.ts';
import type { Keyring } from '../../../platform/secrets/keyring.ts';
import type { Interactions, OpenInteraction } from '../interactions.ts';
import { interactionPath } from '../provider.ts';
import { createFormTokens, readForm } from './forms.ts';
import { errorPage } from './page.ts';

export interface VisitDeps {
  config: { TRUSTED_PROXIES: string[] };
  keyring: Keyring;
  sessions: SessionIssuer;
  findCookieSession: FindCookieSession;
  rateLimiter: RateLimiter;
  interactions: Interactions;
}

/** Many users may share a network. */
const REQUESTS_PER_SECOND = 50;

export const pageParams = z.strictObject({ uid: z.string() });
type PageInput = RouteInput<z.output<typeof pageParams>>;

/** An authorization, and the user in whose browser it is shown. */
export interface Visit {
  interaction: OpenInteraction;
  /** Null: the browser is not signed in. */
  session: UserSession | null;
  /** The path of the page. */
  path: string;
  /** The token of the forms on the page. */
  csrf: string;
  /** The time at which the page is shown, signed for its forms. */
  shown: string;
  input: PageInput;
}

/** A form that our own page sent. */
export interface SentForm {
  fields: URLSearchParams;
  /** How long ago its page was shown, in ms; null if it does not prove that. */
  ageMs: number | null;
}

type Answer = (visit: Visit, form: SentForm) => Promise<RawResult>;

/** Finds what a request is about, reads its form, and shows errors as pages. */
export type WithVisit = (input: PageInput, answer: Answer) => Promise<RawResult>;

export function createWithVisit(deps: VisitDeps): WithVisit {
  const { config, interactions, findCookieSession, sessions, rateLimiter } = deps;
  const tokens = createFormTokens(deps.keyring);
  const clientAddress = createClientAddress(config.TRUSTED_PROXIES);

  async function visitOf(input: PageInput): Promise<Visit> {
    const { req } = input.ctx;
    const { uid } = input.params;
    const network = clientNetwork(clientAddress(req));
    await rateLimiter.request(`oauth pages from ${network}`, REQUESTS_PER_SECOND);
    const interaction = await interactions.find(req, uid);
    if (!interaction) {
      rateLimiter.unknownSecret(network);
      throw new AppError('not_found', 'Go back to the application and connect it again.');
    }
    const session = await findCookieSession(req);
    const csrf = tokens.of(uid, session?.id ?? null);
    const shown = tokens.timeOf(csrf);
    return { interaction, session, path: interactionPath(uid), csrf, shown, input };
  }

  /** @throws AppError forbidden unless our own page sent the form, for the same user */
  async function formOf({ input, session }: Visit): Promise<SentForm> {
    sessions.requireKind(input.ctx.req, 'cookie');
    const fields = readForm(await input.readBytes('stranger'));
    const csrf = fields.get('csrf') ?? '';
    if (!tokens.isOf(input.params.uid, session?.id ?? null, csrf)) {
      throw new AppError('forbidden', 'Another user has signed in since. Go back, and load the page again.');
    }
    return { fields, ageMs: tokens.ageOf(csrf, fields.get('shown') ?? '') };
  }

  const noForm: SentForm = { fields: new URLSearchParams(), ageMs: null };
  return async (input, answer) => {
    try {
      const visit = await visitOf(input);
      return await answer(visit, input.ctx.method === 'POST' ? await formOf(visit) : noForm);
    } catch (error) {
      if (error instanceof AppError) return errorPage(error);
      throw error;
    }
  };
}
