import { text } from 'node:stream/consumers';
import { Option } from 'commander';
import { issueMessage } from '../errors.ts';
import { LocalError } from '../local/machine/local-error.ts';
import { memberRoles, type Role } from '../platform/auth/tenant.ts';
import { inTransaction, type Queryable } from '../platform/db/queryable.ts';
import type { CarillonCommand } from './command.ts';
import { changeAccount, fieldLines, print, recordOperator, withDatabase } from './context.ts';
import { countryCode, email, id, userEmail, words } from './values.ts';

/** Imported on first use: this program also starts the roles, which need no commands. */
const users = () => import('../features/users/service.ts');

/** @throws LocalError if there is no such user */
export async function requireUserId(db: Queryable, address: string): Promise<number> {
  const userId = await (await users()).findUserId(db, address);
  if (userId === null) throw new LocalError(`there is no user with the address ${address}`);
  return userId;
}

/** `carillon user add | set | reset-link | reset-2fa` */
export function addUserCommands(program: CarillonCommand): void {
  const user = program.command('user').description('add users to accounts, and change them');
  user
    .command('add')
    .description('add a user to an account, or change their role; prints a new user’s password once')
    .requiredOption('--account <id>', 'the account', id)
    .requiredOption('--email <address>', 'email address, for logging in', userEmail)
    .addOption(
      new Option('--role <role>', 'owners and admins manage API keys and webhooks, members do not')
        .choices(memberRoles)
        .default('member'),
    )
    .option('--first-name <name>', 'first name of a new user', words)
    .option('--last-name <name>', 'last name of a new user', words)
    .option('--mobile <number>', MOBILE_HELP, phoneText)
    .option('--country-code <code>', 'country, such as DE', countryCode)
    .option('--admin', ADMIN_HELP)
    .option('--password-stdin', 'read the password of a new user from standard input')
    .addHelpText('after', '\nExample:\n  $ carillon user add --account 1 --email ben@acme.com --role admin')
    .action(add);
  user
    .command('set')
    .description('change a user; values that are not given stay unchanged')
    .argument('<email>', 'email address of the user', email)
    .option('--first-name <name>', 'first name', words)
    .option('--last-name <name>', 'last name', words)
    .option('--mobile <number>', MOBILE_HELP, phoneText)
    .option('--country-code <code>', 'country, such as DE', countryCode)
    .option('--admin', ADMIN_HELP)
    .option('--no-admin', 'no longer show the user as an operator')
    .addHelpText('after', '\nExample:\n  $ carillon user set ben@acme.com --mobile +4930123456')
    .action(set);
  user
    .command('reset-link')
    .description(
      'print a link with which a user sets a new password, for an hour; the second factor stays on',
    )
    .argument('<email>', 'email address of the user', email)
    .addHelpText('after', '\nExample:\n  $ carillon user reset-link ben@acme.com')
    .action(resetLink);
  user
    .command('reset-2fa')
    .description('turn off the second factor of a user who has lost it')
    .argument('<email>', 'email address of the user', email)
    .addHelpText('after', '\nExample:\n  $ carillon user reset-2fa ben@acme.com')
    .action(resetSecondFactor);
}

const MOBILE_HELP = 'mobile number, to which test SMS of templates may go; "none" clears it';
const ADMIN_HELP = 'show the user as an operator of the service (the field `admin` of the API)';

/** Parses `none` as an empty text. Whether it is a number depends on the country. */
const phoneText = (text: string) => (text === 'none' ? '' : words(text));

interface AddOptions extends UserOptions {
  account: number;
  email: string;
  role: Role;
  passwordStdin?: boolean;
}

interface UserOptions {
  firstName?: string;
  lastName?: string;
  mobile?: string;
  countryCode?: string;
  admin?: boolean;
}

