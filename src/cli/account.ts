import { Option } from 'commander';
import { accountTiers } from '../delivery/ledger/limits/tiers.ts';
import type { AccountRow, ApprovalState, OperatorSettings } from '../features/accounts/service.ts';
import type { Queryable } from '../platform/db/queryable.ts';
import type { EventPublisher } from '../platform/events/publish.ts';
import type { TopUpSettings } from '../features/wallet/index.ts';
import type { CarillonCommand } from './command.ts';
import {
  changeAccount,
  fieldLines,
  ofAccount,
  operatorName,
  print,
  withDatabase,
  type ChangeEntry,
  type CommandContext,
  type Field,
} from './context.ts';
import { amount, amountOrDefault, id, nameList, onOffDefault, userEmail, words } from './values.ts';

/** Imported on first use: this program also starts the roles, which need no commands. */
const accounts = () => import('../features/accounts/service.ts');
const brakes = () => import('../features/brakes/service.ts');

const entryOf = ({ id }: AccountRow): ChangeEntry => ofAccount(id);

async function publisher(): Promise<EventPublisher> {
  const [{ eventConsumers }, { createEventPublisher }] = await Promise.all([
    import('../features/events.ts'),
    import('../platform/events/publish.ts'),
  ]);
  return createEventPublisher(eventConsumers);
}

/** `carillon account create | set | pause | resume | log` */
export function addAccountCommands(program: CarillonCommand): void {
  const account = program
    .command('account')
    .description('create accounts, and change settings reserved for operators');
  addCreate(account);
  addSet(account);
  addPauseAndResume(account);
  addLog(account);
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
  monthlyEmails?: number | 'default';
  comped?: boolean;
  outsideValidation?: boolean;
  emailProviders?: string[];
  smsProviders?: string[];
}

/** Options that only `set` has. */
interface SetOptions extends SettingOptions {
  capability?: OperatorSettings['capabilities'];
  autoTopup?: boolean;
  topupAmount?: number;
  topupBelow?: number;
  paymentCustomer?: string;
  paymentMethod?: string;
}

interface CreateOptions extends SettingOptions {
  name: string;
  owner: string;
  address?: string;
}

function addCreate(account: CarillonCommand): void {
  withSettingOptions(account.command('create'))
    .description('create an account, its first brand and its owner; prints a new owner’s password once')
    .requiredOption('--name <name>', 'name of the account and its brand', words)
    .requiredOption('--owner <email>', 'email address of the owner, for logging in', userEmail)
    .option('--address <text>', 'postal address of the brand, required for campaigns', words)
    .addHelpText(
      'after',
      '\nExample:\n  $ carillon account create --name "Acme" --owner ann@acme.com --tier paid',
    )
    .action(createAccountAndOwner);
}

async function createAccountAndOwner(options: CreateOptions, command: CarillonCommand): Promise<void> {
  const { account, brandId, owner } = await changeAccount(
    command,
    'account create',
    async (trx, { config }) =>
      (await accounts()).createAccount(trx, {
        ...settingsOf(options),
        actor: operatorName(config),
        name: options.name,
        owner: { email: options.owner },
        brand: { physicalAddress: options.address },
      }),
    (created) => entryOf(created.account),
  );
  const fields: Field[] = [
    ...describe(account),
    ['brand', brandId],
    ['owner', owner.email],
    ['password', owner.password ?? '(unchanged: this user already existed)'],
  ];
  print(command, { account, brand_id: brandId, owner }, fieldLines(fields));
}

function addSet(account: CarillonCommand): void {
  withSettingOptions(account.command('set'))
    .description('change settings reserved for operators; settings that are not given stay unchanged')
    .argument('<account>', 'the id of the account', id)
    .option('--name <name>', 'new name', words)
    .option('--comped', 'free of charge')
    .option('--email-providers <names>', PROVIDERS_HELP, nameList)
    .option('--sms-providers <names>', 'the same for SMS', nameList)
    .option('--no-comped', 'charged')
    .option('--outside-validation', 'give its addresses to OUTSIDE_VALIDATOR_URL when it validates them')
    .option('--no-outside-validation', 'do not')
    .option(
      '--capability <name=on|off|default>',
      'what the account may use, such as validation=on; may be given several times',
      onOffDefault,
    )
    .option('--auto-topup', 'top up the wallet by payments; the first time, also give the next four options')
    .option('--no-auto-topup', 'stop topping up the wallet by payments')
    .option('--topup-amount <cents>', 'amount of each payment', amount)
    .option('--topup-below <cents>', 'balance below which a payment is made', amount)
    .option('--payment-customer <id>', 'the customer at the payment service', words)
    .option('--payment-method <id>', 'the stored payment method at the payment service', words)
    .addHelpText(
      'after',
      '\nExamples:\n  $ carillon account set 1 --tier trusted --allowance 2000000\n  $ carillon account set 1 --email-providers acme-ses,default',
    )
    .action(async (accountId: number, options: SetOptions, command: CarillonCommand) => {
      const set = async (trx: Queryable, { config }: CommandContext) => {
        const orders = await providerOrdersOf(trx, accountId, options);
        const settings = { ...settingsOf(options), ...orders, capabilities: options.capability };
        const actor = operatorName(config);
        await setTopUps(trx, accountId, options, actor);
        return (await accounts()).setAccount(trx, accountId, settings, actor);
      };
      const changed = await changeAccount(command, 'account set', set, entryOf);
      print(command, changed, fieldLines(describe(changed)));
    });
}

