import { text } from 'node:stream/consumers';
import { Option, type Command } from 'commander';
import { LocalError } from '../local/machine/local-error.ts';
import type { Role } from '../platform/auth/tenant.ts';
import { inTransaction } from '../platform/db/queryable.ts';
import { factLines, print, withDatabase } from './context.ts';
import { email, id, words } from './values.ts';

/** Loaded by the commands that use it: the same program starts the roles, which must not carry it about. */
const users = () => import('../features/users/service.ts');

interface AddOptions {
  account: number;
  email: string;
  role: Role;
  firstName?: string;
  lastName?: string;
  passwordStdin?: boolean;
}

const MINIMUM = 8;

async function passwordFromStdin(): Promise<string> {
  const password = (await text(process.stdin)).replace(/\r?\n$/, '');
  if (password.length < MINIMUM)
    throw new LocalError(`the password must have at least ${MINIMUM} characters`);
  return password;
}

async function add(options: AddOptions, command: Command): Promise<void> {
  const password = options.passwordStdin ? await passwordFromStdin() : undefined;
  const { account: accountId, email: address, role, firstName, lastName } = options;
  const added = await withDatabase(({ database }) =>
    inTransaction(database.pool, async (trx) =>
      (await users()).addMember(trx, { accountId, email: address, role, firstName, lastName, password }),
    ),
  );
  const shown = added.password ?? (added.created ? '(as given)' : '(as before: this user was known)');
  const facts = factLines([
    ['user', added.userId],
    ['account', added.accountId],
    ['email', added.email],
    ['role', added.role],
    ['password', shown],
  ]);
  print(command, added, facts);
}

/** `carillon user add` */
export function addUserCommands(program: Command): void {
  const user = program.command('user').description('let people into an account');
  user
    .command('add')
    .description('let someone into an account, or change their role; a new user’s password is printed once')
    .requiredOption('--account <id>', 'which account', id)
    .requiredOption('--email <address>', 'what they log in with', email)
    .addOption(
      new Option('--role <role>', 'owner and admin manage API keys and webhooks, member does not')
        .choices(['owner', 'admin', 'member'])
        .default('member'),
    )
    .option('--first-name <name>', 'of a new user', words)
    .option('--last-name <name>', 'of a new user', words)
    .option('--password-stdin', 'read a new user’s password from standard input')
    .addHelpText('after', '\nExample:\n  $ carillon user add --account 1 --email ben@acme.com --role admin')
    .action(add);
}