async function add(options: AddOptions, command: CarillonCommand): Promise<void> {
  const password = options.passwordStdin ? await passwordFrom(command.io.stdin) : undefined;
  const { account: accountId, email: address, role, firstName, lastName } = options;
  const added = await changeAccount(
    command,
    'user add',
    async (trx) => {
      const { addMember, changeUser } = await users();
      const member = await addMember(trx, { accountId, email: address, role, firstName, lastName, password });
      const { mobile, countryCode: country, admin } = options;
      const { mobile: number, ...user } = await changeUser(trx, member.userId, {
        mobile,
        countryCode: country,
        admin,
      });
      return { ...member, mobile: number, countryCode: user.country_code, admin: user.admin };
    },
    ({ userId: resourceId }) => ({ accountId, resourceId }),
  );
  const shown = added.password ?? (added.created ? '(as given)' : '(unchanged: this user already existed)');
  const fields = fieldLines([
    ['user', added.userId],
    ['account', added.accountId],
    ['email', added.email],
    ['role', added.role],
    ['mobile', added.mobile],
    ['country', added.countryCode],
    ['operator', added.admin ? 'yes' : null],
    ['password', shown],
  ]);
  print(command, added, fields);
}

async function set(address: string, options: UserOptions, command: CarillonCommand): Promise<void> {
  const row = await withDatabase(command, ({ config, database }) =>
    inTransaction(database.pool, async (trx) => {
      const { changeUser } = await users();
      const userId = await requireUserId(trx, address);
      await recordOperator(trx, config, { userId }, 'user set', userId);
      return changeUser(trx, userId, options);
    }),
  );
  const {
    id: userId,
    first_name: firstName,
    last_name: lastName,
    mobile,
    country_code: country,
    admin,
  } = row;
  const shown = { userId, email: row.email, firstName, lastName, mobile, countryCode: country, admin };
  const fields = fieldLines([
    ['user', userId],
    ['email', row.email],
    ['name', `${firstName} ${lastName}`.trim()],
    ['mobile', mobile],
    ['country', country],
    ['operator', admin ? 'yes' : 'no'],
  ]);
  print(command, shown, fields);
}

async function resetSecondFactor(address: string, _options: object, command: CarillonCommand): Promise<void> {
  const userId = await withDatabase(command, ({ config, database }) =>
    inTransaction(database.pool, async (trx) => {
      const found = await requireUserId(trx, address);
      const { removeSecondFactor } = await import('../features/second-factor/service.ts');
      if (!(await removeSecondFactor(trx, found))) throw new LocalError(`${address} has no second factor`);
      await recordOperator(trx, config, { userId: found }, 'user reset-2fa', found);
      return found;
    }),
  );
  const fields = fieldLines([
    ['user', userId],
    ['email', address],
    ['second factor', 'off'],
  ]);
  print(command, { userId, email: address, secondFactor: false }, fields);
}

async function resetLink(address: string, _options: object, command: CarillonCommand): Promise<void> {
  const { userId, link } = await withDatabase(command, ({ config, database: { pool } }) =>
    inTransaction(pool, async (trx) => {
      const found = await requireUserId(trx, address);
      const { createReset, resetPath } = await users();
      const base = config.PUBLIC_URL ?? '';
      await recordOperator(trx, config, { userId: found }, 'user reset-link', found);
      return { userId: found, link: `${base}${resetPath(await createReset(trx, found))}` };
    }),
  );
  const where = link.startsWith('/') ? ' (at the address of the API: PUBLIC_URL is not set)' : '';
  const fields = fieldLines([
    ['user', userId],
    ['link (works once, for an hour)', `${link}${where}`],
  ]);
  print(command, { userId, link }, fields);
}

async function passwordFrom(stdin: NodeJS.ReadableStream): Promise<string> {
  const password = (await text(stdin)).replace(/\r?\n$/, '');
  const { newPassword } = await import('../features/users/schema.ts');
  const parsed = newPassword.safeParse(password, { error: issueMessage });
  if (!parsed.success)
    throw new LocalError(`the password ${parsed.error.issues[0]?.message ?? 'is invalid'}`);
  return password;
}
