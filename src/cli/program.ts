import { Command } from 'commander';
import { addAccountCommands } from './account.ts';
import { addApiKeyCommands } from './api-key.ts';
import { addDkimCommands } from './dkim.ts';
import { addMigrateCommand } from './migrate.ts';
import { addStartCommand } from './start.ts';
import { addUserCommands } from './user.ts';

const OVERVIEW = `
A first start, with everything it needs:
  $ npm start                       (which is: carillon start --dev)

A deployment, one process a role, on your own PostgreSQL and Temporal:
  $ export DATABASE_URL=postgres://… TEMPORAL_ADDRESS=temporal:7233
  $ export APP_SECRET=… EMAIL_PROVIDER_URL=smtp://user:password@relay.example.com:587
  $ carillon migrate
  $ carillon account create --name "Acme" --owner ann@acme.com
  $ carillon api-key create --account 1
  $ carillon start api              (and: start worker, start sender)

Settings are environment variables only; carillon start --help lists them.
Beside a running npm start, commands use its database by themselves.`;

/** The `carillon` command with all its subcommands. */
export function buildProgram(): Command {
  const program = new Command('carillon')
    .description('Email and SMS messaging service you host yourself')
    .version('0.1.0')
    .option('--json', 'print JSON, for programs')
    .configureHelp({ showGlobalOptions: true })
    .addHelpText('after', OVERVIEW)
    .showHelpAfterError('(add --help for what can be given)')
    .exitOverride();
  addStartCommand(program);
  addMigrateCommand(program);
  addAccountCommands(program);
  addUserCommands(program);
  addApiKeyCommands(program);
  addDkimCommands(program);
  return program;
}
