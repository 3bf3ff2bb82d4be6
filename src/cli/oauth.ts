import type { ListedGrant } from '../features/oauth/index.ts';
import { LocalError } from '../local/machine/local-error.ts';
import { inTransaction } from '../platform/db/queryable.ts';
import type { CarillonCommand } from './command.ts';
import { print, recordOperator, withDatabase } from './context.ts';
import { requireUserId } from './user.ts';
import { email, id, words } from './values.ts';

/** Imported on first use: this program also starts the roles, which need no commands. */
const oauth = () => import('../features/oauth/index.ts');

const FIRST_PAGE = { number: 1, limit: 1_000, offset: 0, after: null };

/** `carillon oauth clients | grants | revoke` */
export function addOAuthCommands(program: CarillonCommand): void {
  const group = program
    .command('oauth')
    .description('list and disconnect the assistants that users have connected (MCP)');
  group
    .command('clients')
    .description(
      'list the applications that have registered themselves, newest first; the names are their own',
    )
    .action(listClients);
  group
    .command('grants')
    .description('list what users have granted to applications, newest first')
    .option('--user <email>', 'only the grants of this user', email)
    .option('--account <id>', 'only grants for this account', id)
    .option('--client <id>', 'only grants to this application', words)
    .option('--ended', 'also list grants that have ended')
    .action(listAll);
  group
    .command('revoke')
    .description('end a grant, or all grants of a user or to an application; every later call is refused')
    .argument('[grant]', 'the id of the grant, as shown by grants', id)
    .option('--user <email>', 'all grants of this user', email)
    .option('--client <id>', 'all grants to this application', words)
    .addHelpText('after', '\nExample:\n  $ carillon oauth revoke --user ben@acme.com')
    .action(revoke);
}

/** Names come from strangers, and must not steer the terminal. */
const plain = (text: string) => text.replaceAll(/\p{C}/gu, '\ufffd');

async function listClients(_options: object, command: CarillonCommand): Promise<void> {
  const clients = await withDatabase(command, async ({ database }) =>
    (await oauth()).listClients(database.pool, FIRST_PAGE.limit),
  );
  const lines = clients.map((client) => {
    const used = client.last_used_at ? `used ${client.last_used_at.toISOString()}` : 'never used';
    return [client.id, plain(client.name ?? '(no name)'), used, ...client.redirect_uris].join('  ');
  });
  print(command, clients, lines.length === 0 ? 'no clients' : lines.join('\n'));
}

interface GrantOptions {
  user?: string;
  account?: number;
  client?: string;
  ended?: boolean;
}

function describe(grant: ListedGrant): string {
  const state = grant.revoked_at ? `ended ${grant.revoked_at.toISOString()}` : null;
  const accounts = [...new Set(grant.choices.map(({ account_id: account }) => `account ${account}`))];
  const client = `${plain(grant.client_name)} (${plain(grant.client_id)})`;
  const fields = [grant.id, grant.user_email, client, ...accounts, grant.scopes.join(' '), state];
  return fields.filter((field) => field !== null).join('  ');
}

async function listAll(options: GrantOptions, command: CarillonCommand): Promise<void> {
  const grants = await withDatabase(command, async ({ database: { pool } }) => {
    const userId = options.user === undefined ? undefined : await requireUserId(pool, options.user);
    const filter = {
      userId,
      accountId: options.account,
      clientId: options.client,
      live: options.ended !== true,
    };
    return (await oauth()).listGrants(pool, filter, FIRST_PAGE);
  });
  print(command, grants, grants.length === 0 ? 'no grants' : grants.map(describe).join('\n'));
}

/** Each end is recorded in the audit log of the user's accounts. */
async function revoke(
  grantId: number | undefined,
  options: Pick<GrantOptions, 'user' | 'client'>,
  command: CarillonCommand,
): Promise<void> {
  const given = [grantId, options.user, options.client].filter((each) => each !== undefined);
  if (given.length !== 1) throw new LocalError('give the id of a grant, or --user, or --client');
  const ended = await withDatabase(command, ({ config, database }) =>
    inTransaction(database.pool, async (trx) => {
      const { listGrants, revokeGrant } = await oauth();
      const userId = options.user === undefined ? undefined : await requireUserId(trx, options.user);
      const filter = { id: grantId, userId, clientId: options.client, live: true };
      const ids: number[] = [];
      for (;;) {
        const grants = await listGrants(trx, filter, FIRST_PAGE);
        for (const grant of grants) {
          await revokeGrant(trx, grant.id);
          await recordOperator(trx, config, { userId: grant.user_id }, 'oauth revoke', grant.id);
          ids.push(grant.id);
        }
        if (grants.length < FIRST_PAGE.limit) return ids;
      }
    }),
  );
  if (grantId !== undefined && ended.length === 0) {
    throw new LocalError(`there is no grant ${grantId}, or it has ended`);
  }
  print(command, { ended }, ended.length === 1 ? '1 grant ended' : `${ended.length} grants ended`);
}
