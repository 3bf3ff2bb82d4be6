import { Argument, type Command } from 'commander';
import { roles, type RoleName } from '../roles/names.ts';

const SETTINGS = `
Settings (environment variables):
  EMAIL_PROVIDER_URL   where mail goes out: smtp://user:password@host:587, smtps://…, capture:
                       (kept, not sent). Required, but with --dev.
  SMS_PROVIDER_URL     where text messages go out
  APP_SECRET           at least 32 characters; keys and sealed secrets come from it. Keep it:
                       APP_SECRET_PREVIOUS accepts the old one when it changes. Required, but with --dev.
  DATABASE_URL         PostgreSQL 15 or newer; without it, one of our own in CARILLON_HOME
  TEMPORAL_ADDRESS     host:port of a Temporal; without it, a development server of our own.
                       Also TEMPORAL_NAMESPACE, TEMPORAL_API_KEY, TEMPORAL_TLS and …_TLS_*_FILE
  PUBLIC_URL           what the API is reached at from outside
  MAIL_DOMAIN          of Message-IDs, return paths and sandbox senders
  HOST, PORT           of the API (127.0.0.1, 3000)
  POSTGRES_PORT, TEMPORAL_PORT, TEMPORAL_UI_PORT, MAILBOX_PORT
                       of what we start ourselves (54329, 7233, 8233, 8025); 0 takes a free one
  CARILLON_HOME        data and files of this installation (.carillon)
  CARILLON_CACHE       downloaded or built tools (~/.cache/carillon)
  DNS_SERVERS          resolvers for every look-up; EGRESS_ALLOW: private networks that outbound
                       requests may reach; LOG_LEVEL: trace to silent; docs/ has the rest

Examples:
  $ carillon start --dev            everything on this machine, mail kept and shown, a demo account
  $ carillon start --dev --reset    the same, all earlier data removed
  $ carillon start                  everything, for real; embedded database and engine where none is set
  $ carillon start sender           one role; add processes to send faster`;

interface StartOptions {
  dev?: boolean;
  reset?: boolean;
}

/** `carillon start [role]` */
export function addStartCommand(program: Command): void {
  program
    .command('start')
    .description('start all roles, or one')
    .addArgument(new Argument('[role]', 'one role in this process; without it, all of them').choices(roles))
    .option('--dev', 'a demo account, mail that stays here, secrets made up where none are set')
    .option('--reset', 'remove everything in CARILLON_HOME first, without asking')
    .addHelpText('after', SETTINGS)
    .action(async (role: RoleName | undefined, options: StartOptions, command: Command) => {
      if (role && options.reset)
        command.error('error: --reset is for a start of everything, not of one role');
      // Loaded when asked for: other commands need neither, and a role needs nothing of the supervisor.
      if (role) return (await import('./start-role.ts')).startRole(role, { dev: options.dev ?? false });
      const { startEverything } = await import('./start-everything.ts');
      const { json = false } = command.optsWithGlobals<{ json?: boolean }>();
      return startEverything({ dev: options.dev ?? false, reset: options.reset ?? false, json });
    });
}
