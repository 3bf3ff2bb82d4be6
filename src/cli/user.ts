import { text } from 'node:stream/consumers';
import { Option } from 'commander';
import { LocalError } from '../local/machine/local-error.ts';
import { memberRoles, type Role } from '../platform/auth/tenant.ts';
import { inTransaction } from '../platform/db/queryable.ts';
import type { CarillonCommand } from './command.ts';
import { factLines, print, withDatabase } from './context.ts';
import { email, id, words } from './values.ts';

/** Imported on first use: this program also starts the roles, which need no commands. */
const users = () => import('../features/users/service.ts');

const MIN_PASSWORD_LENGTH = 8;

/** `carillon user add` */
export function addUserCommands(program: CarillonCommand): void {
  const user = program.command('user').description('add users to accounts');
  user
    .command('add')
    .description('add a user to an account, or change their role; prints a new user’s password once')
    .requiredOption('--account <id>', 'the account', id)
    .requiredOption('--email <address>', 'email address, for logging in', email)
    .addOption(
      new Option('--role <role>', 'owners and admins manage API keys and webhooks, members do not')
        .choices(memberRoles)
        .default('member'),
    )
    .option('--first-name <name>', 'first name of a new user', words)
    .option('--last-name <name>', 'last name of a new user', words)
    .option('--password-stdin', 'read the password of a new user from standard input')
    .addHelpText('after', '\nExample:\n  $ carillon user add --account 1 --email ben@acme.com --role admin')
    .action(add);
}

interface AddOptions {
  account: number;
  email: string;
  role: Role;
  firstName?: string;
  lastName?: string;
  passwordStdin?: boolean;
}

async function add(options: AddOptions, command: CarillonCommand): Promise<void> {
  const password = options.passwordStdin ? await passwordFrom(command.surroundings.stdin) : undefined;
  const { account: accountId, email: address, role, firstName, lastName } = options;
  const added = await withDatabase(command, ({ database }) =>
    inTransaction(database.pool, async (trx) =>
      (await users()).addMember(trx, { accountId, email: address, role, firstName, lastName, password }),
    ),
  );
  const shown = added.password ?? (added.created ? '(as given)' : '(unchanged: this user already existed)');
  const facts = factLines([
    ['user', added.userId],
    ['account', added.accountId],
    ['email', added.email],
    ['role', added.role],
    ['password', shown],
  ]);
  print(command, added, facts);
}

async function passwordFrom(stdin: NodeJS.ReadableStream): Promise<string> {
  const password = (await text(stdin)).replace(/\r?\n$/, '');
  if (password.length < MIN_PASSWORD_LENGTH)
    throw new LocalError(`the password must have at least ${MIN_PASSWORD_LENGTH} characters`);
  return password;
}
