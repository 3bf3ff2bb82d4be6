import type { NamedProvider, ProviderRow, UsesOfOthers } from '../delivery/wire/providers/named.ts';
import { AppError } from '../errors.ts';
import { inTransaction } from '../platform/db/queryable.ts';
import type { CarillonCommand } from './command.ts';
import {
  type CommandContext,
  fieldLines,
  print,
  requireKeyring,
  withDatabase,
  type Field,
} from './context.ts';
import { refuseTracking, withProviderDeps } from './provider-check.ts';
import {
  inOptions,
  problem,
  readSettings,
  setting,
  settingLines,
  type SettingText,
  shapeOf,
} from './provider-settings.ts';
import { id, words } from './values.ts';

/** Imported on first use: this program also starts the roles, which need no commands. */
const named = () => import('../delivery/wire/providers/named.ts');
const kinds = () => import('../delivery/wire/providers/index.ts');

const ADD_HELP = `
A setting is one of
  --set name=value       shown in the list of processes: not for secrets
  --set name=@file       the content of a file
  --set name=-           standard input

carillon provider kinds lists the kinds with their settings.

Example:
  $ carillon provider add acme-ses --kind ses --set region=eu-west-1 \\
      --set access_key_id=AKIA… --set secret_access_key=@/run/secrets/ses
  $ carillon provider add acme-smtp --kind smtp --set url=@/run/secrets/smtp --account 7`;

const REMOVE_HELP = `
A provider that is used is removed only with --force. Its domains then use EMAIL_PROVIDER_URL, its SMS
senders are removed, and within seconds its queued messages move to another provider of their account, or to
EMAIL_PROVIDER_URL.

Example:
  $ carillon provider remove acme-ses`;

const ACCOUNT_HELP = 'only domains of this account may name it; may be given several times';

const ids = (given: string, before: number[] = []): number[] => [...before, id(given)];

interface AccountOptions {
  account?: number[];
  allAccounts?: boolean;
}

/** @returns undefined if neither option is given; null for all accounts */
function accountsOf({ account, allAccounts }: AccountOptions): number[] | null | undefined {
  if (account && allAccounts) throw problem('--account and --all-accounts exclude each other');
  return allAccounts ? null : account;
}

/** `carillon provider add | set | list | kinds | test | remove` */
export function addProviderCommands(program: CarillonCommand): void {
  const provider = program.command('provider').description('manage the services that send email and SMS');
  provider
    .command('add')
    .description('add a provider; senders use it within seconds')
    .argument('<name>', 'a name for it: lower-case letters, digits and hyphens', words)
    .requiredOption('--kind <kind>', 'the kind of service, such as ses', words)
    .option('--set <name=value>', 'a setting; may be given several times', setting)
    .option('--account <id>', ACCOUNT_HELP, ids)
    .option('--all-accounts', 'domains of all accounts may name it; the default')
    .addHelpText('after', ADD_HELP)
    .action(add);
  provider
    .command('set')
    .description('change settings of a provider; the others stay as they are')
    .argument('<name>', 'the name of the provider', words)
    .option('--set <name=value>', 'a setting; may be given several times', setting)
    .option('--account <id>', ACCOUNT_HELP, ids)
    .option('--all-accounts', 'domains of all accounts may name it')
    .addHelpText(
      'after',
      '\nExample:\n  $ carillon provider set acme-ses --set secret_access_key=@/run/secrets/ses',
    )
    .action(change);
  provider
    .command('list')
    .description('list the providers; secrets are masked')
    .option('--reveal', 'show the callback URLs, which are secrets')
    .action(listProviders);
  provider.command('kinds').description('list the kinds of providers with their settings').action(listKinds);
  provider
    .command('test')
    .description('check the settings of a provider without sending anything')
    .argument('<name>', 'the name of the provider', words)
    .action(test);
  provider
    .command('remove')
    .description('remove a provider')
    .argument('<name>', 'the name of the provider', words)
    .option('--force', 'remove it although it is used')
    .addHelpText('after', REMOVE_HELP)
    .action(removeByName);
}

