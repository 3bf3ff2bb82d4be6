import { beginEntries, completeEntries } from '../../../platform/audit/entries.ts';
import { createClientAddress } from '../../../platform/auth/client-address.ts';
import { holdSession } from '../../../platform/auth/session-rows.ts';
import type { UserSession } from '../../../platform/auth/session.ts';
import type { Database } from '../../../platform/db/database.ts';
import { inTransaction, type Queryable } from '../../../platform/db/queryable.ts';
import type { RawResult } from '../../../platform/http/route.ts';
import { findOwnAccounts } from '../../sessions/model.ts';
import { getUser } from '../../users/service.ts';
import type { Interactions } from '../interactions.ts';
import { createGrant } from '../service.ts';
import { type Choice, choicesOf, firstTicks } from './choices.ts';
import { BOTH, consentPage, grantedScopes } from './consent.ts';
import { redirectTo } from './page.ts';
import { signInPage } from './sign-in.ts';
import type { Visit } from './visit.ts';

export interface DecisionDeps {
  config: { TRUSTED_PROXIES: string[] };
  database: Database;
  interactions: Interactions;
}

/** Asks a user what a client may do, and carries out the answer. */
export interface Decisions {
  ask(visit: Visit): Promise<RawResult>;
  allow(visit: Visit, form: URLSearchParams): Promise<RawResult>;
  deny(visit: Visit): Promise<RawResult>;
}

const NOTHING_TICKED = 'Tick at least one brand.';
const NOT_YOURS = 'You can no longer use one of the brands. Tick the ones you want once more.';

interface Asked {
  ticked?: ReadonlySet<string>;
  both?: boolean;
  error?: string;
}

export function createDecisions({ config, database: { pool }, interactions }: DecisionDeps): Decisions {
  const clientAddress = createClientAddress(config.TRUSTED_PROXIES);

  async function ask(visit: Visit, asked: Asked = {}): Promise<RawResult> {
    const { session, interaction, path, csrf } = visit;
    if (session === null) return signInPage(visit);
    const [accounts, { email }] = await Promise.all([
      findOwnAccounts(pool, session.userId),
      getUser(pool, session.userId),
    ]);
    return consentPage({
      path,
      csrf,
      client: interaction.client,
      scopes: interaction.scopes,
      email,
      accounts,
      ticked: asked.ticked ?? firstTicks(choicesOf(accounts)),
      both: asked.both ?? false,
      error: asked.error,
    });
  }

  /** The audit log of each account shows who let a client in. */
  async function record(
    trx: Queryable,
    { input }: Visit,
    { userId }: UserSession,
    grant: { id: number; choices: readonly Choice[] },
  ): Promise<void> {
    const { ctx, requestId } = input;
    for (const accountId of new Set(grant.choices.map((choice) => choice.accountId))) {
      const ids = await beginEntries(trx, {
        actorKind: 'user',
        actorId: userId,
        accountId,
        brandId: null,
        action: 'allowOAuthClient',
        resourceId: String(grant.id),
        ip: clientAddress(ctx.req),
        requestId,
      });
      await completeEntries(trx, ids, 303, null);
    }
  }

  async function grant(visit: Visit, session: UserSession, choices: Choice[], both: boolean) {
    const { interaction, input } = visit;
    const { userId } = session;
    const { client, resource, uid } = interaction;
    const scopes = grantedScopes(interaction.scopes, both);
    return inTransaction(pool, async (trx) => {
      await holdSession(trx, session);
      const { id, key } = await createGrant(trx, { userId, client, resource, scopes, choices });
      await record(trx, visit, session, { id, choices });
      return interactions.finish(trx, input.ctx.req, uid, { userId, grantKey: key });
    });
  }

  return {
    ask,
    async allow(visit, form) {
      const { session } = visit;
      if (session === null) return signInPage(visit);
      const available = choicesOf(await findOwnAccounts(pool, session.userId));
      const ticked = new Set(form.getAll('choice'));
      const choices = [...ticked].flatMap((value) => available.get(value) ?? []);
      const both = form.get(BOTH) === 'yes';
      if (choices.length < ticked.size) return ask(visit, { ticked, both, error: NOT_YOURS });
      if (choices.length === 0) return ask(visit, { ticked, both, error: NOTHING_TICKED });
      return redirectTo(await grant(visit, session, choices, both));
    },
    async deny({ interaction: { uid }, input }) {
      const finish = inTransaction(pool, (trx) =>
        interactions.finish(trx, input.ctx.req, uid, { denied: true }),
      );
      return redirectTo(await finish);
    },
  };
}
