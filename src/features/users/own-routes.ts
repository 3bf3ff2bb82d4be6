import { mailboxUrl, type Config } from '../../config.ts';
import type { Database } from '../../platform/db/database.ts';
import { inTransaction } from '../../platform/db/queryable.ts';
import { defineRoute, type RouteDefinition } from '../../platform/http/route.ts';
import { presentUser } from './presenter.ts';
import {
  changeUserBody,
  type ChangeUserBody,
  ownUserSchema,
  userReadOnlyFields,
  userSchema,
} from './schema.ts';
import { changeUser, getUser, type UserChanges } from './service.ts';

const PATH = '/v1/my/user';
const tag = 'Users';

function changesOf({ first_name, last_name, mobile, country_code }: ChangeUserBody): UserChanges {
  const textOf = (value: string | null | undefined) => (value === null ? '' : value);
  return {
    firstName: textOf(first_name),
    lastName: textOf(last_name),
    mobile: textOf(mobile),
    countryCode: textOf(country_code),
  };
}

export interface OwnUserRouteDeps {
  config: Pick<
    Config,
    'TEMPORAL_UI_PUBLIC_URL' | 'TEMPORAL_NAMESPACE' | 'CARILLON_DEV' | 'MAILBOX_PORT' | 'MAILBOX_TOKEN'
  >;
  database: Database;
}

/** `GET` and `PATCH /v1/my/user`. */
export function createOwnUserRoutes({ config, database: { pool } }: OwnUserRouteDeps): RouteDefinition[] {
  const { CARILLON_DEV: isDev, MAILBOX_PORT: mailboxPort, MAILBOX_TOKEN: mailboxToken } = config;
  const mailbox = isDev && mailboxToken !== undefined ? mailboxUrl(mailboxPort, mailboxToken) : null;
  const temporalUi = config.TEMPORAL_UI_PUBLIC_URL ?? null;
  return [
    defineRoute({
      method: 'GET',
      path: PATH,
      operationId: 'getUser',
      tag,
      summary: 'Show the logged-in user',
      description: 'An API key has no user: 403.',
      auth: 'user',
      responses: { 200: { description: 'The user.', schema: ownUserSchema } },
      async handler({ session }) {
        const user = presentUser(await getUser(pool, session.userId));
        const showsTemporal = user.admin && temporalUi !== null;
        const body = {
          ...user,
          temporal_ui_url: showsTemporal ? temporalUi : null,
          temporal_namespace: showsTemporal ? config.TEMPORAL_NAMESPACE : null,
          // It shows the mail of all accounts.
          mailbox_url: user.admin ? mailbox : null,
        };
        return { status: 200, body };
      },
    }),
    defineRoute({
      method: 'PATCH',
      path: PATH,
      operationId: 'changeUser',
      tag,
      summary: 'Change the logged-in user',
      description: 'An API key has no user: 403. An omitted field stays unchanged; null clears it.',
      auth: 'user',
      body: changeUserBody,
      readOnlyFields: userReadOnlyFields,
      responses: { 200: { description: 'The changed user.', schema: userSchema } },
      async handler({ session: { userId }, body }) {
        const row = await inTransaction(pool, (trx) => changeUser(trx, userId, changesOf(body)));
        return { status: 200, body: presentUser(row) };
      },
    }),
  ];
}
