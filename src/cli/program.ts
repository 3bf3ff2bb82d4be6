import { CommanderError } from 'commander';
import { ConfigError } from '../config.ts';
import { AppError } from '../errors.ts';
import { LocalError } from '../local/machine/local-error.ts';
import { addAccountCommands } from './account.ts';
import { addApiKeyCommands } from './api-key.ts';
import { addCampaignCommands } from './campaign.ts';
import { CarillonCommand, type CommandIo } from './command.ts';
import { addFlowCommands } from './flow.ts';
import { addDatabaseCommands } from './database.ts';
import { addDkimCommands } from './dkim.ts';
import { addDomainCommands } from './domain.ts';
import { addInboxCommands } from './inbox.ts';
import { addMailCommands } from './mail.ts';
import { addMigrateCommand } from './migrate.ts';
import { addOAuthCommands } from './oauth.ts';
import { addSmsSenderCommands } from './sms-sender.ts';
import { addPriceCommands } from './price.ts';
import { addProviderCommands } from './provider.ts';
import { addSecretCommands } from './secret.ts';
import { addStartCommand } from './start.ts';
import { addUserCommands } from './user.ts';
import { addWalletCommands } from './wallet.ts';

const OVERVIEW = `
First start, with everything included:
  $ npm start                       (the same as: carillon start --dev)

Deployment, one process per role, on your own PostgreSQL and Temporal:
  $ export DATABASE_URL=postgres://… TEMPORAL_ADDRESS=temporal:7233
  $ export APP_SECRET=… EMAIL_PROVIDER_URL=smtp://user:password@relay.example.com:587
  $ carillon migrate
  $ carillon account create --name "Acme" --owner ann@acme.com
  $ carillon api-key create --account 1
  $ carillon start api              (and: start worker, start sender)

Settings are environment variables; carillon start --help lists them.
While npm start is running, commands without DATABASE_URL use its database.`;

/** Builds the `carillon` command with all its subcommands. */
function buildProgram(io: CommandIo): CarillonCommand {
  const program = new CarillonCommand('carillon', io);
  program
    .description('Email and SMS messaging service you host yourself')
    .version('0.1.0')
    .option('--json', 'print JSON')
    .configureHelp({ showGlobalOptions: true })
    .addHelpText('after', OVERVIEW)
    .showHelpAfterError('(use --help to see the available options)')
    .exitOverride();
  addStartCommand(program);
  addMigrateCommand(program);
  addAccountCommands(program);
  addUserCommands(program);
  addApiKeyCommands(program);
  addOAuthCommands(program);
  addCampaignCommands(program);
  addFlowCommands(program);
  addDkimCommands(program);
  addDomainCommands(program);
  addProviderCommands(program);
  addSmsSenderCommands(program);
  addSecretCommands(program);
  addDatabaseCommands(program);
  addMailCommands(program);
  addInboxCommands(program);
  addPriceCommands(program);
  addWalletCommands(program);
  return program;
}

/**
 * Prints an error: its message if the user can fix it, a stack trace if it is a bug. Commander has printed its own.
 * @returns the exit code
 */
export function reportError(error: unknown, stderr: CommandIo['stderr']): number {
  if (error instanceof CommanderError) return error.exitCode;
  const fixable = error instanceof LocalError || error instanceof ConfigError || error instanceof AppError;
  const isBug = error instanceof Error && !fixable;
  stderr.write(`carillon: ${isBug ? (error.stack ?? error.message) : (error as Error).message}\n`);
  return 1;
}

/**
 * Runs a command, such as `['account', 'pause', '1']`, and reports its error.
 * @returns the exit code
 */
export async function runCommand(args: readonly string[], io: CommandIo): Promise<number> {
  try {
    await buildProgram(io).parseAsync(args, { from: 'user' });
    return 0;
  } catch (error) {
    return reportError(error, io.stderr);
  }
}