async function requireRow({ database }: CommandContext, name: string): Promise<ProviderRow> {
  const row = await (await named()).findProviderRow(database.pool, name);
  if (!row) throw new AppError('not_found', `there is no provider ${name}`);
  return row;
}

/** The settings for people: those that are secret are masked. */
function maskedSettings({ kind, settings }: NamedProvider): Record<string, string> {
  const shown = Object.entries(settings).map(([name, value]) => [
    name,
    kind.secrets.includes(name) ? '***' : String(value),
  ]);
  return Object.fromEntries(shown) as Record<string, string>;
}

function factsOf(provider: NamedProvider, callbackUrl: string | null): Field[] {
  return [
    ['provider', provider.name],
    ['kind', `${provider.kind.name} (${provider.kind.title})`],
    ['channel', provider.channel],
    ['accounts', provider.accountIds?.join(', ') ?? 'all'],
    ...Object.entries(maskedSettings(provider)),
    ['callback URL', callbackUrl],
  ];
}

function nextSteps(provider: NamedProvider, callbackUrl: string | null): string {
  const { kind } = provider;
  if (!kind.callbacks) return `${kind.title} has no callbacks.`;
  return callbackUrl === null
    ? 'Set PUBLIC_URL, and run carillon provider list --reveal to see the callback URL.'
    : `Configure the callback URL at ${kind.title} for all delivery events. It contains a secret.`;
}

async function add(
  name: string,
  options: { kind: string; set?: SettingText[] } & AccountOptions,
  command: CarillonCommand,
): Promise<void> {
  const { addProvider, callbackUrlOf, requireProviderKind } = await named();
  const kind = await inOptions(null, async () => requireProviderKind(options.kind));
  const accountIds = accountsOf(options) ?? null;
  const settings = await readSettings(command, options.set ?? []);
  await withDatabase(command, async (context) => {
    const keyring = requireKeyring(context);
    const note = await refuseTracking(context, name, kind, settings);
    const added = await inOptions(kind, () =>
      addProvider(context.database.pool, keyring, { name, kind, settings, accountIds }),
    );
    const callbackUrl = callbackUrlOf(added, context.config.PUBLIC_URL);
    print(
      command,
      {
        id: added.id,
        name,
        kind: kind.name,
        channel: added.channel,
        accountIds: added.accountIds,
        callbackUrl,
      },
      [fieldLines(factsOf(added, callbackUrl)), ...note, nextSteps(added, callbackUrl)].join('\n\n'),
    );
  });
}

/** Warns of what other accounts still send through a provider. */
function othersNote(uses: UsesOfOthers | null): string[] {
  if (!uses) return [];
  const found = [
    [uses.domains, 'domain(s)'],
    [uses.orders, 'order(s) of providers'],
    [uses.smsSenders, 'SMS sender(s)'],
  ].filter(([count]) => count !== 0);
  if (found.length === 0) return [];
  return [`${found.map((each) => each.join(' ')).join(', ')} of other accounts still use it.`];
}

