import type { Command } from 'commander';
import type { ApiKey } from '../features/api-keys/service.ts';
import { factLines, print, withDatabase, type Fact } from './context.ts';
import { amount, id, words } from './values.ts';

/** Loaded by the commands that use it: the same program starts the roles, which must not carry it about. */
const keys = () => import('../features/api-keys/service.ts');

function describe(apiKey: ApiKey): Fact[] {
  return [
    ['id', apiKey.id],
    ['account', apiKey.accountId],
    ['brand', apiKey.brandId],
    ['name', apiKey.name],
    ['kind', apiKey.test ? 'test: nothing it sends leaves' : 'live'],
    ['requests a second', apiKey.rateLimitPerSecond ?? 'default'],
    ['revoked', apiKey.revokedAt],
  ];
}

interface CreateOptions {
  account: number;
  brand?: number;
  name?: string;
  test?: boolean;
  rateLimit?: number;
}

async function create(options: CreateOptions, command: Command): Promise<void> {
  const made = await withDatabase(async ({ database }) =>
    (await keys()).createApiKey(database.pool, {
      accountId: options.account,
      brandId: options.brand,
      name: options.name,
      test: options.test,
      rateLimitPerSecond: options.rateLimit,
    }),
  );
  const text = factLines([...describe(made.apiKey), ['key (shown this once)', made.key]]);
  print(command, { api_key: made.apiKey, key: made.key }, text);
}

async function list(options: { account: number; brand?: number }, command: Command): Promise<void> {
  const apiKeys = await withDatabase(async ({ database }) => {
    const { findAccount } = await import('../features/accounts/service.ts');
    await findAccount(database.pool, options.account);
    return (await keys()).listApiKeys(database.pool, { accountId: options.account, brandId: options.brand });
  });
  const lines = apiKeys.map((apiKey) => {
    const state = apiKey.revokedAt ? `revoked ${apiKey.revokedAt.toISOString()}` : 'active';
    return [apiKey.id, `${apiKey.displayPrefix}…`, `brand ${apiKey.brandId}`, state, apiKey.name].join('  ');
  });
  print(command, apiKeys, lines.length === 0 ? 'no API keys' : lines.join('\n'));
}

async function revoke(apiKeyId: number, _options: object, command: Command): Promise<void> {
  const revoked = await withDatabase(async ({ database }) =>
    (await keys()).revokeApiKey(database.pool, apiKeyId),
  );
  print(command, revoked, factLines(describe(revoked)));
}

/** `carillon api-key create | list | revoke` */
export function addApiKeyCommands(program: Command): void {
  const apiKey = program.command('api-key').description('make and revoke API keys');
  apiKey
    .command('create')
    .description('make a key of a brand; the key is printed once and kept nowhere')
    .requiredOption('--account <id>', 'which account', id)
    .option('--brand <id>', 'which of its brands; by default the first', id)
    .option('--name <text>', 'to tell it from others', words)
    .option('--test', 'a key whose messages go nowhere')
    .option('--rate-limit <n>', 'requests a second, 0 for none; by default RATE_LIMIT_PER_KEY', amount)
    .addHelpText('after', '\nExample:\n  $ carillon api-key create --account 1 --name shop --rate-limit 500')
    .action(create);
  apiKey
    .command('list')
    .description('keys of an account, newest first, revoked ones included')
    .requiredOption('--account <id>', 'which account', id)
    .option('--brand <id>', 'only this brand', id)
    .action(list);
  apiKey
    .command('revoke')
    .description('refuse a key from now on')
    .argument('<key>', 'its id, as list shows it', id)
    .action(revoke);
}
