import { requireSettings } from '../config.ts';
import type { CarillonCommand } from './command.ts';
import { commandConfig, print } from './context.ts';

/** `carillon migrate` */
export function addMigrateCommand(program: CarillonCommand): void {
  program
    .command('migrate')
    .description('apply the migrations of this version; safe to run on several hosts at once')
    .addHelpText('after', '\nExample:\n  $ DATABASE_URL=postgres://… carillon migrate')
    .action(async (_options: object, command: CarillonCommand) => {
      const config = await commandConfig(command);
      const { DATABASE_URL } = requireSettings(config, 'DATABASE_URL');
      const { upkeep } = await import('../features/upkeep.ts');
      const { migrateDatabase } = await import('../local/postgres/database.ts');
      const applied = await migrateDatabase(config.DATABASE_DIRECT_URL ?? DATABASE_URL, upkeep.partitions);
      const text = applied.length === 0 ? 'nothing to apply' : `applied ${applied.join(', ')}`;
      print(command, { applied }, text);
    });
}
