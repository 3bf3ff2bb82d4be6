import { beginEntries, completeEntries } from '../../../platform/audit/entries.ts';
import { createClientAddress } from '../../../platform/auth/client-address.ts';
import { holdSession } from '../../../platform/auth/session-rows.ts';
import type { McpScope } from '../../../platform/auth/grant-caller.ts';
import { isConfirmed, type UserSession } from '../../../platform/auth/session.ts';
import type { Database } from '../../../platform/db/database.ts';
import { inTransaction, type Queryable } from '../../../platform/db/queryable.ts';
import type { RawResult } from '../../../platform/http/route.ts';
import { findOwnAccounts } from '../../sessions/service.ts';
import { getUser } from '../../users/service.ts';
import { findHeldScopes } from '../grant-list.ts';
import { createGrant } from '../grants.ts';
import type { Interactions } from '../interactions.ts';
import { READING_MS } from './allow-script.ts';
import { type Choice, choicesOf } from './choices.ts';
import { confirmPage } from './confirm.ts';
import { BOTH, consentPage, grantedScopes } from './consent.ts';
import { redirectTo } from './page.ts';
import { signInPage } from './sign-in.ts';
import type { SentForm, Visit } from './visit.ts';

export interface DecisionDeps {
  config: { TRUSTED_PROXIES: string[] };
  database: Database;
  interactions: Interactions;
}

/** Asks a user what a client may do, and carries out the answer. */
export interface Decisions {
  ask(visit: Visit): Promise<RawResult>;
  allow(visit: Visit, form: SentForm): Promise<RawResult>;
  deny(visit: Visit): Promise<RawResult>;
}

const NOTHING_TICKED = 'Tick at least one brand.';
const NOTHING_LEFT = 'Without the last box, there is nothing to allow. Tick it, or deny.';
const TOO_SOON = 'Read the request first, then allow it: an answer counts a second after the page is shown.';
const CONFIRM_FIRST = { status: 403, text: 'Your password was given too long ago to allow this.' };
const NOT_YOURS = 'You can no longer use one of the brands. Tick the ones you want once more.';

/** The status of {@link redirectTo}, for the audit log. */
const REDIRECTED = 303;

const NO_TICKS: ReadonlySet<string> = new Set();

interface Asked {
  ticked?: ReadonlySet<string>;
  both?: boolean;
  error?: string;
}

/** Makes the grant of a user, and ends the authorization. */
function createGranting({ config, database: { pool }, interactions }: DecisionDeps) {
  const clientAddress = createClientAddress(config.TRUSTED_PROXIES);

  /** The audit log of each account shows who let a client in. */
  async function record(
    trx: Queryable,
    { input }: Visit,
    { userId }: UserSession,
    grant: { id: number; choices: readonly Choice[] },
  ): Promise<void> {
    const entry = {
      actorKind: 'user',
      actorId: userId,
      brandId: null,
      action: 'allowOAuthClient',
      resourceId: String(grant.id),
      ip: clientAddress(input.ctx.req),
      requestId: input.requestId,
    } as const;
    for (const accountId of new Set(grant.choices.map((choice) => choice.accountId))) {
      const ids = await beginEntries(trx, { ...entry, accountId });
      await completeEntries(trx, ids, REDIRECTED, null);
    }
  }

  /** @returns where the browser goes */
  return async (
    visit: Visit,
    session: UserSession,
    choices: Choice[],
    scopes: McpScope[],
  ): Promise<string> => {
    const { userId } = session;
    const { client, resource, uid } = visit.interaction;
    return inTransaction(pool, async (trx) => {
      await holdSession(trx, session);
      const { id, key } = await createGrant(trx, { userId, client, resource, scopes, choices });
      await record(trx, visit, session, { id, choices });
      return interactions.finish(trx, visit.input.ctx.req, uid, { userId, grantKey: key });
    });
  };
}

export function createDecisions(deps: DecisionDeps): Decisions {
  const { pool } = deps.database;
  const { interactions } = deps;
  const grant = createGranting(deps);

  async function ask(visit: Visit, asked: Asked = {}): Promise<RawResult> {
    const { session, interaction, path, csrf, shown } = visit;
    if (session === null) return signInPage(visit);
    const { email } = await getUser(pool, session.userId);
    if (!isConfirmed(session)) return confirmPage(visit, email);
    const [accounts, held] = await Promise.all([
      findOwnAccounts(pool, session.userId),
      findHeldScopes(pool, session.userId, interaction.client.id),
    ]);
    const { client, scopes } = interaction;
    const { ticked = NO_TICKS, both = false, error } = asked;
    return consentPage({ path, csrf, shown, client, scopes, held, email, accounts, ticked, both, error });
  }

  return {
    ask,
    async allow(visit, { fields: form, ageMs }) {
      const { session, interaction } = visit;
      if (session === null) return signInPage(visit);
      if (!isConfirmed(session)) {
        return confirmPage(visit, (await getUser(pool, session.userId)).email, CONFIRM_FIRST);
      }
      const available = choicesOf(await findOwnAccounts(pool, session.userId));
      const ticked = new Set(form.getAll('choice'));
      const choices = [...ticked].flatMap((value) => available.get(value) ?? []);
      const both = form.get(BOTH) === 'yes';
      if (ageMs === null || ageMs < READING_MS) return ask(visit, { ticked, both, error: TOO_SOON });
      if (choices.length < ticked.size) return ask(visit, { ticked, both, error: NOT_YOURS });
      if (choices.length === 0) return ask(visit, { ticked, both, error: NOTHING_TICKED });
      const held = await findHeldScopes(pool, session.userId, interaction.client.id);
      const scopes = grantedScopes({ scopes: interaction.scopes, held }, both);
      if (scopes.length === 0) return ask(visit, { ticked, both, error: NOTHING_LEFT });
      return redirectTo(await grant(visit, session, choices, scopes));
    },
    async deny({ interaction: { uid }, input }) {
      const finish = inTransaction(pool, (trx) =>
        interactions.finish(trx, input.ctx.req, uid, { denied: true }),
      );
      return redirectTo(await finish);
    },
  };
}
