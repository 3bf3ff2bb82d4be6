import { Argument } from 'commander';
import { roles, type RoleName } from '../roles/names.ts';
import type { CarillonCommand } from './command.ts';

const SETTINGS = `
Settings (environment variables; docs/operations.md has the rest):
  EMAIL_PROVIDER_URL   where mail is sent: smtp://user:password@host:587, smtps://…, or capture:
                       (stored, not sent). Required without --dev.
  SMS_PROVIDER_URL     where text messages are sent
  APP_SECRET           at least 32 characters, from which all keys are derived. Keep it safe; to
                       change it, add the old one to APP_SECRET_PREVIOUS, a list separated by
                       commas, and run carillon secret reseal. Required without --dev.
  DATABASE_URL         PostgreSQL 15 to 17 (18 is slower); by default an embedded one in CARILLON_HOME
  TEMPORAL_ADDRESS     host:port of Temporal; by default an embedded development server.
                       Also TEMPORAL_NAMESPACE, TEMPORAL_API_KEY, TEMPORAL_TLS and TEMPORAL_TLS_*_FILE
  PUBLIC_URL           public URL of the API
  MAIL_DOMAIN          domain of Message-IDs, return paths and sandbox senders
  MAIL_LISTEN_HOST, MAIL_PORT
                       where bounces and complaints are taken (127.0.0.1, 2525)
  SUBMISSION_LISTEN_HOST, SUBMISSION_PORTS, SUBMISSION_TLS_PORTS
                       where programs submit mail (127.0.0.1; 587; 465; with --dev 2587 and none).
                       Without --dev, all roles include submission only if its ports are set
  HOST, PORT           where the API listens (127.0.0.1, 3000)
  POSTGRES_PORT, TEMPORAL_PORT, TEMPORAL_UI_PORT, MAILBOX_PORT
                       ports of the embedded servers (54329, 7233, 8233, 8025); 0 picks a free one
  CARILLON_HOME        folder of this installation's data (.carillon)
  CARILLON_CACHE       folder of downloaded tools (~/.cache/carillon)
  DNS_SERVERS          name servers to use instead of the system's
  EGRESS_ALLOW         private networks that outbound requests may reach
  SCRAPE_ALLOW         private networks whose websites may be scraped
  LOG_LEVEL            trace, debug, info, warn, error, fatal or silent (info)
  LOG_FORMAT           pretty, json, or auto: pretty on a terminal, JSON elsewhere (auto)

Examples:
  $ carillon start --dev            everything on this machine, mail captured, a demo account
  $ carillon start --dev --reset    the same, with all earlier data removed
  $ carillon start                  everything, sending for real; embedded servers if none are set
  $ carillon start sender           one role; run it several times to send faster`;

interface StartOptions {
  dev?: boolean;
  reset?: boolean;
}

/** `carillon start [role]` */
export function addStartCommand(program: CarillonCommand): void {
  program
    .command('start')
    .description('start all roles, or one of them')
    .addArgument(new Argument('[role]', 'run only this role, in this process').choices(roles))
    .option('--dev', 'create a demo account, capture mail, generate missing secrets')
    .option('--reset', 'first remove everything in CARILLON_HOME, without asking')
    .addHelpText('after', SETTINGS)
    .action(async (role: RoleName | undefined, options: StartOptions, command: CarillonCommand) => {
      if (role && options.reset) command.error('error: --reset works only for a start of all roles');
      const { env } = command.io;
      const { dev = false, reset = false } = options;
      // Imported on demand: other commands need neither, and a role does not need the supervisor.
      if (role) return (await import('./start-role.ts')).startRole(role, { env, dev });
      const { startEverything } = await import('./start-everything.ts');
      const { json = false } = command.optsWithGlobals<{ json?: boolean }>();
      return startEverything({ env, dev, reset, json });
    });
}
