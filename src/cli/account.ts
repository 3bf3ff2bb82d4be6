import { Option, type Command } from 'commander';
import { accountTiers } from '../delivery/limits/capacity.ts';
import type { AccountRow, ApprovalState, OperatorSettings } from '../features/accounts/service.ts';
import { inTransaction, type Queryable } from '../platform/db/queryable.ts';
import type { EventPublisher } from '../platform/events/publish.ts';
import { factLines, print, withDatabase, type Fact } from './context.ts';
import { amountOrDefault, email, id, nameList, words } from './values.ts';

/** Imported on first use: this program also starts the roles, which need no commands. */
const accounts = () => import('../features/accounts/service.ts');
const brakes = () => import('../features/brakes/service.ts');

async function publisher(): Promise<EventPublisher> {
  const [{ eventConsumers }, { createEventPublisher }] = await Promise.all([
    import('../features/events.ts'),
    import('../platform/events/publish.ts'),
  ]);
  return createEventPublisher(eventConsumers);
}

/** `carillon account create | set | pause | resume` */
export function addAccountCommands(program: Command): void {
  const account = program
    .command('account')
    .description('create accounts, and change settings reserved for operators');
  addCreate(account);
  addSet(account);
  addPauseAndResume(account);
}

const PROVIDERS_HELP =
  'providers in the order in which they are used if one fails, such as acme-ses,acme-smtp; "default" is EMAIL_PROVIDER_URL';

const approvalStates: ApprovalState[] = ['not_required', 'pending', 'approved', 'rejected'];

interface SettingOptions {
  name?: string;
  tier?: OperatorSettings['tier'];
  approval?: OperatorSettings['approvalState'];
  sandboxCap?: number | 'default';
  allowance?: number | 'default';
  spendCap?: number | 'default';
  comped?: boolean;
  emailProviders?: string[];
  smsProviders?: string[];
}

interface CreateOptions extends SettingOptions {
  name: string;
  owner: string;
  address?: string;
}

function addCreate(account: Command): void {
  withSettingOptions(account.command('create'))
    .description('create an account, its first brand and its owner; prints a new owner’s password once')
    .requiredOption('--name <name>', 'name of the account and its brand', words)
    .requiredOption('--owner <email>', 'email address of the owner, for logging in', email)
    .option('--address <text>', 'postal address of the brand, required for campaigns', words)
    .addHelpText(
      'after',
      '\nExample:\n  $ carillon account create --name "Acme" --owner ann@acme.com --tier paid',
    )
    .action(create);
}

async function create(options: CreateOptions, command: Command): Promise<void> {
  const { account, brandId, owner } = await withDatabase(({ database }) =>
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
    ...describe(account),
    ['brand', brandId],
    ['owner', owner.email],
    ['password', owner.password ?? '(unchanged: this user already existed)'],
  ];
  print(command, { account, brand_id: brandId, owner }, factLines(facts));
}

function addSet(account: Command): void {
  withSettingOptions(account.command('set'))
    .description('change settings reserved for operators; settings that are not given stay as they are')
    .argument('<account>', 'the id of the account', id)
    .option('--name <name>', 'new name', words)
    .option('--comped', 'free of charge')
    .option('--email-providers <names>', PROVIDERS_HELP, nameList)
    .option('--sms-providers <names>', 'the same for SMS', nameList)
    .option('--no-comped', 'charged')
    .addHelpText(
      'after',
      '\nExamples:\n  $ carillon account set 1 --tier trusted --allowance 2000000\n  $ carillon account set 1 --email-providers acme-ses,default',
    )
    .action(async (accountId: number, options: SettingOptions, command: Command) => {
      const changed = await withDatabase(async ({ database }) => {
        const orders = await providerOrdersOf(database.pool, accountId, options);
        return (await accounts()).setAccount(database.pool, accountId, { ...settingsOf(options), ...orders });
      });
      print(command, changed, factLines(describe(changed)));
    });
}

/** The providers by id. */
async function providerOrdersOf(
  db: Queryable,
  accountId: number,
  { emailProviders, smsProviders }: SettingOptions,
) {
  const { readProviderOrder } = await import('../delivery/providers/named.ts');
  return {
    ...(emailProviders
      ? { emailProviderIds: await readProviderOrder(db, accountId, 'email', emailProviders) }
      : {}),
    ...(smsProviders ? { smsProviderIds: await readProviderOrder(db, accountId, 'sms', smsProviders) } : {}),
  };
}

function addPauseAndResume(account: Command): void {
  account
    .command('pause')
    .description('hold all messages of an account; the API still accepts new ones')
    .argument('<account>', 'the id of the account', id)
    .option('--reason <text>', 'reason shown to the account', words, 'paused by an operator')
    .action(async (accountId: number, options: { reason: string }, command: Command) => {
      const paused = await withDatabase(async ({ database }) =>
        (await brakes()).pauseAccount(database.pool, await publisher(), accountId, options.reason),
      );
      print(command, paused, factLines(describe(paused)));
    });
  account
    .command('resume')
    .description('end the pause of an account; its held messages are sent')
    .argument('<account>', 'the id of the account', id)
    .action(async (accountId: number, _options: object, command: Command) => {
      const resumed = await withDatabase(async ({ database }) =>
        (await accounts()).resumeSending(database.pool, accountId),
      );
      print(command, resumed, factLines(describe(resumed)));
    });
}

function withSettingOptions(command: Command): Command {
  return command
    .addOption(new Option('--tier <tier>', 'decides the default allowance').choices(accountTiers))
    .option(
      '--sandbox-cap <n>',
      'messages a month while no domain is verified, or "default"',
      amountOrDefault,
    )
    .option('--allowance <n>', 'messages in a rolling 24 hours, or "default" (by tier)', amountOrDefault)
    .option('--spend-cap <cents>', 'maximum paid overage a month, or "default" (none)', amountOrDefault)
    .addOption(
      new Option('--approval <state>', 'whether campaigns wait for approval by an operator').choices(
        approvalStates,
      ),
    );
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

/** The database stores `default` as null. */
function orNull(value: number | 'default' | undefined): number | null | undefined {
  return value === 'default' ? null : value;
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
    ['email providers (ids)', account.email_provider_ids?.join(', ')],
    ['SMS providers (ids)', account.sms_provider_ids?.join(', ')],
    ['paused since', account.sending_paused_at],
    ['paused because', account.sending_paused_reason],
  ];
}
