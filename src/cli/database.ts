import { InvalidArgumentError } from 'commander';
import { onClient } from '../platform/db/queryable.ts';
import type { CarillonCommand } from './command.ts';
import { print, withDatabase } from './context.ts';
import { id } from './values.ts';

const DEFAULT_SKIP = 100_000_000;
const MAX_SKIP = 1_000_000_000_000;

const SKIP_HELP = `
Run it after a backup is restored and before anything starts. Ids that were used after the backup are in links, in
clients and in the engine: another contact, campaign or session must not get them. Messages get ids that were never used,
however many were sent.

Example:
  $ carillon migrate && carillon database skip-ids`;

function skipped(text: string): number {
  const value = id(text);
  if (value > MAX_SKIP) throw new InvalidArgumentError(`It must be at most ${MAX_SKIP}.`);
  return value;
}

/** `carillon database skip-ids` */
export function addDatabaseCommands(program: CarillonCommand): void {
  const database = program.command('database').description('what a restored database needs');
  database
    .command('skip-ids')
    .description('skip the ids that may have been used since the backup, of every table')
    .option('--by <n>', 'more than the rows that any table has got since the backup', skipped, DEFAULT_SKIP)
    .addHelpText('after', SKIP_HELP)
    .action(skipAll);
}

async function skipAll({ by }: { by: number }, command: CarillonCommand): Promise<void> {
  const { MESSAGE_ID_SEQUENCE } = await import('../delivery/ledger/accept/write-messages.ts');
  const { skipUsedRanges } = await import('../delivery/ledger/upkeep/message-ranges.ts');
  const { RANGE_IDS } = await import('../platform/db/id-ranges.ts');
  const { skipIds } = await import('../platform/db/skip-ids.ts');
  const moved = await withDatabase(command, async ({ database: { pool } }) => {
    const others = await skipIds(pool, by, [MESSAGE_ID_SEQUENCE]);
    const { from, to } = await onClient(pool, skipUsedRanges);
    return [...others, { sequence: MESSAGE_ID_SEQUENCE, from: from * RANGE_IDS, to: to * RANGE_IDS }];
  });
  print(command, moved, moved.map(({ sequence, from, to }) => `${sequence}  ${from} → ${to}`).join('\n'));
}