async function setTopUps(
  trx: Queryable,
  accountId: number,
  options: SetOptions,
  actor: string,
): Promise<void> {
  const given: TopUpSettings = {
    enabled: options.autoTopup,
    amountCents: options.topupAmount,
    belowCents: options.topupBelow,
    customer: options.paymentCustomer,
    paymentMethod: options.paymentMethod,
  };
  if (Object.values(given).every((value) => value === undefined)) return;
  const { setTopUps: set } = await import('../features/wallet/index.ts');
  await set(trx, accountId, given, actor);
}

/** The providers by id. */
async function providerOrdersOf(
  db: Queryable,
  accountId: number,
  { emailProviders, smsProviders }: SettingOptions,
) {
  const { readProviderOrder } = await import('../delivery/wire/providers/named.ts');
  return {
    ...(emailProviders
      ? { emailProviderIds: await readProviderOrder(db, accountId, 'email', emailProviders) }
      : {}),
    ...(smsProviders ? { smsProviderIds: await readProviderOrder(db, accountId, 'sms', smsProviders) } : {}),
  };
}

function addPauseAndResume(account: CarillonCommand): void {
  account
    .command('pause')
    .description('hold all messages of an account; the API still accepts new ones')
    .argument('<account>', 'the id of the account', id)
    .option('--reason <text>', 'reason shown to the account', words, 'paused by an operator')
    .action(async (accountId: number, options: { reason: string }, command: CarillonCommand) => {
      const pause = async (trx: Queryable, { config }: CommandContext) => {
        const { pauseAccount } = await brakes();
        return pauseAccount(trx, await publisher(), accountId, options.reason, operatorName(config));
      };
      const paused = await changeAccount(command, 'account pause', pause, entryOf);
      print(command, paused, fieldLines(describe(paused)));
    });
  account
    .command('resume')
    .description('end the pause of an account; its held messages are sent')
    .argument('<account>', 'the id of the account', id)
    .action(async (accountId: number, _options: object, command: CarillonCommand) => {
      const resume = async (trx: Queryable, { config }: CommandContext) =>
        (await accounts()).resumeSending(trx, accountId, operatorName(config));
      const resumed = await changeAccount(command, 'account resume', resume, entryOf);
      print(command, resumed, fieldLines(describe(resumed)));
    });
}

function addLog(account: CarillonCommand): void {
  account
    .command('log')
    .description('show what operators changed about an account, newest first')
    .argument('[account]', 'the id of the account; without it, changes of the whole installation', id)
    .option('--limit <n>', 'how many changes', id, 50)
    .action(async (accountId: number | undefined, { limit }: { limit: number }, command: CarillonCommand) => {
      const changes = await withDatabase(command, async ({ database }) =>
        (await accounts()).listOperatorChanges(database.pool, accountId ?? null, limit),
      );
      const lines = changes.map(({ created_at: at, actor, action, changes: what }) =>
        [at.toISOString(), actor, action, JSON.stringify(what)].join('  '),
      );
      print(command, changes, lines.length > 0 ? lines.join('\n') : 'Nothing was changed.');
    });
}

function withSettingOptions(command: CarillonCommand): CarillonCommand {
  return command
    .addOption(new Option('--tier <tier>', 'decides the default allowance').choices(accountTiers))
    .option(
      '--sandbox-cap <n>',
      'messages a month while no domain is verified, or "default"',
      amountOrDefault,
    )
    .option('--allowance <n>', 'messages in a rolling 24 hours, or "default" (by tier)', amountOrDefault)
    .option('--spend-cap <cents>', 'maximum spend in a month, or "default" (no cap)', amountOrDefault)
    .option(
      '--monthly-emails <n>',
      'free emails in a calendar month, or "default" (by tier)',
      amountOrDefault,
    )
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
    outsideValidation: options.outsideValidation,
    sandboxMonthlyCap: orNull(options.sandboxCap),
    allowancePerDay: orNull(options.allowance),
    spendCapMonthlyCents: orNull(options.spendCap),
    monthlyEmailAllowance: orNull(options.monthlyEmails),
  };
}

/** The database stores `default` as null. */
function orNull(value: number | 'default' | undefined): number | null | undefined {
  return value === 'default' ? null : value;
}

/** The exceptions from the defaults. */
function capabilitiesText({ capabilities }: AccountRow): string {
  return Object.entries(capabilities)
    .map(([name, on]) => `${name}=${on === true ? 'on' : 'off'}`)
    .join(', ');
}

function describe(account: AccountRow): Field[] {
  return [
    ['account', account.id],
    ['name', account.name],
    ['tier', account.tier],
    ['sandbox cap', account.sandbox_monthly_cap ?? 'default'],
    ['24-hour allowance', account.allowance_per_day ?? 'default'],
    ['spend cap (cents)', account.spend_cap_monthly_cents ?? 'default'],
    ['emails a month at no cost', account.monthly_email_allowance ?? 'default'],
    ['capabilities', capabilitiesText(account)],
    ['outside validation', account.outside_validation ? 'on' : 'off'],
    ['approval', account.approval_state],
    ['email providers (ids)', account.email_provider_ids?.join(', ')],
    ['SMS providers (ids)', account.sms_provider_ids?.join(', ')],
    ['paused since', account.sending_paused_at],
    ['paused because', account.sending_paused_reason],
  ];
}