async function change(
  name: string,
  options: { set?: SettingText[] } & AccountOptions,
  command: CarillonCommand,
): Promise<void> {
  const { changeProviderSettings, findProvider, openProvider, reserveProvider, storedSettings } =
    await named();
  const accountIds = accountsOf(options);
  if (!options.set && accountIds === undefined) throw problem('give --set, --account or --all-accounts');
  const given = await readSettings(command, options.set ?? []);
  await withDatabase(command, async (context) => {
    const keyring = requireKeyring(context);
    const row = await requireRow(context, name);
    const { kind } = openProvider(row, keyring);
    const { pool } = context.database;
    const settings = { ...storedSettings(row, keyring), ...given };
    const note = options.set ? await refuseTracking(context, name, kind, settings) : [];
    const others = await inTransaction(pool, (trx) =>
      inOptions(kind, async () => {
        if (options.set) await changeProviderSettings(trx, keyring, { id: row.id, kind }, settings);
        return accountIds === undefined ? null : reserveProvider(trx, row, accountIds);
      }),
    );
    const changed = (await findProvider(pool, keyring, name)) as NamedProvider;
    const fields = { name, settings: maskedSettings(changed), accountIds: changed.accountIds };
    print(
      command,
      { ...fields, usesOfOthers: others },
      [fieldLines(factsOf(changed, null)), ...note, ...othersNote(others)].join('\n\n'),
    );
  });
}

/** A row as the list shows it. If its settings cannot be read, the list shows the reason. */
async function listed(row: ProviderRow, context: CommandContext, reveal: boolean) {
  const { callbackUrlOf, openProvider, UnusableProviderError } = await named();
  const { id: rowId, name, kind, channel, accountIds } = row;
  const base = { id: rowId, name, kind, channel, accountIds };
  try {
    const provider = openProvider(row, requireKeyring(context));
    const callbackUrl = reveal ? callbackUrlOf(provider, context.config.PUBLIC_URL) : null;
    return { ...base, settings: maskedSettings(provider), callbackUrl, problem: null };
  } catch (error) {
    if (!(error instanceof UnusableProviderError)) throw error;
    return { ...base, settings: {}, callbackUrl: null, problem: error.message };
  }
}

async function listProviders(options: { reveal?: boolean }, command: CarillonCommand): Promise<void> {
  await withDatabase(command, async (context) => {
    const rows = await (await named()).listProviderRows(context.database.pool);
    const providers = [];
    for (const row of rows) providers.push(await listed(row, context, options.reveal ?? false));
    const blocks = providers.map(
      ({ name, kind, channel, accountIds, settings, callbackUrl, problem: wrong }) =>
        fieldLines([
          ['provider', name],
          ['kind', kind],
          ['channel', channel],
          ['accounts', accountIds?.join(', ') ?? 'all'],
          ...Object.entries(settings),
          ['callback URL', callbackUrl],
          ['problem', wrong],
        ]),
    );
    print(command, providers, blocks.length === 0 ? 'no providers' : blocks.join('\n\n'));
  });
}

async function listKinds(_options: object, command: CarillonCommand): Promise<void> {
  const { providerKinds } = await kinds();
  const described = providerKinds.map((kind) => ({
    name: kind.name,
    title: kind.title,
    channel: kind.channel,
    settings: shapeOf(kind).map(([name]) => name),
  }));
  const blocks = providerKinds.map((kind) =>
    [`${kind.name}  ${kind.title}, ${kind.channel}`, ...settingLines(kind)].join('\n  '),
  );
  print(command, described, blocks.join('\n\n'));
}

async function test(name: string, _options: object, command: CarillonCommand): Promise<void> {
  const { openProvider } = await named();
  await withDatabase(command, async (context) => {
    const { kind, settings } = openProvider(await requireRow(context, name), requireKeyring(context));
    const wrong = await withProviderDeps(context, (deps) => kind.check(settings, deps));
    if (wrong !== null) throw problem(`${name}: ${wrong}`);
    print(command, { name, ok: true }, `${name} works: ${kind.title} accepts the settings`);
  });
}

async function removeByName(
  name: string,
  options: { force?: boolean },
  command: CarillonCommand,
): Promise<void> {
  const { removeProvider } = await import('../delivery/wire/providers/removal.ts');
  await withDatabase(command, async (context) => {
    const row = await requireRow(context, name);
    const force = options.force ?? false;
    const use = await inTransaction(context.database.pool, (trx) => removeProvider(trx, row, { force }));
    print(command, { name, removed: true, use }, `${name} removed`);
  });
}
