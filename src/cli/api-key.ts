import { Option } from 'commander';
import type { ApiKeyRow } from '../features/api-keys/service.ts';
import type { CarillonCommand } from './command.ts';
import {
  changeAccount,
  fieldLines,
  ofRow,
  print,
  recordOperator,
  withDatabase,
  type Field,
} from './context.ts';
import { amount, id, words } from './values.ts';

/** Imported on first use: this program also starts the roles, which need no commands. */
const keys = () => import('../features/api-keys/service.ts');

/** `carillon api-key create | list | revoke` */
export function addApiKeyCommands(program: CarillonCommand): void {
  const apiKey = program.command('api-key').description('create, list and revoke API keys');
  apiKey
    .command('create')
    .description('create a key of a brand; the key is printed once and is not stored')
    .requiredOption('--account <id>', 'the account', id)
    .option('--brand <id>', 'one of its brands; by default the first', id)
    .option('--name <text>', 'a label, to tell keys apart', words)
    .option('--test', 'a test key: its messages are not sent')
    .addOption(new Option('--send-only', 'a key that can only send, and read what it sent').conflicts('test'))
    .option('--rate-limit <n>', 'requests per second, 0 for no limit; by default RATE_LIMIT_PER_KEY', amount)
    .addHelpText('after', '\nExample:\n  $ carillon api-key create --account 1 --name shop --rate-limit 500')
    .action(createKey);
  apiKey
    .command('list')
    .description('list the keys of an account, newest first, including revoked ones')
    .requiredOption('--account <id>', 'the account', id)
    .option('--brand <id>', 'only the keys of this brand', id)
    .action(listKeys);
  apiKey
    .command('revoke')
    .description('revoke a key; every later request with it is refused')
    .argument('<key>', 'the id of the key, as shown by list', id)
    .action(revoke);
}

interface CreateOptions {
  account: number;
  brand?: number;
  name?: string;
  test?: boolean;
  sendOnly?: boolean;
  rateLimit?: number;
}

async function createKey(options: CreateOptions, command: CarillonCommand): Promise<void> {
  const created = await changeAccount(
    command,
    'api-key create',
    async (trx) =>
      (await keys()).createApiKey(trx, {
        accountId: options.account,
        brandId: options.brand,
        name: options.name,
        test: options.test,
        scopes: options.sendOnly ? ['send'] : null,
        rateLimitPerSecond: options.rateLimit,
      }),
    ({ apiKey }) => ofRow(apiKey),
  );
  const text = fieldLines([...describe(created.apiKey), ['key (shown only once)', created.key]]);
  print(command, { api_key: created.apiKey, key: created.key }, text);
}

async function listKeys(
  options: { account: number; brand?: number },
  command: CarillonCommand,
): Promise<void> {
  const apiKeys = await withDatabase(command, async ({ database }) => {
    const { findAccount } = await import('../features/accounts/service.ts');
    await findAccount(database.pool, options.account);
    return (await keys()).listApiKeys(database.pool, { accountId: options.account, brandId: options.brand });
  });
  const lines = apiKeys.map((apiKey) => {
    const state = apiKey.revoked_at ? `revoked ${apiKey.revoked_at.toISOString()}` : 'active';
    const fields = [apiKey.id, `${apiKey.display_prefix}…`, `brand ${apiKey.brand_id}`, state, apiKey.name];
    return fields.join('  ');
  });
  print(command, apiKeys, lines.length === 0 ? 'no API keys' : lines.join('\n'));
}

async function revoke(apiKeyId: number, _options: object, command: CarillonCommand): Promise<void> {
  const revoked = await withDatabase(command, async ({ config, database: { pool } }) => {
    // Not in a transaction: `revokeApiKey` waits until processes have forgotten the key, which needs the commit.
    const row = await (await keys()).revokeApiKey(pool, apiKeyId);
    await recordOperator(pool, config, { accountId: row.account_id }, 'api-key revoke', apiKeyId);
    return row;
  });
  print(command, revoked, fieldLines(describe(revoked)));
}

function kindOf({ test, scopes }: ApiKeyRow): string {
  if (scopes) return 'send-only: it can send, and read what it sent';
  return test ? 'test: its messages are not sent' : 'live';
}

function describe(apiKey: ApiKeyRow): Field[] {
  return [
    ['id', apiKey.id],
    ['account', apiKey.account_id],
    ['brand', apiKey.brand_id],
    ['name', apiKey.name],
    ['kind', kindOf(apiKey)],
    ['requests per second', apiKey.rate_limit_per_second ?? 'default'],
    ['revoked', apiKey.revoked_at],
  ];
}
