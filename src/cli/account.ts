import { Option, type Command } from 'commander';
import type { AccountRow, OperatorSettings } from '../features/accounts/service.ts';
import { inTransaction } from '../platform/db/queryable.ts';
import { factLines, print, withDatabase, type Fact } from './context.ts';
import { amountOrDefault, email, id, words } from './values.ts';

/** Loaded by the commands that use it: the same program starts the roles, which must not carry it about. */
const accounts = () => import('../features/accounts/service.ts');

interface SettingOptions {
  name?: string;
  tier?: OperatorSettings['tier'];
  approval?: OperatorSettings['approvalState'];
  sandboxCap?: number | 'default';
  allowance?: number | 'default';
  spendCap?: number | 'default';
  comped?: boolean;
}

function withSettingOptions(command: Command): Command {
  return command
    .addOption(
      new Option('--tier <tier>', 'decides the default allowance').choices(['free', 'paid', 'trusted']),
    )
    .option(
      '--sandbox-cap <n>',
      'messages a month while no domain is verified, or "default"',
      amountOrDefault,
    )
    .option('--allowance <n>', 'messages in rolling 24 hours, or "default" (by tier)', amountOrDefault)
    .option('--spend-cap <cents>', 'paid overage a month at most, or "default" (none)', amountOrDefault)
    .addOption(
      new Option('--approval <state>', 'whether campaigns wait for a person').choices([
        'not_required',
        'pending',
        'approved',
        'rejected',
      ]),
    );
}

/** `default` is null in the database: the service's own setting. */
function orNull(value: number | 'default' | undefined): number | null | undefined {
  return value === 'default' ? null : value;
}

function settingsOf(options: SettingOptions): OperatorSettings {
  return {
    name: options.name,
    tier: options.tier,
    approvalState: options.approval,
    comped: options.comped,
    sandboxMonthlyCap: orNull(options.sandboxCap),
    allowancePerDay: orNull(options.allowance),
    spendCapMonthlyCents: orNull(options.spendCap),
  };
}

function describe(account: AccountRow): Fact[] {
  return [
    ['account', account.id],
    ['name', account.name],
    ['tier', account.tier],
    ['sandbox cap', account.sandbox_monthly_cap ?? 'default'],
    ['24-hour allowance', account.allowance_per_day ?? 'default'],
    ['spend cap (cents)', account.spend_cap_monthly_cents ?? 'default'],
    ['approval', account.approval_state],
    ['paused since', account.sending_paused_at],
    ['paused because', account.sending_paused_reason],
  ];
}

function addCreate(account: Command): void {
  withSettingOptions(account.command('create'))
    .description('make an account, its first brand and its owner; prints the owner’s new password once')
    .requiredOption('--name <name>', 'of the account and its brand', words)
    .requiredOption('--owner <email>', 'who logs in as its owner', email)
    .option('--address <text>', 'postal address of the brand; campaigns need one', words)
    .addHelpText(
      'after',
      '\nExample:\n  $ carillon account create --name "Acme" --owner ann@acme.com --tier paid',
    )
    .action(
      async (
        options: SettingOptions & { name: string; owner: string; address?: string },
        command: Command,
      ) => {
        const made = await withDatabase(({ database }) =>
          inTransaction(database.pool, async (trx) =>
            (await accounts()).createAccount(trx, {
              ...settingsOf(options),
              name: options.name,
              owner: { email: options.owner },
              brand: { physicalAddress: options.address },
            }),
          ),
        );
        const facts: Fact[] = [
          ...describe(made.account),
          ['brand', made.brandId],
          ['owner', made.owner.email],
        ];
        facts.push(['password', made.owner.password ?? '(as before: this user was known)']);
        print(
          command,
          { account: made.account, brand_id: made.brandId, owner: made.owner },
          factLines(facts),
        );
      },
    );
}

function addSet(account: Command): void {
  withSettingOptions(account.command('set'))
    .description('change what only an operator may; what is not given stays')
    .argument('<account>', 'its id', id)
    .option('--name <name>', 'new name', words)
    .option('--comped', 'free of charge')
    .option('--no-comped', 'charged again')
    .addHelpText('after', '\nExample:\n  $ carillon account set 1 --tier trusted --allowance 2000000')
    .action(async (accountId: number, options: SettingOptions, command: Command) => {
      const changed = await withDatabase(async ({ database }) =>
        (await accounts()).setAccount(database.pool, accountId, settingsOf(options)),
      );
      print(command, changed, factLines(describe(changed)));
    });
}

function addPauseAndResume(account: Command): void {
  account
    .command('pause')
    .description('hold everything the account sends; the API goes on taking messages')
    .argument('<account>', 'its id', id)
    .option('--reason <text>', 'shown to the account', words, 'paused by an operator')
    .action(async (accountId: number, options: { reason: string }, command: Command) => {
      const paused = await withDatabase(async ({ database }) =>
        (await accounts()).pauseSending(database.pool, accountId, options.reason),
      );
      print(command, paused, factLines(describe(paused)));
    });
  account
    .command('resume')
    .description('let a paused account send again; what it held goes out')
    .argument('<account>', 'its id', id)
    .action(async (accountId: number, _options: object, command: Command) => {
      const resumed = await withDatabase(async ({ database }) =>
        (await accounts()).resumeSending(database.pool, accountId),
      );
      print(command, resumed, factLines(describe(resumed)));
    });
}

/** `carillon account create | set | pause | resume` */
export function addAccountCommands(program: Command): void {
  const account = program.command('account').description('make accounts, and set what only an operator may');
  addCreate(account);
  addSet(account);
  addPauseAndResume(account);
}
