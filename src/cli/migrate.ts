import type { Command } from 'commander';
import { requireSettings } from '../config.ts';
import { upkeep } from '../features/upkeep.ts';
import { migrateDatabase } from '../local/postgres/database.ts';
import { commandConfig, print } from './context.ts';

/** `carillon migrate` */
export function addMigrateCommand(program: Command): void {
  program
    .command('migrate')
    .description('apply the migrations of this version; safe to run on several hosts at once')
    .addHelpText('after', '\nExample:\n  $ DATABASE_URL=postgres://… carillon migrate')
    .action(async (_options: object, command: Command) => {
      const config = await commandConfig();
      const { DATABASE_URL } = requireSettings(config, 'DATABASE_URL');
      const applied = await migrateDatabase(config.DATABASE_DIRECT_URL ?? DATABASE_URL, upkeep.partitions);
      const text = applied.length === 0 ? 'nothing to apply' : `applied ${applied.join(', ')}`;
      print(command, { applied }, text);
    });
}
