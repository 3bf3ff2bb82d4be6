import { InvalidArgumentError } from 'commander';
import { requireSettings } from '../config.ts';
import type { Migrated } from '../platform/db/migrate.ts';
import type { CarillonCommand } from './command.ts';
import { commandConfig, print } from './context.ts';

const HELP = `
Without APP_SECRET, the first role that starts checks the secret and stores the keys of opt-outs.

Example:
  $ DATABASE_URL=postgres://… APP_SECRET=… carillon migrate`;

const LOST_HELP = 'the id of a secret that is lost; may be given several times';

function secretIds(given: string, before: string[] = []): string[] {
  if (!/^[0-9a-f]{8}$/.test(given)) {
    throw new InvalidArgumentError('It must be the id of a secret, as carillon migrate names it.');
  }
  return [...before, given];
}

/** `carillon migrate` */
export function addMigrateCommand(program: CarillonCommand): void {
  program
    .command('migrate')
    .description(
      'apply the migrations and install the functions of this version; safe to run on several hosts at once',
    )
    .option('--lost-secret <id>', LOST_HELP, secretIds)
    .addHelpText('after', HELP)
    .action(applyMigrations);
}

function textOf({ applied, functions }: Migrated): string {
  const lines = [
    ...(applied.length > 0 ? [`applied ${applied.join(', ')}`] : []),
    ...(functions.length > 0 ? [`installed the functions ${functions.join(', ')}`] : []),
  ];
  return lines.join('\n') || 'nothing to apply';
}

async function applyMigrations(options: { lostSecret?: string[] }, command: CarillonCommand): Promise<void> {
  const config = await commandConfig(command);
  const { DATABASE_URL } = requireSettings(config, 'DATABASE_URL');
  if (options.lostSecret) requireSettings(config, 'APP_SECRET');
  const { upkeep } = await import('../features/upkeep.ts');
  const { migrateDatabase } = await import('../local/postgres/database.ts');
  const migrated = await migrateDatabase(
    config.DATABASE_DIRECT_URL ?? DATABASE_URL,
    { ...upkeep, lost: options.lostSecret ?? [] },
    config,
  );
  print(command, migrated, textOf(migrated));
}
